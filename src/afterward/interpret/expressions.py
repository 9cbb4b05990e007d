"""Evaluates expressions: names, attributes, items, operators, comprehensions."""

from __future__ import annotations

import ast
import operator
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from afterward.interpret import library
from afterward.interpret.core import Core
from afterward.interpret.graph import Cutting, Tensor
from afterward.interpret.values import (
    Bound,
    Class,
    Function,
    Instance,
    Iter,
    Lib,
    PartialDict,
    Raised,
    Scope,
    SliceOf,
    Star,
    Stream,
    Unknown,
    Unsupported,
    Value,
)

CONTAINERS = (list, dict, tuple, set, frozenset, deque, str, bytes)
_BIG = 100_000

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.MatMult: operator.matmul,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor, ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}  # fmt: skip
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
}  # fmt: skip
_DUNDER = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.MatMult: "matmul", ast.BitAnd: "and", ast.BitOr: "or",
}  # fmt: skip
_ORDINARY = (TypeError, ValueError, KeyError, IndexError, AttributeError, ZeroDivisionError, OverflowError)


class Expressions(Core):
    """The part of the machine that turns expressions into values."""

    handled: Value = None
    class_names: list[str]

    # Provided by the parts built on this one
    call: Callable[..., Value]
    attribute: Callable[[Value, str, ast.AST | None], Value]
    run_block: Callable[[list[ast.stmt]], Any]
    make_function: Callable[..., Function]

    def evaluate(self, node: ast.expr) -> Value:
        run = _EVALUATE.get(type(node))
        if run is None:
            raise Unsupported(f"{type(node).__name__} is not interpreted")
        return run(self, node)

    def _constant(self, node: ast.Constant) -> Value:
        return node.value

    def _name(self, node: ast.Name) -> Value:
        scope = self.frame.scope.find(node.id)
        if scope is not None:
            return scope.names[node.id]
        return library.builtin(node.id, self)

    def _attribute(self, node: ast.Attribute) -> Value:
        return self.attribute(self.evaluate(node.value), node.attr, node)

    def _call(self, node: ast.Call) -> Value:
        function = self.evaluate(node.func)
        args: list[Value] = []
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                value = self.evaluate(argument.value)
                spread = self._spread(value)
                if spread is None:
                    args.append(Star(value))
                else:
                    args.extend(spread)
            else:
                args.append(self.evaluate(argument))
        kwargs: dict[str, Value] = {}
        for keyword in node.keywords:
            value = self.evaluate(keyword.value)
            if keyword.arg is not None:
                kwargs[keyword.arg] = value
            elif isinstance(value, dict):
                kwargs.update({key: one for key, one in value.items() if isinstance(key, str)})
            else:
                kwargs["**"] = value
        return self.call(function, args, kwargs, node)

    def _spread(self, value: Value) -> list[Value] | None:
        """The elements of `*value`, where they are known."""
        if isinstance(value, (list, tuple, set, dict, deque, str, range)) and len(value) <= _BIG:
            return list(value)
        if isinstance(value, (Iter, Stream)) or (isinstance(value, Instance) and value.is_a("torch.nn")):
            items = self.iterate(value, None)
            return self.take(items)
        return None

    def take(self, items: Iter, most: int = 200) -> list[Value]:
        """What an iterator has left; of one without end, the first few."""
        found = []
        for item in items.source:
            found.append(item)
            if len(found) >= (most if items.known else 3):
                break
        return found

    # Operators

    def _binop(self, node: ast.BinOp) -> Value:
        return self.binary(node.op, self.evaluate(node.left), self.evaluate(node.right), node)

    def binary(self, op: ast.operator, left: Value, right: Value, node: ast.AST, in_place: bool = False) -> Value:
        if isinstance(left, Tensor) or isinstance(right, Tensor):
            return library.tensor_operator(self, op, left, right, in_place, node)
        name = _DUNDER.get(type(op))
        for owner, other, form in ((left, right, f"__{name}__"), (right, left, f"__r{name}__")):
            if isinstance(owner, Instance):
                method = self.attribute(owner, form, None)
                if isinstance(method, (Bound, Function)):
                    return self.call(method, [other], {}, node)
                return self.unknown()
        if isinstance(left, Unknown) or isinstance(right, Unknown) or not (_concrete(left) and _concrete(right)):
            cut = getattr(left, "cut", None) or getattr(right, "cut", None)
            if isinstance(left, Unknown) or isinstance(right, Unknown):
                return self.unknown("op", type(op).__name__, left, right, cut=cut)
            return self.unknown()
        try:
            if isinstance(op, ast.Pow) and (abs(right) > 200 or abs(left) > 1e6):
                return self.unknown()
            if isinstance(op, (ast.Mult, ast.LShift)) and _too_big(left, right):
                return self.unknown()
            return _BINARY[type(op)](left, right)
        except _ORDINARY:
            return self.unknown()

    def _unary(self, node: ast.UnaryOp) -> Value:
        value = self.evaluate(node.operand)
        if isinstance(node.op, ast.Not):
            known = self.truth(value)
            return (not known) if known is not None else self.negation(value)
        if isinstance(value, Tensor):
            if isinstance(node.op, ast.USub):
                return library.tensor_method(self, value, "neg", [], {}, node)
            return (
                library.tensor_method(self, value, "logical_not", [], {}, node)
                if isinstance(node.op, ast.Invert)
                else value
            )
        if isinstance(value, Instance) and isinstance(node.op, ast.USub):
            return self.call(self.attribute(value, "__neg__", None), [], {}, node)
        if isinstance(value, (int, float)):
            try:
                return -value if isinstance(node.op, ast.USub) else ~value if isinstance(node.op, ast.Invert) else value  # type: ignore[operator]
            except TypeError:
                return self.unknown()
        return self.unknown("unary", type(node.op).__name__, value, cut=getattr(value, "cut", None))

    def negation(self, value: Value) -> Unknown:
        """`not value`, decided the other way whenever `value` is."""
        if isinstance(value, Lib):
            value = self.unknown("library", value.path)
        if not isinstance(value, Unknown):
            return self.unknown()
        made = self.unknown("not", value)
        self.negations[id(made)] = value
        return made

    negations: dict[int, Unknown]

    def decide(self, value: Value, place: ast.AST, prefer: bool | None = None) -> bool:
        if isinstance(value, Lib):
            value = self.unknown("library", value.path)
        inner = self.negations.get(id(value))
        if inner is not None:
            return not self.decide(inner, place, None if prefer is None else not prefer)
        return super().decide(value, place, prefer)

    def truth(self, value: Value) -> bool | None:
        """Whether a value counts as true; None where that is not known."""
        if isinstance(value, Unknown):
            inner = self.negations.get(id(value))
            if inner is not None:
                known = self.truth(inner)
                return None if known is None else not known
            return self.decided.get(id(value)) if value.key is not None else None
        if isinstance(value, (Tensor, Iter, Stream)):
            return None if isinstance(value, Tensor) else True
        if isinstance(value, Instance):
            for form in ("__bool__", "__len__"):
                method = self.attribute(value, form, None)
                if isinstance(method, Bound) and isinstance(method.function, Function):
                    return self.truth(self.call(method, [], {}, None))
            if "items" in value.inner and isinstance(value.inner["items"], (list, dict)):
                return bool(value.inner["items"])
            return None if value.opaque else True
        if isinstance(value, Lib):
            if value.path.split(".")[0] in ("torch", "functools", "collections"):
                return True
            return self.truth(self.unknown("library", value.path))
        try:
            return bool(value)
        except _ORDINARY:
            return None

    def _boolop(self, node: ast.BoolOp) -> Value:
        wants = isinstance(node.op, ast.And)
        value: Value = None
        for position, part in enumerate(node.values):
            value = self.evaluate(part)
            if position == len(node.values) - 1:
                return value
            known = self.truth(value)
            if known is None:
                known = self.decide(value, part, None if wants else None)
            if known != wants:
                return value if not isinstance(value, (Unknown, Tensor)) else known
        return value

    def _compare(self, node: ast.Compare) -> Value:
        left = self.evaluate(node.left)
        answer: Value = True
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.evaluate(right_node)
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
                answer = self.unknown("in", left, right)
                return answer if isinstance(op, ast.In) else self.negation(answer)
            return found == isinstance(op, ast.In)
        if isinstance(op, (ast.Is, ast.IsNot)):
            if isinstance(left, Unknown) or isinstance(right, Unknown):
                same = self.unknown("is", left, right) if left is not right else True
                if same is True:
                    return isinstance(op, ast.Is)
                return same if isinstance(op, ast.Is) else self.negation(same)
            same_value = left is right or (isinstance(left, (bool, Lib, Class)) and left == right)
            return same_value == isinstance(op, ast.Is)
        if isinstance(left, Tensor) or isinstance(right, Tensor):
            return library.comparison(self, left, right, node)
        for owner, other, form in ((left, right, _FORMS.get(type(op), "")), (right, left, _FORMS.get(type(op), ""))):
            if isinstance(owner, Instance):
                method = self.attribute(owner, form, None)
                if isinstance(method, Bound):
                    return self.call(method, [other], {}, node)
        if _concrete(left) and _concrete(right) and not (_has_unknown(left) or _has_unknown(right)):
            try:
                return _COMPARE[type(op)](left, right)
            except _ORDINARY:
                return self.unknown()
        if isinstance(op, ast.NotEq):
            return self.negation(self.unknown("cmp", "Eq", left, right))
        if isinstance(left, (Instance, Class, Lib, Function)) and isinstance(op, ast.Eq) and left is right:
            return True
        return self.unknown("cmp", type(op).__name__, left, right)

    def _contains(self, item: Value, box: Value) -> bool | None:
        if isinstance(box, Instance) and isinstance(box.inner.get("items"), dict):
            box = box.inner["items"]
        if isinstance(box, Instance):
            method = self.attribute(box, "__contains__", None)
            return self.truth(self.call(method, [item], {}, None)) if isinstance(method, Bound) else None
        if not isinstance(box, (*CONTAINERS, range)) or isinstance(item, Unknown):
            return None
        try:
            if isinstance(box, (list, tuple, set, deque)) and any(isinstance(one, (Unknown, Tensor)) for one in box):
                return True if any(one is item for one in box) else None
            return item in box
        except _ORDINARY:
            return None

    # Items and containers

    def _subscript(self, node: ast.Subscript) -> Value:
        return self.item(self.evaluate(node.value), self.evaluate(node.slice), node)

    def item(self, owner: Value, key: Value, node: ast.AST) -> Value:
        if isinstance(owner, Tensor):
            return library.tensor_item(self, owner, key, node)
        if isinstance(owner, Unknown):
            return self.unknown("item", owner, key, cut=owner.cut) if _simple(key) else self.unknown(cut=owner.cut)
        if isinstance(owner, Instance):
            return library.instance_item(self, owner, key, node)
        if isinstance(owner, (Lib, Class)):
            return owner  # a generic alias
        if isinstance(owner, Stream):
            return owner.make()
        if isinstance(owner, dict):
            if isinstance(key, Unknown) or not _hashable(key):
                return next(iter(owner.values())) if len(owner) == 1 else self.unknown()
            if key in owner:
                return owner[key]
            maker = getattr(owner, "maker", None)
            if maker is not None:
                made = owner[key] = self.call(maker, [], {}, node)
                return made
            if getattr(owner, "partial", False):
                return self.unknown()
            raise Raised(Lib("builtins.KeyError"))
        if isinstance(owner, (list, tuple, str, range, deque)):
            try:
                return list(owner)[key] if isinstance(owner, deque) and isinstance(key, slice) else owner[key]
            except _ORDINARY:
                return self.unknown()
        return self.unknown()

    def _slice(self, node: ast.Slice) -> Value:
        parts = [self.evaluate(part) if part is not None else None for part in (node.lower, node.upper, node.step)]
        if any(isinstance(part, (Unknown, Tensor)) for part in parts):
            return SliceOf(parts)
        return slice(*parts)

    def _tuple(self, node: ast.Tuple) -> Value:
        return tuple(self._elements(node.elts))

    def _list(self, node: ast.List) -> Value:
        return self._elements(node.elts)

    def _set(self, node: ast.Set) -> Value:
        return {one for one in self._elements(node.elts) if _hashable(one)}

    def _elements(self, nodes: list[ast.expr]) -> list[Value]:
        found: list[Value] = []
        for one in nodes:
            if isinstance(one, ast.Starred):
                spread = self._spread(self.evaluate(one.value))
                found.extend(spread if spread is not None else [self.unknown()])
            else:
                found.append(self.evaluate(one))
        return found

    def _dict(self, node: ast.Dict) -> Value:
        made = PartialDict()
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                inner = self.evaluate(value)
                if isinstance(inner, dict):
                    made.update(inner)
                    made.partial = made.partial or getattr(inner, "partial", False)
                else:
                    made.partial = True
                continue
            name, held = self.evaluate(key), self.evaluate(value)
            if isinstance(name, Unknown) or not _hashable(name):
                made.partial = True
            else:
                made[name] = held
        return made

    def _joined(self, node: ast.JoinedStr) -> Value:
        texts = []
        for part in node.values:
            if isinstance(part, ast.Constant):
                texts.append(str(part.value))
                continue
            assert isinstance(part, ast.FormattedValue)
            value = self.evaluate(part.value)
            texts.append(str(value) if isinstance(value, (str, int, float)) else "?")
            if not isinstance(value, (str, int, float)):
                texts.append("")
        known = all(isinstance(part, ast.Constant) for part in node.values) or "?" not in texts
        return "".join(texts) if known else self.unknown()

    def _ifexp(self, node: ast.IfExp) -> Value:
        value = self.evaluate(node.test)
        known = self.truth(value)
        if known is None:
            known = self.decide(value, node.test)
        return self.evaluate(node.body if known else node.orelse)

    def _lambda(self, node: ast.Lambda) -> Value:
        return self.make_function(node, "<lambda>")

    def _walrus(self, node: ast.NamedExpr) -> Value:
        value = self.evaluate(node.value)
        self.store(node.target, value)
        return value

    def _starred(self, node: ast.Starred) -> Value:
        return self.evaluate(node.value)

    def _await(self, node: ast.Await) -> Value:
        return self.evaluate(node.value)

    def _yield(self, node: ast.Yield) -> Value:
        value = self.evaluate(node.value) if node.value is not None else None
        return self.suspend(value)

    def _yield_from(self, node: ast.YieldFrom) -> Value:
        for item in self.take(self.iterate(self.evaluate(node.value), node.value)):
            self.suspend(item)
        return None

    suspend: Callable[[Value], Value]

    # Comprehensions

    def _comprehension(self, node: Any) -> Value:
        frame = self.frame
        outer = frame.scope
        frame.scope = Scope(outer, outer.module)
        frame.scope.shared = dict(outer.shared)
        try:
            if isinstance(node, ast.DictComp):
                made = PartialDict()
                for _ in self._clauses(node.generators, 0):
                    key, value = self.evaluate(node.key), self.evaluate(node.value)
                    if isinstance(key, Unknown) or not _hashable(key):
                        made.partial = True
                    else:
                        made[key] = value
                return made
            found = [self.evaluate(node.elt) for _ in self._clauses(node.generators, 0)]
        finally:
            frame.scope = outer
        return {one for one in found if _hashable(one)} if isinstance(node, ast.SetComp) else found

    def _generator(self, node: ast.GeneratorExp) -> Value:
        """Lazy, as in Python: the body runs when someone takes the next element."""
        first = self.evaluate(node.generators[0].iter)
        scope = Scope(self.frame.scope, self.frame.scope.module)
        scope.shared = dict(self.frame.scope.shared)
        items = self.iterate(first, node)

        def elements() -> Iterator[Value]:
            for _ in self._clauses(node.generators, 0, items):
                yield self.evaluate(node.elt)

        def within() -> Iterator[Value]:
            source = elements()
            while True:
                frame = self.frame
                outer, frame.scope = frame.scope, scope
                try:
                    item = next(source)
                except StopIteration:
                    return
                finally:
                    frame.scope = outer
                yield item

        return Iter(within(), items.known)

    def _clauses(self, clauses: list[ast.comprehension], depth: int, given: Iter | None = None) -> Iterator[None]:
        if depth == len(clauses):
            yield None
            return
        clause = clauses[depth]
        items = given or self.iterate(self.evaluate(clause.iter), clause.iter)
        limit = 300 if items.known else 3
        for number, item in enumerate(items.source):
            if number >= limit:
                return
            self.spend()
            self.store(clause.target, item)
            if all(self._holds(test) for test in clause.ifs):
                yield from self._clauses(clauses, depth + 1)

    def _holds(self, test: ast.expr) -> bool:
        value = self.evaluate(test)
        known = self.truth(value)
        return known if known is not None else self.decide(value, test)

    # Assigning

    def store(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self.frame.scope.assign(target.id, value)
            self.name(value, target.id, "global" if self.frame.function == "" else "local")
        elif isinstance(target, ast.Attribute):
            owner = self.evaluate(target.value)
            self.set_attribute(owner, target.attr, value, target)
        elif isinstance(target, ast.Subscript):
            owner, key = self.evaluate(target.value), self.evaluate(target.slice)
            self.set_item(owner, key, value, target)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target.elts, value)
        elif isinstance(target, ast.Starred):
            self.store(target.value, value)

    set_attribute: Callable[[Value, str, Value, ast.AST], None]
    set_item: Callable[[Value, Value, Value, ast.AST], None]
    iterate: Callable[[Value, ast.AST | None], Iter]

    def _unpack(self, targets: list[ast.expr], value: Value) -> None:
        if isinstance(value, Unknown):
            for position, target in enumerate(targets):
                self.store(target, self.unknown("item", value, position) if value.key else self.unknown(cut=value.cut))
            return
        if isinstance(value, Tensor):
            parts = library.tensor_parts(self, value, len(targets))
        else:
            items = self.iterate(value, None)
            parts = []
            for item in items.source:
                parts.append(item)
                if len(parts) > 300 or (not items.known and len(parts) >= len(targets)):
                    break
        star = next((i for i, one in enumerate(targets) if isinstance(one, ast.Starred)), None)
        if star is not None:
            after = len(targets) - star - 1
            parts = [*parts[:star], parts[star : len(parts) - after], *parts[len(parts) - after :]]
        if len(parts) != len(targets):
            parts = [self.unknown() for _ in targets]
        for target, part in zip(targets, parts, strict=True):
            self.store(target, part)

    def cutting(self, how: str, name: str, node: ast.AST | None = None) -> Cutting:
        from afterward.interpret.core import site_of

        where = self.here()
        site = site_of(self.frame.file, node) if isinstance(node, (ast.stmt, ast.expr)) else where.site
        return Cutting(where, how, name, site)


