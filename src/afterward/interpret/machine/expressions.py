"""Evaluates expressions: names, attributes, items, operators, comprehensions."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from afterward.interpret import library
from afterward.interpret.fragments import standins
from afterward.interpret.fragments.paths import path_of
from afterward.interpret.graph.graph import Tensor
from afterward.interpret.library.python import arithmetic, containers
from afterward.interpret.machine.iterations import took
from afterward.interpret.machine.operators import BIG, ORDINARY, as_key, hashable
from afterward.interpret.machine.part import Part
from afterward.interpret.machine.values import (
    Class,
    Instance,
    Iter,
    Lib,
    Method,
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

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine

_ELEMENTS, _FEW = 300, 3  # of a comprehension over something known, and over something without end
_MOST = 40  # of one that tests a remainder, to come round twice
_COUNTED = (200, 6, 2)  # of one that counts, by how deep it lies in others


class Expressions(Part):
    """The part of the machine that turns expressions into values."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self.comprehensions = 0  # inside each other
        self.begun = 0  # comprehensions, in all
        self.table = _Table(
            {
                ast.Constant: self._constant,
                ast.Name: self._name,
                ast.Attribute: self._attribute,
                ast.Call: self._call,
                ast.BinOp: machine.operators.binop,
                ast.UnaryOp: machine.operators.unary,
                ast.BoolOp: machine.operators.boolop,
                ast.Compare: machine.operators.comparison,
                ast.Subscript: self._subscript,
                ast.Slice: self._slice,
                ast.Tuple: self._tuple,
                ast.List: self._list,
                ast.Set: self._set,
                ast.Dict: self._dict,
                ast.JoinedStr: self._joined,
                ast.IfExp: machine.conditions.ifexp,
                ast.Lambda: self._lambda,
                ast.NamedExpr: self._walrus,
                ast.Starred: self._starred,
                ast.Await: self._await,
                ast.Yield: self._yield,
                ast.YieldFrom: self._yield_from,
                ast.ListComp: self._comprehension,
                ast.SetComp: self._comprehension,
                ast.DictComp: self._comprehension,
                ast.GeneratorExp: self._generator,
            }
        )

    def evaluate(self, node: ast.expr) -> Value:
        return self.table[type(node)](node)

    def _constant(self, node: ast.Constant) -> Value:
        return node.value

    def _name(self, node: ast.Name) -> Value:
        name, machine = node.id, self.machine
        settings = machine.choices.settings
        if settings and (machine.frames[-1].file, name) in settings:
            return machine.unknown("setting", name)
        scope: Scope | None = machine.frames[-1].scope
        if scope is not None and scope.shared:
            scope = scope.shared.get(name, scope)
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        found = library.builtin(name, machine)
        if isinstance(found, Unknown):
            assumed = machine.assumed.name(machine, machine.frames[-1], name)
            return found if assumed is None else assumed
        return found

    def _attribute(self, node: ast.Attribute) -> Value:
        value = node.value
        settings = self.machine.choices.settings
        if settings and (self.machine.frames[-1].file, path_of(node)) in settings:
            return self.machine.unknown("setting", path_of(node))
        found = self.machine.attribute(self.table[type(value)](value), node.attr, node)
        if type(found) is Method and isinstance(found.owner, standins.Output):  # not called: a field
            return found.owner.part(node.attr)
        return found

    def _call(self, node: ast.Call) -> Value:
        machine, table = self.machine, self.table
        called = node.func
        if type(called) is ast.Attribute:
            owner = table[type(called.value)](called.value)
            if owner is None:
                library.used_as_gradient(machine, called.value)
            function = machine.attribute(owner, called.attr, called)
        else:
            function = table[type(called)](called)
        args: list[Value] = []
        for argument in node.args:
            if type(argument) is ast.Starred:
                value = self.evaluate(argument.value)
                spread = self._spread(value)
                if spread is None:
                    args.append(Star(value))
                else:
                    args.extend(spread)
            else:
                args.append(table[type(argument)](argument))
        kwargs: dict[str, Value] = {}
        for keyword in node.keywords:
            value = table[type(keyword.value)](keyword.value)
            if keyword.arg is not None:
                kwargs[keyword.arg] = value
            elif isinstance(value, dict):
                kwargs.update({key: one for key, one in value.items() if isinstance(key, str)})
            else:
                kwargs["**"] = value
        return machine.call(function, args, kwargs, node)

    def _spread(self, value: Value) -> list[Value] | None:
        """The elements of `*value`, where they are known."""
        if isinstance(value, (list, tuple, set, dict, deque, str, range)) and len(value) <= BIG:
            return list(value)
        if isinstance(value, (Iter, Stream)) or (isinstance(value, Instance) and value.is_a("torch.nn")):
            self.machine.effects += 1
            items = self.machine.iterate(value, None)
            return self.take(items)
        return None

    def take(self, items: Iter, most: int = 200) -> list[Value]:
        """What an iterator has left; of one without end, the first few."""
        found = []
        most = most if items.known else _FEW
        for item in items.source:
            found.append(item)
            if len(found) >= most:
                break
        return found

    # Items and containers

    def _subscript(self, node: ast.Subscript) -> Value:
        table = self.table
        return self.item(table[type(node.value)](node.value), table[type(node.slice)](node.slice), node)

    def item(self, owner: Value, key: Value, node: ast.AST) -> Value:
        if isinstance(owner, standins.Output) and isinstance(key, (int, str)):
            return owner.part(key)
        if isinstance(owner, Tensor):
            return library.tensor_item(self.machine, owner, key, node)
        if isinstance(owner, Unknown):
            return (
                self.machine.unknown("item", owner, key, cut=owner.cut)
                if _simple(key)
                else self.machine.unknown(cut=owner.cut)
            )
        if isinstance(owner, Instance):
            return library.instance_item(self.machine, owner, key, node)
        if isinstance(owner, (Lib, Class)):
            return owner  # a generic alias
        if isinstance(owner, Stream):
            return owner.make()
        if isinstance(owner, dict):
            key = as_key(self.machine, key)
            if isinstance(key, Unknown) or not hashable(key):
                self.machine.account.lose([owner])
                return containers.item_under_unknown(self.machine, owner, key, node)
            if key in owner:
                return owner[key]
            maker = getattr(owner, "maker", None)
            if maker is not None:
                made = owner[key] = self.machine.call(maker, [], {}, node)
                return made
            if getattr(owner, "unsure", False):
                return containers.item_among_unknown(self.machine, owner)
            if (
                self.machine.frame.call not in self.machine.guarding
            ):  # a program that works has it: what filled the dict was not followed
                self.machine.gap("a key that is not known to be there", node)
                return self.machine.unknown()
            raise Raised(Lib("builtins.KeyError"))
        if isinstance(owner, (list, tuple, str, range, deque)):
            if isinstance(key, int):
                self.machine.trail = hash((self.machine.trail, key))
                took(self.machine, owner, key)
            try:
                return list(owner)[key] if isinstance(owner, deque) and isinstance(key, slice) else owner[key]
            except ORDINARY:
                self.machine.account.lose([owner])
                return self.machine.unknown()
        self.machine.account.lose([owner])
        return self.machine.unknown()

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
        return {one for one in self._elements(node.elts) if hashable(one)}

    def _elements(self, nodes: list[ast.expr]) -> list[Value]:
        found: list[Value] = []
        for one in nodes:
            if isinstance(one, ast.Starred):
                spread = self._spread(self.evaluate(one.value))
                found.extend(spread if spread is not None else [self.machine.unknown()])
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
            if isinstance(name, Unknown):
                containers.put_under_unknown(self.machine, made, name, held)
            elif not hashable(name):
                made.partial = True
            else:
                made[name] = held
        return made

    def _joined(self, node: ast.JoinedStr) -> Value:
        texts: list[Value] = []
        for part in node.values:
            if isinstance(part, ast.Constant):
                texts.append(part.value)
                continue
            assert isinstance(part, ast.FormattedValue)
            value = self.evaluate(part.value)
            if not isinstance(value, (str, int, float)):
                return self._formatted_rest(node, part)
            texts.append(value)
        try:
            return "".join([arithmetic.compute(str, (one,)) for one in texts])
        except ORDINARY:
            return self.machine.unknown()

    def _formatted_rest(self, node: ast.JoinedStr, after: ast.expr) -> Value:
        """Something in the text is not known: what comes after it is evaluated, and the text is not known either."""
        for part in node.values[node.values.index(after) + 1 :]:
            if isinstance(part, ast.FormattedValue):
                self.evaluate(part.value)
        return self.machine.unknown()

    def _lambda(self, node: ast.Lambda) -> Value:
        return self.machine.make_function(node, "<lambda>")

    def _walrus(self, node: ast.NamedExpr) -> Value:
        value = self.evaluate(node.value)
        self.machine.store(node.target, value)
        return value

    def _starred(self, node: ast.Starred) -> Value:
        return self.evaluate(node.value)

    def _await(self, node: ast.Await) -> Value:
        return self.evaluate(node.value)

    def _yield(self, node: ast.Yield) -> Value:
        value = self.evaluate(node.value) if node.value is not None else None
        self.machine.effects += 1
        return self.machine.suspend(value)

    def _yield_from(self, node: ast.YieldFrom) -> Value:
        for item in self.take(self.machine.iterate(self.evaluate(node.value), node.value)):
            self.machine.suspend(item)
        return None

    # Comprehensions

    def _comprehension(self, node: Any) -> Value:
        frame = self.machine.frame
        outer = frame.scope
        frame.scope = Scope(outer, outer.module)
        frame.scope.shared = dict(outer.shared)
        self.comprehensions += 1
        self.begun += 1
        frame.comprehensions.append(-self.begun)
        try:
            if isinstance(node, ast.DictComp):
                made = PartialDict()
                for _ in self._clauses(node.generators, 0):
                    key, value = self.evaluate(node.key), self.evaluate(node.value)
                    if isinstance(key, Unknown):
                        containers.put_under_unknown(self.machine, made, key, value)
                    elif not hashable(key):
                        made.partial = True
                    else:
                        made[key] = value
                return made
            found = [self.evaluate(node.elt) for _ in self._clauses(node.generators, 0)]
        finally:
            frame.scope = outer
            frame.comprehensions.pop()
            self.comprehensions -= 1
        return {one for one in found if hashable(one)} if isinstance(node, ast.SetComp) else found

    def _generator(self, node: ast.GeneratorExp) -> Value:
        """Lazy, as in Python: the body runs when someone takes the next element."""
        first = self.evaluate(node.generators[0].iter)
        scope = Scope(self.machine.frame.scope, self.machine.frame.scope.module)
        scope.shared = dict(self.machine.frame.scope.shared)
        items = self.machine.iterate(first, node)

        def elements() -> Iterator[Value]:
            for _ in self._clauses(node.generators, 0, items):
                yield self.evaluate(node.elt)

        def within() -> Iterator[Value]:
            source = elements()
            while True:
                frame = self.machine.frame
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
        over = self.evaluate(clause.iter) if given is None else None
        items = given or self.machine.iterate(over, clause.iter)
        limit = _ELEMENTS if items.known else _FEW
        if isinstance(over, range):
            limit = _COUNTED[max(0, min(depth + self.comprehensions, len(_COUNTED)) - 1)]
        running = self.machine.frame.comprehensions[-1:]
        for number, item in enumerate(items.source):
            if number >= max([limit, *(min(2 * self.machine.periods.get(one, 0), _MOST) for one in running)]):
                return
            self.machine.spend()
            self.machine.store(clause.target, item)
            if all(self._holds(test) for test in clause.ifs):
                yield from self._clauses(clauses, depth + 1)

    def _holds(self, test: ast.expr) -> bool:
        return self.machine.is_true(self.evaluate(test), test)


def _simple(key: Value) -> bool:
    return isinstance(key, (str, int, Unknown))


class _Table(dict[type[ast.AST], Callable[[Any], Value]]):
    """The method for each kind of expression. It is asked for directly where a call in between would be felt."""

    def __missing__(self, kind: type[ast.AST]) -> Callable[[Any], Value]:
        raise Unsupported(f"{kind.__name__} is not interpreted")
