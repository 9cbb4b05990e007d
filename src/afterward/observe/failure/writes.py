"""Finds the statement that wrote over a tensor the graph still needed, when it was no optimizer."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any

from afterward.follow.crossing import Trail
from afterward.follow.path import Place, Program
from afterward.follow.reading import Name, parts_run, reads, targets, whole
from afterward.model.clock import write_moment
from afterward.model.history import History, Node, NodeId, Write
from afterward.model.names import stem
from afterward.model.reuse import Reuse
from afterward.model.site import Where
from afterward.observe import compat
from afterward.observe.failure.hidden_writes import written_by_activation, written_by_owner
from afterward.observe.provenance.frame_values import NOT_THERE, value_of
from afterward.observe.provenance.leaves import saved_from
from afterward.observe.provenance.naming import Names, storage_pointer


@dataclass(frozen=True, slots=True)
class Spoilt:
    """A tensor that a node had saved and that was written over since; None where torch does not show it."""

    node: Node
    tensor: Any


def find_writes(
    paths: Trail,
    nodes: Sequence[Node],
    spoilt: Sequence[Spoilt],
    trail: Sequence[Place],
    frames: Sequence[FrameType],
    names: Names,
    where: Callable[[Place], Where | None],
) -> tuple[Write, ...]:
    """Statements that ran, are written as an in-place change, and whose target shares memory with a spoilt value.

    A target is looked up in the frames that are still alive, and among the names of living tensors in the same
    memory. One that can no longer be looked up counts where the statement that saved the value names it too, or
    (`sure` False) where it is the only in-place change since. A module may have made the write, out of sight.
    """
    if not spoilt:
        return ()
    sources = paths.sources
    culprit = max(spoilt, key=lambda one: one.node.order).node
    tensors = [one.tensor for one in spoilt if one.tensor is not None]
    storages = {pointer for tensor in tensors if (pointer := storage_pointer(tensor)) is not None}
    living = {name for pointer in storages for name in names.storages.get(pointer, ())}
    alive = {stem(name) for name in living} | {part for name in living for part in _parts_of(name)[:-1]}
    saved = _names_around(sources, culprit)
    sure: list[Write] = []
    loose: dict[int, list[Write]] = {}
    known: dict[int, list[ast.expr]] = {}
    for place in trail:
        if place.number not in known:
            known[place.number] = _written_at(paths, place)
        for target in known[place.number]:
            write = _write(place, target, where, culprit)
            if write is None:
                continue
            values = [] if _rebound(paths, place, target) else list(_look_up(target, frames))
            text = ast.unparse(target)
            same = any(storage_pointer(value) in storages for value in values)
            if same or (not values and _alias(paths, place, target, alive)):
                sure.append(write)
            elif (place.call, text) in saved:  # by its name alone: not where a step has changed what was saved
                sure.append(replace(write, sure=False))
            elif not values:
                loose.setdefault(id(target), []).append(replace(write, sure=False))
    hidden = None
    if not sure:
        hidden = written_by_activation(sources, nodes, culprit)
        hidden = hidden or written_by_owner(sources, trail, where, culprit, storages, names)
    if hidden is not None:
        return (hidden,)
    if not sure and len(loose) == 1:
        return tuple(next(iter(loose.values())))
    return tuple(sure)


def with_rewritten(history: History, reuse: Reuse, paths: Trail, trail: Sequence[Place]) -> History:
    """The history, with what statements have written to in place of the values that the freed part had saved.

    Freed, these are not there to be compared: a value is known by the statement that gave the written name its value.
    """
    since = reuse.early.where.moment if reuse.early is not None and reuse.early.where is not None else None
    if since is None:
        return history
    made: dict[tuple[int, int], NodeId] = {}  # the newest node of each execution of a statement: its value
    for number in sorted(reuse.stale, key=lambda one: history.node(one).order):
        where = history.node(number).where
        made.update({(level.call, level.moment): number for level in (where.levels if where is not None else ())})
    names: dict[NodeId | None, str] = {}
    known: dict[int, list[Name]] = {}
    for place in trail:
        if place.moment <= since:
            continue
        if place.number not in known:
            known[place.number] = [Name(ast.unparse(one), one) for one in _written_at(paths, place)]
        for name in known[place.number]:
            giver = paths.assigned_before(name, place)
            # `state["h"] = x` writes to no value where `state` got its items one by one: it is a container.
            if giver is not None and (giver.call, giver.moment) in made and paths.gives(giver, name):
                names[made[giver.call, giver.moment]] = name.text
    if not names:
        return history
    return replace(history, nodes=tuple(_rewritten(node, names) for node in history.nodes))


def _rewritten(node: Node, names: dict[NodeId | None, str]) -> Node:
    """The node, each saved value of it with the name by which it was written to."""
    known = [names.get(node.id if s.name == "result" else saved_from(node, s.name), "") for s in node.saved]
    if not any(known):
        return node
    return replace(node, saved=tuple(replace(s, rewritten=n) for s, n in zip(node.saved, known, strict=True)))


def _parts_of(name: str) -> list[str]:
    return [part for part in name.replace("]", "").replace("[", ".").split(".") if part.isidentifier()]


def _alias(paths: Trail, place: Place, target: ast.expr, alive: set[str]) -> bool:
    """Does a name, or what it was assigned from, mean something that lives in the spoilt memory?"""
    name = Name(ast.unparse(target), target)
    if not name.is_plain:
        return stem(name.text) in alive
    giver = paths.assigned_before(name, place)
    return giver is not None and any(not n.is_plain and stem(n.text) in alive for n in paths.reads(giver))


def _names_around(sources: Program, node: Node) -> set[tuple[int, str]]:
    """The plain names in the statements that made a node, each with the call it belongs to."""
    found: set[tuple[int, str]] = set()
    for level in node.where.levels if node.where is not None else ():
        statement = sources.statement_at(level.site.file, level.site.line, level.site.column)
        for name in [*targets(statement), *reads(statement)] if statement is not None else ():
            if name.is_plain:
                found.add((level.call, name.text))
    return found


def _write(place: Place, target: ast.expr, where: Callable[[Place], Where | None], culprit: Node) -> Write | None:
    """The write as part of the history, if it came after the node, or in the very statement that made it."""
    made = culprit.where.levels if culprit.where is not None else ()
    itself = any(level.call == place.call and level.moment == place.moment for level in made[-1:])
    if place.order_at <= culprit.order and not itself:
        return None
    spot = where(place)
    after = max(place.order_at, culprit.order + 1)
    return Write(spot, write_moment(after, place.moment), ast.unparse(target)) if spot is not None else None


def _written_at(paths: Trail, place: Place) -> list[ast.expr]:
    """What the statement of a place changes in place. Asked once of each statement: it runs thousands of times."""
    statement = paths.sources.statement(place.number)
    return _written(statement, _values_at(paths, place)) if statement is not None else []


def _written(statement: ast.stmt, is_value: Callable[[ast.expr], bool]) -> list[ast.expr]:
    """What a statement changes in place: `x += 1`, `x[i] = y`, `x.clamp_(...)`, `x.data = ...`, `out=x`."""
    found: list[ast.expr] = []
    if isinstance(statement, ast.AugAssign):
        found.append(whole(statement.target))
    if isinstance(statement, ast.Assign):
        found += [whole(t) for t in statement.targets if isinstance(t, ast.Subscript)]
    for node in parts_run(statement):
        if isinstance(node, ast.Call):
            function = node.func
            if isinstance(function, ast.Attribute) and function.attr == "load_state_dict":
                found.append(function.value)
            if isinstance(function, ast.Attribute) and function.attr.endswith("_") and not function.attr.endswith("__"):
                # `y.mul_(w)` writes to `y`, `nn.init.zeros_(w)` to `w`: what no statement assigned is no value.
                # What a call gave back is one: `y.mul_(a).add_(w)` does not write to `w`.
                owner = function.value
                inner = [owner] if isinstance(owner, ast.Call) or is_value(owner) else [owner, *node.args[:1]]
                found += [
                    whole(value) for value in inner if isinstance(value, (ast.Name, ast.Attribute, ast.Subscript))
                ]
            found += [whole(k.value) for k in node.keywords if k.arg == "out"]
            if any(k.arg == "inplace" and isinstance(k.value, ast.Constant) and k.value.value for k in node.keywords):
                found += [whole(a) for a in node.args[:1]]
    return found


def _values_at(paths: Trail, place: Place) -> Callable[[ast.expr], bool]:
    """Says of an expression whether a statement before this place, or the call around it, gave it its value."""

    def is_value(expression: ast.expr) -> bool:
        name = Name(ast.unparse(expression), expression)
        return paths.assigned_before(name, place) is not None or name.text in paths.parameters(place)

    return is_value


def _look_up(target: ast.expr, frames: Sequence[FrameType]) -> Iterator[Any]:
    """The tensors behind a name or attribute chain in the living frames, without running the program's code."""
    torch = compat.torch_module()
    first = target
    while isinstance(first, ast.Attribute):
        first = first.value
    known = (frame for frame in frames if isinstance(first, ast.Name) and value_of(first, frame) is not NOT_THERE)
    value = next((value_of(target, frame) for frame in known), None)
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, torch.nn.Module):
        yield from value.parameters()


def _rebound(paths: Trail, place: Place, target: ast.expr) -> bool:
    """Has the name been given something else since, as a loop's variable in each iteration? Then it says nothing."""
    while isinstance(target, ast.Attribute):
        target = target.value
    if not isinstance(target, ast.Name):
        return False
    later = paths.plain.get((place.call, target.id), [])
    return bool(later) and later[-1].moment > place.moment
