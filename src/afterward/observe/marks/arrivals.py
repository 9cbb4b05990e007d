"""Says so when a module has been imported, without a finder of ours in `sys.meta_path`, where a program sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.machinery import SourceFileLoader
from types import ModuleType
from typing import Any

Wanted = Callable[[str], bool]
Done = Callable[[ModuleType], None]

_waiting: list[tuple[Wanted, Done]] = []


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
    """Python asks its loader for a module, and gets none, as ever; a loader of a wanted one tells of it."""
    told = [done for wanted, done in _waiting if wanted(spec.name)]
    if not told or type(self) is not SourceFileLoader:
        return
    plain = self.exec_module

    def exec_module(module: ModuleType) -> None:
        del vars(self)["exec_module"]
        plain(module)
        for done in told:
            done(module)

    vars(self)["exec_module"] = exec_module
