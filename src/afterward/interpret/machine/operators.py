"""Operators, comparisons and the truth of values."""

from __future__ import annotations

import ast
import operator
from collections import deque
from collections.abc import Callable
from typing import Any

from afterward.interpret import library
from afterward.interpret.graph.graph import Tensor
from afterward.interpret.library.python import arithmetic
from afterward.interpret.machine.core import Core, spelled
from afterward.interpret.machine.part import Part
from afterward.interpret.machine.values import (
    Bound,
    Class,
    Function,
    Instance,
    Iter,
    Lib,
    PartialDict,
    Stream,
    Unknown,
    Value,
)

CONTAINERS = (list, dict, tuple, set, frozenset, deque, str, bytes)
BIG = arithmetic.ELEMENTS

_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
}  # fmt: skip
_DUNDER = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.MatMult: "matmul", ast.BitAnd: "and", ast.BitOr: "or",
}  # fmt: skip
ORDINARY = arithmetic.ERRORS


class Operators(Part):
    """The part of the machine that combines and compares values."""

    # Operators

    def binop(self, node: ast.BinOp) -> Value:
        return self.binary(node.op, self.machine.evaluate(node.left), self.machine.evaluate(node.right), node)

    def binary(self, op: ast.operator, left: Value, right: Value, node: ast.AST, in_place: bool = False) -> Value:
        if left is None or right is None:
            library.used_as_gradient(self.machine, getattr(node, "left" if left is None else "right", node))
        if isinstance(left, Tensor) or isinstance(right, Tensor):
            return library.tensor_operator(self.machine, op, left, right, in_place, node)
        name = _DUNDER.get(type(op))
        if in_place and isinstance(left, Instance):
            own = self.machine.attribute(left, f"__i{name}__", None)
            if isinstance(own, (Bound, Function)):
                return self.machine.call(own, [right], {}, node)
        for owner, other, form in ((left, right, f"__{name}__"), (right, left, f"__r{name}__")):
            if isinstance(owner, Instance):
                method = self.machine.attribute(owner, form, None)
                if isinstance(method, (Bound, Function)):
                    return self.machine.call(method, [other], {}, node)
                return self.machine.unknown()
        if isinstance(left, Unknown) or isinstance(right, Unknown) or not (_concrete(left) and _concrete(right)):
            cut = getattr(left, "cut", None) or getattr(right, "cut", None)
            for listed in (left, right):
                if isinstance(listed, (list, tuple)) and any(isinstance(one, Tensor) for one in listed):
                    return self._with_unknown(op, listed)
            if isinstance(left, Unknown) or isinstance(right, Unknown):
                if isinstance(op, ast.Mod):
                    name = spelled(node.right) if isinstance(node, ast.BinOp) else ""
                    number = self.machine.assumed.remainder(self.machine, left, right, name)
                    if number is not None:
                        return number
                return self.machine.unknown("op", type(op).__name__, left, right, cut=cut)
            return self.machine.unknown()
        whole = isinstance(left, int) and isinstance(right, int)
        if isinstance(op, ast.Mod) and whole and self.machine.tested_at is not None:
            self.machine.repeats_after(right)
        try:
            return arithmetic.compute(arithmetic.OPERATORS[type(op)], (left, right))
        except ORDINARY:
            return self.machine.unknown()

    def _with_unknown(self, op: ast.operator, listed: list[Value] | tuple[Value, ...]) -> Value:
        """Tensors in a list, and something unknown: so many times the same, a few for many; else they are out of sight
        in what comes of it."""
        if isinstance(op, ast.Mult):
            return listed + listed  # type: ignore[operator]
        self.machine.account.mix(listed)
        return self.machine.unknown()

    def unary(self, node: ast.UnaryOp) -> Value:
        value = self.machine.evaluate(node.operand)
        if isinstance(node.op, ast.Not):
            known = self.truth(value)
            return (not known) if known is not None else self.negation(value)
        if isinstance(value, Tensor):
            if isinstance(node.op, ast.USub):
                return library.tensor_method(self.machine, value, "neg", [], {}, node)
            return (
                library.tensor_method(self.machine, value, "logical_not", [], {}, node)
                if isinstance(node.op, ast.Invert)
                else value
            )
        if isinstance(value, Instance) and isinstance(node.op, ast.USub):
            return self.machine.call(self.machine.attribute(value, "__neg__", None), [], {}, node)
        if isinstance(value, (int, float)):
            try:
                return -value if isinstance(node.op, ast.USub) else ~value if isinstance(node.op, ast.Invert) else value  # type: ignore[operator]
            except TypeError:
                return self.machine.unknown()
        return self.machine.unknown("unary", type(node.op).__name__, value, cut=getattr(value, "cut", None))

    def negation(self, value: Value) -> Unknown:
        """`not value`, decided the other way whenever `value` is."""
        if isinstance(value, Lib):
            value = self.machine.unknown("library", value.path)
        if not isinstance(value, Unknown):
            return self.machine.unknown()
        made = self.machine.unknown("not", value)
        self.machine.negations[id(made)] = value
        return made

    def is_true(self, value: Value, place: ast.AST | None) -> bool:
        """Whether a value counts as true; where that is not known, it is decided."""
        known = self.truth(value)
        return known if known is not None else self.machine.decide(value, place or ast.Pass())

    def truth(self, value: Value) -> bool | None:
        """Whether a value counts as true; None where that is not known."""
        if isinstance(value, Unknown):
            inner = self.machine.negations.get(id(value))
            if inner is not None:
                known = self.truth(inner)
                return None if known is None else not known
            if value.key is None:
                return None
            known = self.machine.decided.get(id(value))
            if known is not None:
                self.machine.hangs_on(value)
            return known
        if isinstance(value, Tensor):
            return True if value.node is not None else None  # one with a graph is no flag: it is zero by chance alone
        if isinstance(value, (Iter, Stream)):
            return True
        if isinstance(value, Instance):
            for form in ("__bool__", "__len__"):
                method = self.machine.attribute(value, form, None)
                if isinstance(method, Bound) and isinstance(method.function, Function):
                    return self.truth(self.machine.call(method, [], {}, None))
            if "items" in value.inner and isinstance(value.inner["items"], (list, dict)):
                return bool(value.inner["items"])
            return None if value.opaque else True
        if isinstance(value, Lib):
            if value.path.split(".")[0] in ("torch", "functools", "collections"):
                return True
            return self.truth(self.machine.unknown("library", value.path))
        try:
            known = bool(value)
        except ORDINARY:
            return None
        if value is not None and value is not known:
            size = value if isinstance(value, (int, float)) else len(value) if isinstance(value, CONTAINERS) else known
            self.machine.trail = hash((self.machine.trail, size))
        return known

    def boolop(self, node: ast.BoolOp) -> Value:
        wants = isinstance(node.op, ast.And)
        value: Value = None
        for position, part in enumerate(node.values):
            value = self.machine.evaluate(part)
            if position == len(node.values) - 1:
                return value
            known = self.is_true(value, part)
            if known != wants:
                return value if not isinstance(value, (Unknown, Tensor)) else known
        return value

    def comparison(self, node: ast.Compare) -> Value:
        left = self.machine.evaluate(node.left)
        answer: Value = True
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.machine.evaluate(right_node)
            answer = self.compare(op, left, right, node)
            known = self.truth(answer)
            if known is False or isinstance(answer, Tensor):
                return answer
            left = right
        return answer

    def compare(self, op: ast.cmpop, left: Value, right: Value, node: ast.AST) -> Value:
        if isinstance(op, (ast.In, ast.NotIn)):
            found = self._contains(left, right)
            if found is None:
                answer = self.machine.unknown("in", left, right)
                return answer if isinstance(op, ast.In) else self.negation(answer)
            return found == isinstance(op, ast.In)
        if isinstance(op, (ast.Is, ast.IsNot)):
            if isinstance(left, Unknown) or isinstance(right, Unknown):
                same = self.machine.unknown("is", left, right) if left is not right else True
                if same is True:
                    return isinstance(op, ast.Is)
                return same if isinstance(op, ast.Is) else self.negation(same)
            same_value = left is right or (
                type(left) is type(right) and isinstance(left, _ONE_OBJECT) and left == right
            )
            return same_value == isinstance(op, ast.Is)
        if isinstance(left, Tensor) or isinstance(right, Tensor):
            return library.comparison(self.machine, left, right, node)
        for owner, other, form in ((left, right, _FORMS.get(type(op), "")), (right, left, _FORMS.get(type(op), ""))):
            if isinstance(owner, Instance):
                method = self.machine.attribute(owner, form, None)
                if isinstance(method, Bound):
                    return self.machine.call(method, [other], {}, node)
        if _concrete(left) and _concrete(right) and not (_has_unknown(left) or _has_unknown(right)):
            if isinstance(left, (int, float)) and isinstance(right, (int, float)):
                self.machine.trail = hash((self.machine.trail, left, right))
            try:
                return _COMPARE[type(op)](left, right)
            except ORDINARY:
                return self.machine.unknown()
        if isinstance(op, (ast.Eq, ast.NotEq)) and all(isinstance(one, (Class, Lib)) for one in (left, right)):
            same_class = left is right or (_names_a_class(left) and left == right)
            if same_class or _are_apart(left, right):
                return same_class == isinstance(op, ast.Eq)
        if isinstance(op, ast.NotEq):
            return self.negation(self.machine.unknown("cmp", "Eq", left, right))
        if isinstance(left, (Instance, Class, Lib, Function)) and isinstance(op, ast.Eq) and left is right:
            return True
        return self.machine.unknown("cmp", type(op).__name__, left, right)

    def _contains(self, item: Value, box: Value) -> bool | None:
        if isinstance(box, Instance) and isinstance(box.inner.get("items"), dict):
            box = box.inner["items"]
        if isinstance(box, Instance):
            method = self.machine.attribute(box, "__contains__", None)
            return self.truth(self.machine.call(method, [item], {}, None)) if isinstance(method, Bound) else None
        item = as_key(self.machine, item) if isinstance(box, dict) else item
        if isinstance(box, PartialDict) and (isinstance(item, Unknown) or box.unsure) and hashable(item):
            return True if item in box else None if box or box.partial else False
        if not isinstance(box, (*CONTAINERS, range)) or isinstance(item, Unknown):
            return None
        try:
            if isinstance(box, (list, tuple, set, deque)) and any(isinstance(one, (Unknown, Tensor)) for one in box):
                return True if any(one is item for one in box) else None
            return arithmetic.contains(box, item)
        except ORDINARY:
            return None


