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
        kind = distributed_kind()
        if kind is None:
            return frozenset()
        wanted = set(leaves)
        if wanted - self._known and self._searches < SEARCHES:
            self._searches += 1
            self._modules = [weakref.ref(one) for one in gc.get_objects() if type(one) is kind]
            self._known |= wanted
        syncing = (one for one in (module() for module in self._modules) if one is not None and _syncs(one))
        return frozenset(wanted & {id(parameter) for one in syncing for parameter in one.module.parameters()})


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


def rank() -> int | None:
    """This process's rank; None where it is the only one."""
    distributed = sys.modules.get("torch.distributed")
    try:
        return int(distributed.get_rank()) if distributed and distributed.is_initialized() else None
    except (AttributeError, RuntimeError, ValueError):
        return None
