"""Methods of lists, dicts, texts and iterators: Python's own, on abstract values."""

from __future__ import annotations

import ast
from collections import deque
from typing import TYPE_CHECKING

from afterward.interpret.graph.graph import Tensor
from afterward.interpret.library.python import arithmetic
from afterward.interpret.machine.core import spelled
from afterward.interpret.machine.values import Args, Iter, Kwargs, Lib, PartialDict, Raised, Unknown, Value

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine


def method(machine: Machine, owner: Value, name: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    """A method of a list, dict, text, ...: Python's own, on the abstract values."""
    if isinstance(owner, Iter):
        return _of_iterator(machine, owner, name, args)
    if name in ("append", "add", "extend", "insert", "setdefault", "appendleft", "update") and args:
        is_method = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        label = spelled(node.func.value) if is_method else ""  # type: ignore[union-attr]
        for one in args[-1:]:
            if label and isinstance(one, (Tensor, tuple)):
                machine.name(one, f"{label}[...]", "item")
    if name == "extend" and args and not isinstance(args[0], (list, tuple)):
        args = [machine.take(machine.iterate(args[0], None))]
    if name == "update" and isinstance(owner, PartialDict) and args:
        owner.partial = owner.partial or not isinstance(args[0], dict) or getattr(args[0], "partial", False)
        if not isinstance(args[0], dict):
            return None
    if name == "join" and isinstance(owner, str):
        parts = args[0] if args else None
        if isinstance(parts, (list, tuple)) and all(isinstance(one, str) for one in parts):
            return _computed(machine, owner, name, [parts], {})
        return machine.unknown()
    if name == "sort" or (name == "get" and args and isinstance(args[0], Unknown)):
        return None if name == "sort" else machine.unknown()
    unsure = isinstance(owner, PartialDict) and owner.partial and name in ("get", "pop", "setdefault")
    if unsure and args and isinstance(args[0], (str, int)) and args[0] not in owner:
        return machine.unknown()
    if isinstance(owner, str) and any(not isinstance(one, (str, int, tuple)) for one in (*args, *kwargs.values())):
        return machine.unknown()
    if args and isinstance(args[0], Unknown) and name in ("index", "count", "remove", "pop", "rotate"):
        return machine.unknown()
    if args and isinstance(args[0], Unknown) and name == "insert":  # wherever it goes, it is in there
        args = [len(owner), *args[1:]]
    if name in ("keys", "values", "items") and isinstance(owner, dict):
        found = list(getattr(owner, name)())
        made = Iter(iter(found), not getattr(owner, "partial", False))
        return found if made.known else made
    if name in ("pop", "popleft", "popitem", "get") and isinstance(owner, (list, dict, deque)):
        machine.trail = hash((machine.trail, len(owner), *(one for one in args if isinstance(one, (int, str)))))
    return _computed(machine, owner, name, args, kwargs)


def _computed(machine: Machine, owner: Value, name: str, args: Args, kwargs: Kwargs) -> Value:
    try:
        return arithmetic.method(owner, name, args, kwargs)
    except arithmetic.TooLarge:
        machine.account.lose([owner, *args])
        return machine.unknown()
    except arithmetic.ERRORS:
        return machine.unknown()


def _of_iterator(machine: Machine, owner: Iter, name: str, args: Args) -> Value:
    if name == "__iter__":
        return owner
    if name == "close":
        return None
    try:
        if name == "send" and owner.send is not None:
            return owner.send(args[0] if args else None)
        if name == "throw":
            return machine.unknown()
        return next(owner.source)
    except StopIteration:
        raise Raised(Lib("builtins.StopIteration")) from None
