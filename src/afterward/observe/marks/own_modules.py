"""Keeps our imports and the program's apart.

afterward imports modules of the standard library before the program runs. A program may have a module of its own by
such a name, beside its main file, and must get that one. What we import later, while it runs, must not be found there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import all_suffixes
from types import ModuleType

# What Python itself has imported before any program: a file by such a name is not imported by a program either.
_AT_START = frozenset(
    {
        "__main__", "_abc", "_codecs", "_collections_abc", "_frozen_importlib", "_frozen_importlib_external", "_imp",
        "_io", "_signal", "_sitebuiltins", "_stat", "_thread", "_warnings", "_weakref", "abc", "afterward", "builtins",
        "codecs", "encodings", "genericpath", "io", "marshal", "nt", "ntpath", "os", "posix", "posixpath", "site",
        "stat", "sys", "time", "winreg", "zipimport",
    }
)  # fmt: skip


class OwnModules:
    """Which modules are hidden from the program, because it has its own by that name."""

    def __init__(self) -> None:
        self.folder = ""
        self.local: frozenset[str] = frozenset()
        self.hidden: dict[str, ModuleType] = {}
        self.path: list[str] = []

    def begin(self, folder: str) -> None:
        """The program's modules lie in this folder: from now on its own come first."""
        self.folder, self.path = folder, sys.path[1:]
        self.local = frozenset(_names_in(folder)) - _AT_START
        self._hide()

    def begin_inside(self) -> None:
        """We were imported by a program that runs already: what it has imported from elsewhere is shared with it."""
        if self.folder or not sys.path or sys.flags.isolated or getattr(sys.flags, "safe_path", False):
            return
        first = sys.path[0]
        self.folder, self.path = os.path.abspath(first), [one for one in sys.path if one != first]
        shared = {name.partition(".")[0] for name, one in list(sys.modules.items()) if not _lies_in(one, self.folder)}
        self.local = frozenset(_names_in(self.folder)) - _AT_START - shared

    def _hide(self) -> None:
        for name in [name for name in sys.modules if name.partition(".")[0] in self.local]:
            if not _lies_in(sys.modules[name], self.folder):
                self.hidden[name] = sys.modules.pop(name)

    @contextmanager
    def ours(self) -> Iterator[None]:
        """Within this block, what is imported is ours: nothing is looked for beside the program."""
        if not self.local:
            yield
            return
        theirs = {name: one for name, one in sys.modules.items() if name.partition(".")[0] in self.local}
        path = sys.path[:]
        for name in theirs:
            del sys.modules[name]
        sys.modules.update(self.hidden)
        sys.path[:] = self.path
        try:
            yield
        finally:
            sys.path[:] = path
            self._hide()
            sys.modules.update(theirs)


def _names_in(folder: str) -> Iterator[str]:
    """The names by which what lies in a folder can be imported."""
    suffixes = sorted(all_suffixes(), key=len, reverse=True)
    try:
        found = os.listdir(folder)
    except OSError:
        return
    for name in found:
        suffix = next((one for one in suffixes if name.endswith(one)), None)
        if suffix is not None:
            yield name[: -len(suffix)]
        elif name.isidentifier() and os.path.isdir(os.path.join(folder, name)):
            yield name


def _lies_in(module: ModuleType, folder: str) -> bool:
    file = getattr(module, "__dict__", {}).get("__file__")  # a module's own `__getattr__` is the program's
    return isinstance(file, str) and os.path.dirname(os.path.abspath(file)).startswith(folder)


own_modules = OwnModules()
