"""Which parameters DistributedDataParallel keeps alike on all ranks, and whether it does so in this pass."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterable
from typing import Any

SEARCHES = 8  # among all that is alive: only programs that train on several ranks pay for any


class Replicas:
    """The DistributedDataParallel modules that the passes of a program have reached. Held weakly."""

    def __init__(self) -> None:
        self._modules: list[weakref.ref[Any]] = []
        self._known: set[int] = set()  # identities of parameters that were searched for
        self._searches = 0

    def reduced(self, leaves: Iterable[int]) -> frozenset[int]:
        """Of these leaves, those whose gradients are reduced across ranks as things stand."""
        wanted = set(leaves)
        return _parameters(filter(_syncs, self._living(wanted))) & wanted

    def held(self, leaves: Iterable[int]) -> frozenset[int]:
        """Of these leaves, those that are kept alike on all ranks."""
        wanted = set(leaves)
        return _parameters(self._living(wanted)) & wanted

    def _living(self, wanted: set[int]) -> list[Any]:
        kind = distributed_kind()
        if kind is None:
            return []
        if wanted - self._known and self._searches < SEARCHES:
            self._searches += 1
            self._modules = [weakref.ref(one) for one in gc.get_objects() if type(one) is kind]
            self._known |= wanted
        return [one for one in (module() for module in self._modules) if one is not None]


def _parameters(modules: Iterable[Any]) -> frozenset[int]:
    return frozenset(id(parameter) for one in modules for parameter in one.module.parameters())


def distributed_kind() -> Any:
    """The class, where the program trains on several ranks."""
    home = sys.modules.get("torch.nn.parallel.distributed")
    distributed = sys.modules.get("torch.distributed")
    try:
        return home.DistributedDataParallel if home and distributed and distributed.is_initialized() else None
    except AttributeError:  # this torch was built without it
        return None


def searches_for_unused(parameter: str) -> bool:
    """Does a living module with a parameter of this name search each forward pass for those that it does not use?"""
    kind = distributed_kind()
    modules = [one for one in gc.get_objects() if type(one) is kind] if kind is not None else []
    return any(one.find_unused_parameters and parameter in dict(one.module.named_parameters()) for one in modules)


def _syncs(module: Any) -> bool:
    return bool(getattr(module, "require_backward_grad_sync", True))


def place_in_job() -> tuple[int, int] | None:
    """This process's rank, and how many there are; None where torch knows of no others."""
    distributed = sys.modules.get("torch.distributed")
    try:
        known = distributed is not None and distributed.is_initialized()
        return (int(distributed.get_rank()), int(distributed.get_world_size())) if known and distributed else None
    except (AttributeError, RuntimeError, ValueError):
        return None
