"""Which objects are the program's own, though a library holds them: they go by `self`, as in their own methods.

A trainer keeps the program's module under names of its own, such as `trainer.profiler._lightning_module`. No reader
knows these; what lies in there is `self.hidden` to whoever wrote the module.
"""

from __future__ import annotations

import re
import sys
import types
import weakref
from collections.abc import Iterable, Iterator
from typing import Any

from afterward.observe.looking import MODULE_PARTS, attribute, classes_of, entries, is_a, members_of, mro_of, space_of
from afterward.observe.marks.stack import locals_of

NOT_OURS = "\0"  # stands for what only a library has a name for
_CONTAINERS = (list, dict)
_PRIVATE = re.compile(r"\._(?!_)|^\0")


def is_private(path: str) -> bool:
    """Does a name lead through what its owner calls private, or through a library's own variables?"""
    return _PRIVATE.search(path) is not None


class Owners:
    """Tells classes that the program defines from those of libraries."""

    def __init__(self, is_user: Any) -> None:
        self.is_user = is_user
        self.library_generators: list[Any] = []  # met on the way
        self._known: dict[int, tuple[type, bool]] = {}  # by identity: a metaclass may have a hash of its own

    def is_library_generator(self, value: Any) -> bool:
        return type(value) is types.GeneratorType and not self.is_user(value.gi_code.co_filename)

    def is_class(self, kind: type) -> bool:
        known = self._known.get(id(kind))
        if known is None:
            known = self._known[id(kind)] = kind, self._is_defined_here(kind)
        return known[1]

    def path(self, value: Any, path: str) -> str:
        """The name of an object: `self` for one of the program's that only a library's private names lead to."""
        return "self" if is_private(path) and self.is_class(_kind_of(value)) else path

    def attributes(self, kind: type) -> Iterator[tuple[str, Any]]:
        """What a class itself keeps in containers, for all its objects."""
        for name, value in list(members_of(kind).items()):
            if type(name) is str and is_a(value, _CONTAINERS) and not name.startswith("__"):
                yield name, value

    def _is_defined_here(self, kind: type) -> bool:
        for value in list(members_of(kind).values()):
            code = value.__code__ if type(value) is types.FunctionType else None
            if code is not None:
                return bool(self.is_user(code.co_filename))
        home = members_of(kind).get("__module__")
        module = sys.modules.get(home) if type(home) is str else None
        file = attribute(module, "__file__")
        return isinstance(file, str) and bool(self.is_user(file))


def _kind_of(value: Any) -> type:
    """The class of an object, or of the one that a weak reference stands for."""
    return value.__class__ if type(value) in weakref.ProxyTypes else type(value)


def held_by_libraries(frames: Iterable[types.FrameType], is_user: Any) -> Iterator[Any]:
    """What the calls of libraries have at hand that run for the program: a trainer, and through it what it got.

    These are the calls that one of the program's own has led to. What has called the program itself (a test runner, a
    notebook's kernel) holds nothing for it.
    """
    around: types.FrameType | None = sys._getframe(1)
    own = {id(one) for one in frames}
    between: list[types.FrameType] = []
    inner: list[types.FrameType] = []
    while around is not None:
        if id(around) in own:
            between += inner
            inner = []
        elif not is_user(around.f_code.co_filename):
            inner.append(around)
        around = around.f_back
    for one in between:
        owner = one.f_code.co_varnames[0] if one.f_code.co_argcount and one.f_code.co_varnames else ""
        if owner == "self":
            yield locals_of(one).get(owner)


def answered_from(module: Any) -> set[str]:
    """The private dictionaries whose items a module's own `__getattr__` gives out as attributes.

    `layer.v` may lie in `layer._memories`. That method's code is read, not run.
    """
    for kind in classes_of(module):
        found = members_of(kind).get("__getattr__")
        if found is None:
            continue
        home = found.__module__ if type(found) is types.FunctionType else None
        if type(home) is not str or home.startswith("torch."):
            return set()
        named = {*found.__code__.co_names, *(one for one in found.__code__.co_consts if type(one) is str)}
        kept = {name for name, item in entries(space_of(module)) if type(name) is str and is_a(item, dict)}
        return {name for name in named & kept - set(MODULE_PARTS) if name.startswith("_")}
    return set()


_RESETS = ("detach_", "detach", "reset_")  # what libraries call the method that cuts or clears an object's state
_NOT_STATE = ("reset_parameters", "reset_running_stats")


def own_reset(kind: type | None, is_user: Any) -> str:
    """The method by which an object of a library cuts or clears the state that it keeps; empty where there is none."""
    for start in _RESETS:
        for name in sorted(name for one in (mro_of(kind) if kind is not None else ()) for name in members_of(one)):
            if name.startswith(start) and name not in _NOT_STATE and _can_be_called(kind, name, is_user):
                return name
    return ""


def _can_be_called(kind: Any, name: str, is_user: Any) -> bool:
    """Is it a method of a library's class, other than torch's, that needs no argument?"""
    found = next(members_of(one)[name] for one in mro_of(kind) if name in members_of(one))
    function = getattr(found, "__func__", found)
    code = getattr(function, "__code__", None)
    if not isinstance(function, types.FunctionType) or code is None or isinstance(found, staticmethod):
        return False
    needed = code.co_argcount - len(function.__defaults__ or ())
    home = function.__module__ or ""
    return needed == 1 and not code.co_flags & 0x04 and not home.startswith("torch.") and not is_user(code.co_filename)