_FORMS: dict[type[ast.cmpop], str] = {
    ast.Eq: "__eq__", ast.NotEq: "__ne__", ast.Lt: "__lt__", ast.LtE: "__le__", ast.Gt: "__gt__", ast.GtE: "__ge__",
}  # fmt: skip


def _concrete(value: Value) -> bool:
    return value is None or isinstance(value, (int, float, complex, str, bytes, list, tuple, dict, set, deque, range))


def _has_unknown(value: Value) -> bool:
    if isinstance(value, (list, tuple, set, deque)):
        return any(isinstance(one, (Unknown, Tensor, Instance)) or _has_unknown(one) for one in list(value)[:50])
    if isinstance(value, dict):
        return any(isinstance(one, (Unknown, Tensor, Instance)) for one in value.values())
    return False


def _simple(key: Value) -> bool:
    return isinstance(key, (str, int, Unknown))


def _hashable(value: Value) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _too_big(left: Value, right: Value) -> bool:
    size = lambda v: (
        len(v) if isinstance(v, (str, list, tuple, bytes)) else abs(v) if isinstance(v, (int, float)) else 0
    )
    if isinstance(left, (str, list, tuple, bytes)) or isinstance(right, (str, list, tuple, bytes)):
        return bool(size(left) * size(right) > _BIG)
    return bool(size(left) > 1e12 or size(right) > 1e12)