_ONE_OBJECT = (bool, int, str, Lib, Class)  # equal ones are one object, as far as programs ask with `is`
_FORMS: dict[type[ast.cmpop], str] = {
    ast.Eq: "__eq__", ast.NotEq: "__ne__", ast.Lt: "__lt__", ast.LtE: "__le__", ast.Gt: "__gt__", ast.GtE: "__ge__",
}  # fmt: skip


def as_key(machine: Core, value: Value) -> Value:
    """A key with a part that is not known is not known; the same parts make the same key."""
    if not isinstance(value, tuple):
        return value
    parts = [as_key(machine, one) for one in value]
    if not any(isinstance(one, Unknown) for one in parts):
        return value
    return machine.unknown("key", *(one if isinstance(one, Unknown) else repr(one) for one in parts))


def hashable(value: Value) -> bool:
    """Can it be a key?"""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _names_a_class(value: Value) -> bool:
    """Is it a class, and one that another name cannot stand for?"""
    return isinstance(value, Class) or (isinstance(value, Lib) and value.path.startswith("builtins."))


def _are_apart(left: Value, right: Value) -> bool:
    """Can two different names of classes not stand for one? Torch gives no class of Python's a name of its own."""
    certain = [_names_a_class(one) for one in (left, right)]
    torch_own = [isinstance(one, Lib) and one.path.startswith("torch.") for one in (left, right)]
    return all(sure or own for sure, own in zip(certain, torch_own, strict=True)) and any(certain)


def _concrete(value: Value) -> bool:
    return value is None or isinstance(value, (int, float, complex, str, bytes, list, tuple, dict, set, deque, range))


def _has_unknown(value: Value) -> bool:
    if isinstance(value, (list, tuple, set, deque)):
        return any(isinstance(one, (Unknown, Tensor, Instance)) or _has_unknown(one) for one in list(value)[:50])
    if isinstance(value, dict):
        return any(isinstance(one, (Unknown, Tensor, Instance)) for one in value.values())
    return False
