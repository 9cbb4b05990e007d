"""Built-in functions that ask about objects and classes: isinstance, getattr, super, property and their like."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from typing import TYPE_CHECKING

from afterward.interpret.graph.graph import Tensor
from afterward.interpret.library.python import registries
from afterward.interpret.machine.values import (
    MISSING,
    Args,
    Bound,
    Class,
    Function,
    Instance,
    Iter,
    Kwargs,
    Lib,
    Method,
    Native,
    Stream,
    Super,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine


def isinstance_(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    if len(args) < 2:
        return machine.unknown()
    value, kinds = args[0], args[1]
    answers = [_is_a(value, kind) for kind in (kinds if isinstance(kinds, tuple) else (kinds,))]
    if True in answers:
        return True
    return False if None not in answers else machine.unknown("isinstance", value, kinds)


def _is_a(value: Value, kind: Value) -> bool | None:
    if isinstance(value, Unknown) or not isinstance(kind, (Class, Lib)):
        return None
    if isinstance(kind, Lib) and kind.path.startswith("builtins."):
        real = getattr(builtins, kind.name, None)
        if isinstance(real, type):
            if kind.name == "object":
                return True
            if not isinstance(value, (Tensor, Instance, Function, Class, Lib, Native, Bound, Iter, Stream)):
                return isinstance(value, real)
            if isinstance(value, Instance):
                names = {base.name for base in value.order if isinstance(base, Lib)}
                return kind.name in names or (issubclass(real, BaseException) and "Exception" in names)
            return False
    if isinstance(value, Tensor) and isinstance(kind, Lib):
        if kind.path.endswith("Parameter"):
            return value.is_parameter
        return True if kind.path.endswith(("Tensor", "Variable")) else False if kind.path.startswith("torch") else None
    if isinstance(value, Instance):
        if kind in value.order:
            return True
        if isinstance(kind, Lib) and kind.path == "torch.nn.Module":
            from afterward.interpret.library.torch import module_tree

            return module_tree.is_module(value) or (None if value.opaque else False)
        if isinstance(kind, Lib) and kind.path.startswith("torch.optim"):
            return kind.name == "Optimizer" and value.is_a("torch.optim.")
        return None if any(isinstance(base, Unknown) for base in value.order) else False
    if isinstance(kind, Lib) and kind.path.startswith(("collections.abc.", "typing.")):
        return None
    return False


def getattr_(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    if len(args) < 2:
        return machine.unknown()
    if not isinstance(args[1], str):
        return registries.attribute(machine, args[0], node) or machine.unknown()
    found = machine.lookup(args[0], args[1])
    if found is MISSING:
        return args[2] if len(args) > 2 else machine.attribute(args[0], args[1], node)
    return found


def hasattr_(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    if len(args) < 2 or not isinstance(args[1], str) or isinstance(args[0], (Unknown, Tensor)):
        return machine.unknown("hasattr", *args)
    found = machine.lookup(args[0], args[1])
    return machine.unknown() if isinstance(found, Unknown) else found is not MISSING


def setattr_(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    if len(args) == 3 and isinstance(args[1], str):
        machine.set_attribute(args[0], args[1], args[2], ast.Name(args[1]))
    return None


def import_(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    """`__import__("a.b")` gives `a`, `importlib.import_module("a.b")` gives `a.b`."""
    name = args[0] if args else kwargs.get("name")
    if not isinstance(name, str) or len(args) > 1 or name.startswith("."):
        return machine.unknown()
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "__import__":
        name = name.split(".")[0]
    return machine.import_module(name, machine.frame.file) or Lib(name)


def super_(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    if len(args) == 2 and isinstance(args[0], Class):
        return Super(args[1], args[0])
    for frame in reversed(machine.frames):
        if frame.cls is not None:
            return Super(frame.first, frame.cls)
    return machine.unknown()


def type_(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    value = args[0] if args else None
    if isinstance(value, Instance):
        return value.cls
    if isinstance(value, Tensor):
        return Lib("torch.Tensor")
    if isinstance(value, (int, float, str, list, dict, tuple, set)):
        return Lib(f"builtins.{type(value).__name__}")
    return machine.unknown()


def of_kind_(kind: str) -> Callable[..., Value]:
    """`property(f)` and its like, called as functions."""

    def run(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
        given = args[0] if args else kwargs.get("fget")
        if not isinstance(given, Function):
            return given if given is not None else machine.unknown()
        made = Function(given.node, given.scope, given.name, given.qualname)
        made.defaults, made.kw_defaults, made.kind, made.cls = given.defaults, given.kw_defaults, kind, given.cls
        if kind == "property" and (len(args) > 1 or "fset" in kwargs):
            made.attributes["setter"] = kwargs.get("fset", args[1] if len(args) > 1 else None)
        return made

    return run


def callable_(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    if isinstance(args[0], (Function, Bound, Native, Method, Class)):
        return True
    return False if args[0] is None or isinstance(args[0], (int, str, list)) else machine.unknown("callable", args[0])
