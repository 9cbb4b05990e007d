"""Processes and threads: what they run is run where they are started. One of several with the same function will do:
the others do the same, each with objects of its own."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from afterward.interpret.machine.values import (
    MISSING,
    Args,
    Bound,
    Class,
    Function,
    Instance,
    Kwargs,
    Lib,
    Native,
    Value,
)

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine

_CLASSES = frozenset({"multiprocessing.Process", "multiprocessing.context.Process", "threading.Thread"})
_FIRST = ("group", "target", "name", "args", "kwargs")


def is_worker(path: str) -> bool:
    return path in _CLASSES


def make(machine: Machine, args: Args, kwargs: Kwargs, path: str) -> Value:
    """`Process(target=train, args=(...))`."""
    made = Instance(Lib(path))
    _keep(made, args, kwargs)
    return made


def spawn(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    """`spawn(train, args=(...), nprocs=4)`: the function is given the number of the process first."""
    given = args[1] if len(args) > 1 else kwargs.get("args", ())
    function = args[0] if args else kwargs.get("fn")
    if isinstance(given, (list, tuple)) and isinstance(function, (Function, Bound)):
        machine.call(function, [0, *given], {}, node)
    else:
        machine.escape(args, kwargs)
    return None


def method(machine: Machine, owner: Instance, name: str, node: ast.AST | None) -> Value:
    """A method of one that the program made as it is."""
    if name == "start":
        target, given = owner.inner.get("target"), owner.inner.get("args")
        named = owner.inner.get("kwargs")
        if not _begins(machine, target):
            return None
        if isinstance(given, (list, tuple)) and isinstance(named, dict):
            return machine.call(target, list(given), named, node)
        machine.escape([target, given, named], {})
    return machine.unknown()


def inherited(machine: Machine, owner: Instance, base: Lib, name: str) -> Value:
    """What a class of the program has of it: `start()` calls its `run()`."""
    if name == "__init__":
        return Native(lambda m, args, kwargs: _keep(owner, args[1:], kwargs), name)
    if name == "start":
        return Native(lambda m, args, kwargs: _run(m, owner), name)
    return MISSING if name.startswith("__") else machine.unknown("attr", owner, name)


def _keep(made: Instance, args: Args, kwargs: Kwargs) -> None:
    given = {"args": (), "kwargs": {}, **dict(zip(_FIRST, args, strict=False)), **kwargs}
    made.inner.update({key: given.get(key) for key in ("target", "args", "kwargs")})


def _run(machine: Machine, owner: Instance) -> Value:
    own = machine.lookup(owner, "run")
    if isinstance(own, Bound) and isinstance(own.owner, Instance) and isinstance(owner.cls, Class):
        return machine.call(own, [], {}, None) if _begins(machine, own) else None
    return method(machine, owner, "start", None)


def _begins(machine: Machine, function: Value) -> bool:
    """Is it one that no other worker has run?"""
    inner = function.function if isinstance(function, Bound) else function
    if not isinstance(inner, Function) or id(inner.node) in machine.worked:
        return False
    machine.worked.add(id(inner.node))
    return True
