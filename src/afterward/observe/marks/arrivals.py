"""Says so when a module has been imported, without a finder of ours in `sys.meta_path`, where a program sees it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import ModuleType
from typing import Any

Wanted = Callable[[str], bool]
Done = Callable[[ModuleType], None]

_waiting: list[tuple[Wanted, Done]] = []
_due: dict[str, list[Done]] = {}  # by the name of a module that is being imported


@contextmanager
def told_when_imported(wanted: Wanted, done: Done) -> Iterator[None]:
    """Within this block, `done` is called with each module of a wanted name, as soon as it has been executed."""
    entry = (wanted, done)
    _waiting.append(entry)
    if len(_waiting) == 1:
        setattr(SourceFileLoader, "create_module", _create_module)  # noqa: B010
    try:
        yield
    finally:
        _waiting.remove(entry)
        if not _waiting:
            delattr(SourceFileLoader, "create_module")  # it inherits the plain one


def _create_module(self: Any, spec: Any) -> None:
    """Python asks its loader for a module, and gets none, as ever; of a wanted one we are told once it is there."""
    told = [done for wanted, done in _waiting if wanted(spec.name)]
    if told and type(self) is SourceFileLoader and type(spec) is ModuleSpec:
        _due[spec.name] = told
        spec.__class__ = _Arriving


class _Arriving(ModuleSpec):
    """The spec of a module that is being imported. Python says in it when that has ended: a call of ours around the
    import itself would be a frame among the program's."""

    @property
    def _initializing(self) -> bool:
        return bool(vars(self).get("_initializing", False))

    @_initializing.setter
    def _initializing(self, is_under_way: bool) -> None:
        vars(self)["_initializing"] = is_under_way
        if is_under_way:
            return
        self.__class__ = ModuleSpec  # type: ignore[assignment]
        told, module = _due.pop(self.name, []), sys.modules.get(self.name)
        if module is not None:  # there is none where the import has failed
            for done in told:
                done(module)
