"""Calls functions and makes objects."""

from __future__ import annotations

import ast
from typing import Any

from afterward.follow.nodes import children, kept
from afterward.interpret import library
from afterward.interpret.graph.graph import Tensor
from afterward.interpret.machine.core import DEPTH, Frame, spelled
from afterward.interpret.machine.part import Part
from afterward.interpret.machine.values import (
    MISSING,
    Bound,
    Class,
    Function,
    Instance,
    Lib,
    Method,
    Native,
    PartialDict,
    Scope,
    Star,
    Unknown,
    Value,
)
from afterward.interpret.search.harmless import NOTES, PURE_METHODS, all_plain, only_makes
from afterward.model.methods import PASSES


class Calls(Part):
    """The part of the machine that calls things."""

    # Calling

    def call(self, function: Value, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
        if isinstance(function, Function):
            return self.call_function(function, args, kwargs)
        if isinstance(function, Bound):
            return self.call(function.function, [function.owner, *args], kwargs, node)
        if isinstance(function, Lib):
            if not (only_makes(function.path) or (function.path[:6] != "torch." and all_plain(args, kwargs))):
                self.machine.effects += 1
            return library.call(self.machine, function.path, args, kwargs, node)
        if isinstance(function, Method):
            if not isinstance(function.owner, str) and function.name not in PURE_METHODS:
                self.machine.effects += 1
            return library.call_method(self.machine, function.owner, function.name, args, kwargs, node)
        if isinstance(function, Native):
            if function.name not in PURE_METHODS:
                self.machine.effects += 1
            return function.call(self.machine, args, kwargs)
        if isinstance(function, Class):
            return self.instantiate(function, args, kwargs, node)
        if isinstance(function, Instance):
            self.machine.effects += 1
            return self.call_instance(function, args, kwargs, node)
        if not all_plain(args, kwargs):
            self.machine.effects += 1
        if isinstance(function, Unknown) and (number := _number_swept(function, node)) is not None:
            return library.call_method(self.machine, number, "backward", args, kwargs, node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in PASSES:
            self.machine.account.blind = True
            self.machine.gap(f"`{spelled(node.func.value)}` is not known here, so neither is its backward pass", node)
        if _makes_leaf(node) and args in ([], [True]):
            return self._make_leaf(node.func.value)  # type: ignore[union-attr]
        if not _only_notes(node):
            self.machine.escape(args, kwargs)
        # A method of a number that was read out of a tensor, or what is computed from such numbers.
        made = self.machine.unknown(
            cut=next((one.cut for one in (function, *args) if isinstance(one, Unknown) and one.cut), None)
        )
        made.plain = isinstance(function, Unknown) and function.plain
        return made

    def call_instance(
        self, owner: Instance, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None
    ) -> Value:
        if not (isinstance(owner.cls, Lib) and library.is_module(owner)):  # most are layers, which have none
            method = self.machine.lookup(owner, "__call__")
            if isinstance(method, Bound):
                return self.call(method, args, kwargs, node)
        if library.is_module(owner):
            return library.call_module(self.machine, owner, args, kwargs, node)
        return library.call_object(self.machine, owner, args, kwargs, node)

    def call_function(self, function: Function, args: list[Value], kwargs: dict[str, Value]) -> Value:
        if len(self.machine.frames) > DEPTH:
            self.machine.gap("too many calls inside calls")
            return self.machine.unknown()
        node = function.node
        if args and all(isinstance(one, Unknown) for one in args):
            inside = sum(frame.function == function.qualname for frame in self.machine.frames)
            if inside > 2:  # a recursion on something unknown has no end that could be seen
                return self.machine.unknown()
        around, self.machine.tested_at = self.machine.tested_at, None
        try:
            return self._run_function(function, node, args, kwargs)
        finally:
            self.machine.tested_at = around

    def _run_function(self, function: Function, node: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        self.machine.spend()
        scope = Scope(function.scope, function.scope.module)
        self._bind(function, scope, args, kwargs)
        self.machine.calls += 1
        module = scope.module
        frame = Frame(self.machine.calls, function.qualname, module.file if module is not None else "", scope)
        frame.cls, frame.node = function.cls, node
        frame.first = args[0] if args else None
        if isinstance(node, ast.Lambda):
            frame.hidden = True
            outer = self.machine.frame
            frame.statement, frame.moment = outer.statement, outer.moment
            self.machine.frames.append(frame)
            try:
                return self.machine.evaluate(node.body)
            finally:
                self.machine.frames.pop()
        self.machine.executed.add(id(node))
        if _has_yield(node):
            return self.machine.start_generator(frame, node.body)
        self.machine.frames.append(frame)
        try:
            left = self.machine.run_block(node.body)
        finally:
            self.machine.frames.pop()
        return getattr(left, "value", None)

    def _bind(self, function: Function, scope: Scope, args: list[Value], kwargs: dict[str, Value]) -> None:
        spec = function.node.args
        positional = [argument.arg for argument in (*spec.posonlyargs, *spec.args)]
        names = scope.names
        rest = dict(kwargs)
        unknown_rest = rest.pop("**", None) is not None
        given: list[Value] = []
        starred = False
        for argument in args:
            if isinstance(argument, Star):
                starred = True
                break
            given.append(argument)
        for name, value in zip(positional, given, strict=False):
            names[name] = value
        first_default = len(positional) - len(function.defaults)
        for position, name in enumerate(positional[len(given) :], len(given)):
            if name in rest:
                names[name] = rest.pop(name)
            elif starred or (unknown_rest and position < first_default):
                names[name] = self.machine.unknown("parameter", self.machine.calls, name)
            elif position >= first_default:
                names[name] = function.defaults[position - first_default]
            else:
                names[name] = self.machine.unknown("parameter", self.machine.calls, name)
        for argument in spec.kwonlyargs:
            if argument.arg in rest:
                names[argument.arg] = rest.pop(argument.arg)
            else:
                names[argument.arg] = function.kw_defaults.get(argument.arg, MISSING)
                if names[argument.arg] is MISSING:
                    names[argument.arg] = self.machine.unknown("parameter", self.machine.calls, argument.arg)
        if spec.vararg is not None:
            names[spec.vararg.arg] = self.machine.unknown() if starred else tuple(given[len(positional) :])
        if spec.kwarg is not None:
            box = PartialDict(rest)
            box.partial = unknown_rest
            names[spec.kwarg.arg] = box

    def instantiate(self, cls: Class, args: list[Value], kwargs: dict[str, Value], node: ast.AST | None) -> Value:
        self.machine.effects += 1
        if cls.special == "enum":
            return self.machine.unknown()
        made = Instance(cls)
        library.prepare(self.machine, made)
        maker = self.machine.lookup(made, "__init__")
        if isinstance(maker, Bound) and isinstance(maker.function, (Function, Native)):
            self.call(maker, args, kwargs, node)
        elif cls.fields is not None:
            self._fill(made, cls.fields, args, kwargs, node)
        else:
            library.construct(self.machine, made, args, kwargs, node)
        return made

    def _fill(
        self,
        made: Instance,
        fields: list[tuple[str, Value]],
        args: list[Value],
        kwargs: dict[str, Value],
        node: ast.AST | None,
    ) -> None:
        """The `__init__` that a dataclass or named tuple has."""
        for position, (name, default) in enumerate(fields):
            if position < len(args) and not isinstance(args[position], Star):
                value = args[position]
            elif name in kwargs:
                value = kwargs[name]
            elif isinstance(default, Native):
                value = default.call(self.machine, [], {})
            else:
                value = default if default is not MISSING else self.machine.unknown()
            made.attributes[name] = value
            self.machine.name(value, f"{made.class_name}.{name}", "attribute")
        after = self.machine.lookup(made, "__post_init__")
        if isinstance(after, Bound):
            self.call(after, [], {}, node)

    def declare_fields(self, made: Class, node: ast.ClassDef) -> None:
        """What a dataclass or named tuple would take; kept until a decorator asks for it."""
        fields: list[tuple[str, Value]] = []
        for base in made.order[1:]:
            if isinstance(base, Class) and base.fields:
                fields = [*base.fields]
        for statement in node.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                name = statement.target.id
                fields = [one for one in fields if one[0] != name]
                fields.append((name, made.attributes.get(name, MISSING)))
        tuple_like = made.derives_from("typing.NamedTuple", "collections.namedtuple")
        inherits = any(isinstance(base, Class) and base.fields is not None for base in made.order[1:])
        if tuple_like or inherits:
            made.fields = fields
            made.special = "namedtuple" if tuple_like else "dataclass"
        made.attributes.setdefault("__fields__", fields)
        if made.derives_from("enum."):
            made.special = "enum"

    def _make_leaf(self, target: ast.expr) -> Tensor:
        leaf = self.machine.graph.leaf()
        if isinstance(target, ast.Name):
            self.machine.store(target, leaf)
        return leaf

    def make_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, name: str) -> Function:
        frame = self.machine.frame
        scope = frame.scope
        around = [*([frame.function] if frame.function else []), *(self.machine.class_names if frame.hidden else [])]
        closure = scope
        if frame.hidden and self.machine.class_names:  # a method does not see the names of its class body
            closure = scope.outer or scope
        made = Function(node, closure, name, ".".join([*around, name]))
        made.defaults = [self.machine.evaluate(default) for default in node.args.defaults]
        for argument, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
            if default is not None:
                made.kw_defaults[argument.arg] = self.machine.evaluate(default)
        return made


def _only_notes(node: ast.AST | None) -> bool:
    """A call by whose name something is written down: whatever it does, it runs no pass over what it is given."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return not NOTES.isdisjoint(node.func.attr.lower().split("_"))


def _makes_leaf(node: ast.AST | None) -> bool:
    """`x.requires_grad_()`, `x.clone().requires_grad_()`: who asks for that has a value without a graph."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "requires_grad_"


@kept
def _has_yield(node: ast.AST) -> bool:
    """Is this the body of a generator?"""
    todo: list[Any] = children(node)
    while todo:
        one = todo.pop()
        if isinstance(one, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            todo.extend(children(one))
    return False


def _number_swept(function: Unknown, node: ast.AST | None) -> Tensor | None:
    """`backward()` called on a number that was read out of a tensor: a value without a graph, by how it was read."""
    is_pass = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "backward"
    if not is_pass or not function.plain or function.cut is None:
        return None
    made = Tensor()
    made.cut = function.cut
    return made
