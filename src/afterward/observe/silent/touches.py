"""Reads, in the statements that ran, what the program itself does to gradients: clear, replace, read, use them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from afterward.follow.path import Place, Program
from afterward.follow.reading import parts_run
from afterward.model.gradients import CLEARED, READ, REPLACED, USED
from afterward.model.names import stem
from afterward.model.site import Where
from afterward.observe.replay.ended_run import EndedRun
from afterward.observe.silent.ledger import Touch

_NORMS = ("clip_grad_norm_", "get_total_norm", "clip_grads_with_norm_")  # they give back how large gradients were


def touches_of(trail: Sequence[Place], sources: Program, whereabouts: Callable[[Place], Where | None]) -> list[Touch]:
    """Every statement of the trail that speaks of gradients, in order."""
    kinds: dict[int, str | None] = {}
    found = []
    taken = _taken_from_gradients(trail, sources)
    for place in trail:
        if place.number not in kinds:
            statement = sources.statement(place.number)
            kinds[place.number] = kind_of(statement) if statement is not None else None
            if statement is not None and _writes_with(statement, taken.get(_function(sources, place.number), {})):
                kinds[place.number] = USED
        kind = kinds[place.number]
        if kind is not None:
            where = whereabouts(place)
            found.append(Touch(place.moment, kind, where.dated_site if where is not None else None))
    return found


@lru_cache(maxsize=8192)
def kind_of(statement: ast.stmt) -> str | None:
    """What a statement (of a compound one, its head) does to gradients; None where it does not speak of them."""
    parts = parts_run(statement)
    if any(map(_clears, parts)):
        return CLEARED
    if any(
        isinstance(node, ast.Attribute) and _is_gradient(node) and isinstance(node.ctx, ast.Store) for node in parts
    ):
        return REPLACED
    if not any(_is_gradient(node) for node in parts):
        return READ if _asks_for_norm(statement, parts) else None
    return USED if _writes_with_it(statement, parts) else READ


def _is_gradient(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "grad" and not _is_module(node.value)


def _is_module(node: ast.expr) -> bool:
    """`torch.autograd.grad` and `torch.func.grad` are functions."""
    return isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node).rsplit(".", 1)[-1] in ("autograd", "func")


def _clears(node: ast.AST) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        owner = ast.unparse(node.func.value) if node.func.attr == "zero_" else ""
        return node.func.attr == "zero_grad" or "grad" in owner
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and node.value.value is None:
        return any(isinstance(target, ast.Attribute) and target.attr == "grad" for target in node.targets)
    return isinstance(node, ast.Delete) and any(_is_gradient(target) for target in node.targets)


def _asks_for_norm(statement: ast.stmt, parts: list[ast.AST]) -> bool:
    """Is a norm of gradients computed and kept, as `norm = clip_grad_norm_(...)` does?"""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        parts = [node for argument in statement.value.args for node in ast.walk(argument)]
    calls = (node.func for node in parts if isinstance(node, ast.Call))
    return any(getattr(call, "attr", getattr(call, "id", "")) in _NORMS for call in calls)


def _writes_with_it(statement: ast.stmt, parts: list[ast.AST]) -> bool:
    """Is a tensor changed by an expression that reads its own gradient: `p -= lr * p.grad`?"""
    owners = {_tensor(node.value) for node in parts if isinstance(node, ast.Attribute) and _is_gradient(node)}
    return any(_tensor(target) in owners for target in _written(statement, parts))


def _written(statement: ast.stmt, parts: list[ast.AST]) -> Iterator[ast.expr]:
    """What a statement writes to: what it assigns, and what it calls an in-place method of."""
    if isinstance(statement, ast.AugAssign):
        yield statement.target
    elif isinstance(statement, ast.Assign):
        yield from statement.targets
    for called in (node.func for node in parts if isinstance(node, ast.Call)):
        if isinstance(called, ast.Attribute) and called.attr.endswith("_") and not called.attr.endswith("__"):
            yield called.value


def _taken_from_gradients(trail: Sequence[Place], sources: Program) -> dict[tuple[str, str], dict[str, set[str]]]:
    """By function: what it computes from gradients, as it is written, and the tensors whose gradients those are."""
    found: dict[tuple[str, str], dict[str, set[str]]] = {}
    for number in {place.number for place in trail}:
        statement = sources.statement(number)
        if statement is None or kind_of(statement) != READ:
            continue
        parts = parts_run(statement)
        owners = {_tensor(node.value) for node in parts if _is_gradient(node)}  # type: ignore[attr-defined]
        scope = found.setdefault(_function(sources, number), {})
        for target in _written(statement, parts) if owners else ():
            scope.setdefault(_tensor(_written_to(target)), set()).update(owners)
    return found


def _function(sources: Program, number: int) -> tuple[str, str]:
    entry = sources.entry(number)
    return entry.file, entry.function


def _written_to(target: ast.expr) -> ast.expr:
    """`velocity` of `velocity.mul_(0.9)`, which gives back what it has written to."""
    while isinstance(target, ast.Call) and isinstance(target.func, ast.Attribute) and target.func.attr.endswith("_"):
        target = target.func.value
    return target


def _writes_with(statement: ast.stmt, taken: dict[str, set[str]]) -> bool:
    """Is a tensor changed with what was computed from its own gradient before: `e = p.grad * scale`, `p.add_(e)`?"""
    parts = parts_run(statement) if taken else []
    places = (node for node in parts if isinstance(node, ast.Name | ast.Attribute | ast.Subscript))
    read = {_tensor(node) for node in places if isinstance(node.ctx, ast.Load)}
    owners = {owner for name in read & taken.keys() for owner in taken[name]}
    return bool(owners) and any(_tensor(target) in owners for target in _written(statement, parts))


def _tensor(node: ast.expr) -> str:
    """`p` of `p` and of `p.data`."""
    return ast.unparse(node).removesuffix(".data")


def steps_not_run(after: EndedRun) -> frozenset[str]:
    """The last names of what the program has a `.step()` call for in a statement that was never executed."""
    found: set[str] = set()
    table = after.places.table
    for number in range(len(table)):
        if number in after.places.executed:
            continue
        for node in parts_run(after.places.sources.statement(number)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "step":
                owners = [node.func.value, *node.args]
                found |= {stem(ast.unparse(owner)) for owner in owners}
    return frozenset(found)
