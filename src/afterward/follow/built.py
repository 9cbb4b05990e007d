"""Writes down which nodes each execution of a statement built, along a path that ran or that was interpreted."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from afterward.follow.modes import Modes
from afterward.follow.nodes import FUNCTIONS, LOOPS, blocks
from afterward.follow.path import Place, Program
from afterward.follow.reading import is_cut_off, names_read, statements_in, targets
from afterward.model.built import Execution, Statement


def statements_built(
    program: Program,
    pairs: Iterable[tuple[Place, Place]],
    clock: Callable[[Place], int],
    is_lost: Callable[[int, int], bool] = lambda first, end: False,
) -> tuple[Statement, ...]:
    """The statements that built nodes. `pairs`: each execution, and where the call that it belongs to went on."""
    found: dict[int, list[tuple[Place, Execution]]] = {}
    pairs = list(pairs)
    modes = Modes(program, (place for place, _ in pairs))
    for place, after in pairs:
        if after.order_at > place.order_at:
            made = Execution(
                clock(place),
                clock(after),
                place.call,
                place.order_at,
                after.order_at,
                tuple([one[1:] for one in place.iterations if one[2] > 0]),
                is_lost(place.order_at, after.order_at),
                modes.evaluates(place),
            )
            found.setdefault(place.number, []).append((place, made))
    return tuple(_statement(program, number, found[number]) for number in sorted(found))


def _statement(program: Program, number: int, executions: list[tuple[Place, Execution]]) -> Statement:
    statement = program.statement(number)
    site = program.executed_at(executions[-1][0])
    made = tuple(sorted((one for _, one in executions), key=lambda one: one.moment))
    if statement is None:
        return Statement(site, made)
    around = list(program.around(program.entry(number).file, statement))
    return Statement(
        site,
        made,
        _given(statement, around),
        _is_unread(program, number, statement, around),
        is_cut_off(getattr(statement, "value", None)),
        _is_chosen(around),
    )


def _given(statement: ast.stmt, around: list[ast.stmt]) -> tuple[str, ...]:
    """What a statement gives its value to, itself or by plain assignments that follow: `loss = out.loss`."""
    names = [name.text for name in targets(statement)]
    block = next((one for one in blocks(around[0]) if statement in one), []) if around else []
    for later in block[block.index(statement) + 1 :] if block else ():
        value = getattr(later, "value", None)
        while isinstance(value, (ast.Attribute, ast.Subscript)) and not is_cut_off(value):
            value = value.value
        if isinstance(later, ast.Assign) and isinstance(value, ast.Name) and value.id in names:
            names += [name.text for name in targets(later)]
    return tuple(names)


def _is_chosen(around: list[ast.stmt]) -> bool:
    """Does a test between a statement and its loop, or one that ends the loop, decide which value is taken?"""
    for outer in around:
        if isinstance(outer, (ast.If, ast.Match)):
            return True
        if isinstance(outer, LOOPS):
            return _breaks(outer)
    return False


def _breaks(holder: ast.stmt) -> bool:
    for inner in statements_in(holder):
        if isinstance(inner, ast.Break):
            return True
        if not isinstance(inner, (*LOOPS, *FUNCTIONS, ast.ClassDef)) and _breaks(inner):
            return True
    return False


def _is_unread(program: Program, number: int, statement: ast.stmt, around: list[ast.stmt]) -> bool:
    """Does a statement give its value to names alone, that nothing reads?"""
    if not isinstance(statement, ast.Assign):
        return False
    given = [part for target in statement.targets for part in getattr(target, "elts", [target])]
    names = [part.id for part in given if isinstance(part, ast.Name)]
    if len(names) < len(given) or any(name.startswith("_") for name in names):
        return False
    function = around[-1] if around and isinstance(around[-1], FUNCTIONS) else None
    read = names_read(function) if function is not None else program.names_read(program.entry(number).file)
    return read is not None and read.isdisjoint(names)
