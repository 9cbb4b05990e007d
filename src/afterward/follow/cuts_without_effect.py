"""Finds a cut that did nothing: `hidden.detach()` or `repackage(hidden)` whose result nothing keeps."""

from __future__ import annotations

import ast
from dataclasses import replace

from afterward.follow.crossing import Trail
from afterward.follow.path import Place
from afterward.follow.reading import parts_run, targets
from afterward.model.history import Value
from afterward.model.names import stem


def with_lost_cut(value: Value, paths: Trail, trail: list[Place], since: int, until: int) -> Value:
    """The value, with the statement that ran between two moments and detached a copy of it for nothing."""
    seen: set[int] = set()
    for place in reversed(trail):
        if not since < place.moment < until or place.number in seen:
            continue
        seen.add(place.number)
        call = _drops_a_cut(paths, place)
        if call is not None and _is_about(paths, place, call, value.name):
            return replace(value, lost_cut=paths.sources.executed_at(place), lost_how=ast.unparse(call))
    return value


def _drops_a_cut(paths: Trail, place: Place) -> ast.Call | None:
    """The call that makes a cut copy, where the statement throws it away or gives it to a loop's own variable."""
    statement = paths.sources.statement(place.number)
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        return statement.value if _detaches(statement.value) or _called_detaches(paths, place) else None
    if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call) and _detaches(statement.value):
        return statement.value if _is_loop_variable(paths, place, statement) else None
    return None


def _detaches(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "detach" and not call.args


def _called_detaches(paths: Trail, place: Place) -> bool:
    """Does a function of the program's, called here, detach something? In place it would have had an effect."""
    for call in paths.children.get((place.call, place.moment), []):
        statements = [paths.sources.statement(inner.number) for inner in paths.by_call.get(call, [])]
        nodes = [node for one in statements for node in parts_run(one)]
        if any(isinstance(node, ast.Attribute) and node.attr in ("detach_", "data", "append") for node in nodes):
            return False
        kept = (target for one in statements if one is not None for target in targets(one) if not target.is_plain)
        if any(isinstance(node, ast.Call) and _detaches(node) for node in nodes) and not any(kept):
            return True
    return False


def _is_loop_variable(paths: Trail, place: Place, statement: ast.Assign) -> bool:
    """`for part in state: part = part.detach()` leaves the state as it is."""
    entry = paths.sources.entry(place.number)
    loop = next(iter(paths.sources.around(entry.file, statement)), None)
    return isinstance(loop, ast.For) and len(loop.body) == 1 and _names(loop.target) == _names(statement.targets[0])


def _is_about(paths: Trail, place: Place, call: ast.Call, name: str) -> bool:
    """Is it the value itself that is detached, or each of its parts in turn?"""
    parts: set[str] = set()
    statement = paths.sources.statement(place.number)
    entry = paths.sources.entry(place.number)
    for outer in paths.sources.around(entry.file, statement) if statement is not None else ():
        if isinstance(outer, ast.For) and stem(name) in _stems(outer.iter):
            parts |= _names(outer.target)
    return stem(name) in _stems(call) or bool(parts & _names(call))


def _stems(node: ast.AST) -> set[str]:
    kinds = (ast.Name, ast.Attribute, ast.Subscript)
    return {stem(ast.unparse(each)) for each in ast.walk(node) if isinstance(each, kinds)}


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
