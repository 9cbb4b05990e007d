"""Finds parts of a loss that have a value and no history, because `autograd.grad` made them without a graph.

Three things must come together: a pass uses a sum, one summand of which has no history (seen in the graph); the
statement that made the sum adds a name, or a call, that goes back to what an `autograd.grad` returned (read from the
statements that ran); and that call was made without `create_graph=True` (seen as well).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from afterward.follow.path import Place
from afterward.follow.reading import Name, reads
from afterward.model.history import Fed
from afterward.observe.recording.events import PassSeen
from afterward.observe.replay.ended_run import EndedRun

FAR = 40  # statements followed back
# What goes through one of these is meant to be a number.
_NUMBERS = {"item", "tolist", "detach", "numpy", "float", "data", "cpu"}
_REDUCES = {"mean", "sum", "view", "reshape", "squeeze"}
_ADDS = (ast.Add, ast.Sub)
# Methods that compute nothing but from the tensor itself.
_CALCULATES = {"mean", "sum", "abs", "norm", "sqrt", "pow", "square", "clamp", "view", "reshape", "squeeze", "flatten"}


@dataclass(slots=True)
class Bare:
    """A pass that is about to use a sum of which some summands have no history."""

    seen: PassSeen
    orders: dict[int, bool]  # of the additions, and whether the loss is linear in what is added


def find_flat_parts(after: EndedRun, bare: list[Bare]) -> Iterator[Fed]:
    """The derivatives without a graph that were added to what a pass starts from."""
    taken = {
        (event.place.call, event.place.moment): event
        for event in after.passes
        if event.call == "grad" and not event.creates_graph and event.place is not None
    }
    numbers = {id(event): number for number, event in enumerate(after.passes)}
    for one in bare if taken else ():
        places = {id(place): (place, linear) for order, linear in one.orders.items() if (place := _adds(after, order))}
        for place, linear in places.values():
            for text, source in _Flat(after, taken).parts(place):
                if id(one.seen) in numbers and one.seen.place is not None:
                    yield Fed(numbers[id(source)], numbers[id(one.seen)], text, after.places.where(place), linear)


def _adds(after: EndedRun, order: int) -> Place | None:
    """The statement that made an addition: of a function that returns it, the `return`."""
    place = after.built_by(order)
    inner = after.paths.returns(place) if place is not None else []
    return next((one for one in inner if 0 <= order - one.order_at < after.built_by_mark(one)), place)


class _Flat:
    """Follows summands back, by name, to where a derivative was taken."""

    def __init__(self, after: EndedRun, taken: dict[tuple[int, int], PassSeen]) -> None:
        self.after = after
        self.paths = after.paths
        self.taken = taken

    def parts(self, place: Place) -> Iterator[tuple[str, PassSeen]]:
        """(summand, the pass that took the derivative) for the summands of a statement that have no history."""
        statement = self.paths.sources.statement(place.number)
        value = getattr(statement, "value", None)
        if not isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Expr)) or value is None:
            return
        if isinstance(statement, ast.AugAssign) and not isinstance(statement.op, (ast.Add, ast.Sub)):
            return
        for term in _summands(value):
            source = self._source(term, place)
            if source is not None:
                yield ast.unparse(_named(term)), source

    def _source(self, term: ast.expr, place: Place) -> PassSeen | None:
        """The derivative that all of a summand comes from; None where some of it may have a history."""
        found: PassSeen | None = None
        for factor in _factors(term):
            if isinstance(factor, ast.Constant):
                continue
            source = self._origin(factor, place)
            if source is None and not self._is_plain_number(factor, place):
                return None
            found = found or source
        return found

    def _origin(self, factor: ast.expr, place: Place) -> PassSeen | None:
        if isinstance(factor, ast.Call):
            return self._returned(factor, place)
        name = _as_name(factor)
        giver = self.paths.assigned_before(name, place) if name is not None else None
        return self._comes_from(giver) if giver is not None else None

    def _returned(self, call: ast.Call, place: Place) -> PassSeen | None:
        """What a function of the program gave back within a statement."""
        wanted = ast.unparse(call.func).rsplit(".", 1)[-1]
        for inner in self.paths.returns(place):
            if self.paths.sources.entry(inner.number).function.rsplit(".", 1)[-1] == wanted:
                return self._comes_from(inner)
        return None

    def _comes_from(self, start: Place) -> PassSeen | None:
        """Going back over statements that record nothing, the pass that returned what they computed with."""
        todo, seen = [start], {(start.call, start.moment)}
        for _ in range(FAR):
            if not todo:
                return None
            place = todo.pop(0)
            known = self.taken.get((place.call, place.moment))
            if known is not None:
                return known
            statement = self.paths.sources.statement(place.number)
            inner = self.paths.returns(place)
            if statement is None or _makes_a_number(statement, bool(inner)):
                continue
            if not inner and self.after.built_by_mark(place):
                continue
            for before in inner or self._givers(place, statement):
                if (before.call, before.moment) not in seen:
                    seen.add((before.call, before.moment))
                    todo.append(before)
        return None

    def _givers(self, place: Place, statement: ast.stmt) -> list[Place]:
        """The statements that gave a statement what it reads."""
        givers = (self.paths.assigned_before(name, place) for name in reads(statement))
        return [giver for giver in givers if giver is not None]

    def _is_plain_number(self, factor: ast.expr, place: Place) -> bool:
        """Is it a name that the program gave a value without recording anything: a weight, a setting?"""
        name = _as_name(factor)
        if name is None:
            return False
        giver = self.paths.assigned_before(name, place)
        return giver is None or (not self.paths.returns(giver) and not self.after.built_by_mark(giver))


def _summands(value: ast.expr) -> Iterator[ast.expr]:
    """What is added up, looking through what reduces or scales a sum as a whole: `torch.mean(a + b) * k`."""
    inner = _summed(value)
    if inner is not None and len(terms := list(_summands(inner))) > 1:
        yield from terms
    elif isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.Sub)):
        yield from _summands(value.left)
        yield from _summands(value.right)
    elif isinstance(value, ast.UnaryOp):
        yield from _summands(value.operand)
    elif isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "sum" and value.args:
        elements = value.args[0].elts if isinstance(value.args[0], (ast.List, ast.Tuple)) else []
        for element in elements:
            yield from _summands(element)
    else:
        yield value


def _summed(value: ast.expr) -> ast.expr | None:
    """`a + b` of `(a + b).mean()`, of `torch.mean(a + b)` and of `(a + b) / 2`."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _REDUCES:
        of_torch = isinstance(value.func.value, ast.Name) and value.func.value.id == "torch"
        return value.args[0] if of_torch and value.args else value.func.value
    if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Mult, ast.Div)):
        sides = [_summed(side) or side for side in (value.left, value.right)]
        return next((side for side in sides if isinstance(side, ast.BinOp) and isinstance(side.op, _ADDS)), None)
    return None