_EVALUATE: dict[type[ast.AST], Callable[[Any, Any], Value]] = {
    ast.Constant: Expressions._constant,
    ast.Name: Expressions._name,
    ast.Attribute: Expressions._attribute,
    ast.Call: Expressions._call,
    ast.BinOp: Expressions._binop,
    ast.UnaryOp: Expressions._unary,
    ast.BoolOp: Expressions._boolop,
    ast.Compare: Expressions._compare,
    ast.Subscript: Expressions._subscript,
    ast.Slice: Expressions._slice,
    ast.Tuple: Expressions._tuple,
    ast.List: Expressions._list,
    ast.Set: Expressions._set,
    ast.Dict: Expressions._dict,
    ast.JoinedStr: Expressions._joined,
    ast.IfExp: Expressions._ifexp,
    ast.Lambda: Expressions._lambda,
    ast.NamedExpr: Expressions._walrus,
    ast.Starred: Expressions._starred,
    ast.Await: Expressions._await,
    ast.Yield: Expressions._yield,
    ast.YieldFrom: Expressions._yield_from,
    ast.ListComp: Expressions._comprehension,
    ast.SetComp: Expressions._comprehension,
    ast.DictComp: Expressions._comprehension,
    ast.GeneratorExp: Expressions._generator,
}
