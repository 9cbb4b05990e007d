"""Methods of lists, dicts, texts and iterators: Python's own, on abstract values."""

from __future__ import annotations

import ast
from collections import deque
from typing import TYPE_CHECKING, Any

from afterward.interpret.graph.graph import Tensor
from afterward.interpret.library.python import arithmetic, registries
from afterward.interpret.machine.core import spelled
from afterward.interpret.machine.values import (
    MISSING,
    Args,
    Iter,
    Kwargs,
    Lib,
    PartialDict,
    Raised,
    Unknown,
    Value,
)
from afterward.model.methods import PUTTING

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine


def method(machine: Machine, owner: Value, name: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    """A method of a list, dict, text, ...: Python's own, on the abstract values."""
    if isinstance(owner, Iter):
        return _of_iterator(machine, owner, name, args)
    if name in PUTTING and args:
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
    if name == "sort":
        return None
    if name in ("get", "setdefault") and args and isinstance(args[0], Unknown):
        return _get_under_unknown(machine, owner, name, args)
    unsure = isinstance(owner, PartialDict) and owner.unsure and name in ("get", "pop", "setdefault")
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


def put_under_unknown(machine: Machine, owner: PartialDict, key: Unknown, value: Value) -> None:
    owner.put_under_unknown(key, value, _iterations(machine))


def item_under_unknown(machine: Machine, owner: dict[Any, Value], key: Value, node: ast.AST) -> Value:
    """`owner[key]` where the key is not known; a `defaultdict` that is empty makes its first value."""
    if isinstance(key, Unknown) and isinstance(owner, PartialDict):
        found = owner.under_unknown(key, _iterations(machine))
        if found is MISSING and owner.maker is not None and not owner:
            found = machine.call(owner.maker, [], {}, node)
            put_under_unknown(machine, owner, key, found)
        if found is not MISSING:
            return found
    if len(owner) == 1:
        return next(iter(owner.values()))
    return registries.item(machine, owner.values(), node) or machine.unknown()


def item_among_unknown(machine: Machine, owner: dict[Any, Value]) -> Value:
    """`owner[key]` where values were put under keys that are not known: of tensors, the newest stands for any."""
    put = [value for key, value in owner.items() if isinstance(key, Unknown)]
    if not put or not all(isinstance(one, Tensor) for one in put):
        return machine.unknown()
    machine.account.lose(put)
    return put[-1]


def _get_under_unknown(machine: Machine, owner: Value, name: str, args: Args) -> Value:
    """`get` and `setdefault` with a key that is not known."""
    if not isinstance(owner, PartialDict):
        return machine.unknown()
    found = owner.under_unknown(args[0], _iterations(machine))
    if found is not MISSING:
        return found
    if owner or owner.partial:
        return machine.unknown()
    default = args[1] if len(args) > 1 else None
    if name == "setdefault":
        put_under_unknown(machine, owner, args[0], default)
    return default


def _iterations(machine: Machine) -> dict[int, int]:
    """Which iteration each running loop is in."""
    return {one.entry: one.number for frame in machine.frames for one in frame.iterations}


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