def _factors(term: ast.expr) -> Iterator[ast.expr]:
    """What a summand is the product of, looking through methods that only reshape or reduce it."""
    if isinstance(term, ast.BinOp) and isinstance(term.op, (ast.Mult, ast.Div)):
        yield from _factors(term.left)
        yield from _factors(term.right)
    elif isinstance(term, ast.BinOp):
        yield from _factors(term.left)
        if isinstance(term.op, (ast.Add, ast.Sub)):
            yield from _factors(term.right)
    elif isinstance(term, ast.UnaryOp):
        yield from _factors(term.operand)
    elif isinstance(term, ast.Call) and isinstance(term.func, ast.Attribute) and term.func.attr in _CALCULATES:
        yield from _factors(term.func.value)
    else:
        yield term


def _named(term: ast.expr) -> ast.expr:
    """The part of a summand that is worth naming: `penalty` of `10 * penalty`."""
    named = [factor for factor in _factors(term) if not isinstance(factor, ast.Constant)]
    return named[-1] if named else term


def _as_name(factor: ast.expr) -> Name | None:
    return Name(ast.unparse(factor), factor) if isinstance(factor, (ast.Name, ast.Attribute, ast.Subscript)) else None


def _makes_a_number(statement: ast.stmt, returned: bool) -> bool:
    """`returned`: its value is what a function of the program's gave back; what that was given does not count."""
    nodes = list(_around_calls(statement) if returned else ast.walk(statement))
    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    calls = (node.func for node in nodes if isinstance(node, ast.Call))
    called = {function.id for function in calls if isinstance(function, ast.Name)}
    return bool((attributes | called) & _NUMBERS)


def _around_calls(node: ast.AST) -> Iterator[ast.AST]:
    """All of a statement but the arguments of its calls."""
    yield node
    for inner in (node.func,) if isinstance(node, ast.Call) else ast.iter_child_nodes(node):
        yield from _around_calls(inner)
