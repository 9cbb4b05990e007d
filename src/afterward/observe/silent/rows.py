"""Notes which passes go through single rows of a larger tensor: by shapes, and by what the source says.

Nothing of the program is run, and nothing of it is kept: a graph's inputs are noted by address and shape.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any, NamedTuple

from afterward.follow.path import Place
from afterward.follow.reading import parts_run, reads, targets
from afterward.model.history import Rows
from afterward.model.operations import FED, operation
from afterward.observe import compat
from afterward.observe.failure.walk import LOOK_NODES, Walk, storage_key, walk
from afterward.observe.node_numbers import order_of
from afterward.observe.recording.events import PassSeen
from afterward.observe.replay.ended_run import EndedRun
from afterward.observe.silent.touches import kind_of

_LOOPS = (ast.ListComp, ast.GeneratorExp)


class RowsSeen(NamedTuple):
    """What a look at a pass has shown: of which tensor, by the number it got, and which node takes which row."""

    seen: PassSeen
    tensor: int
    takers: dict[int, int]  # where the row lies -> the order of the node
    of: int
    nodes: int
    apart: bool


class RowNotes:
    """What the looks at passes have shown about rows."""

    def __init__(self) -> None:
        self.noted: list[RowsSeen] = []
        self._tensors: dict[tuple[Any, ...], int] = {}  # address and shape of a row -> a number

    def look(self, roots: Iterable[Any], seen: PassSeen) -> None:
        found = walk(roots, limit=LOOK_NODES)
        given = [
            (node, tensor) for node in found.nodes for tensor in _inputs(node) if compat.grad_fn_of(tensor) is None
        ]
        taken: dict[tuple[Any, ...], dict[int, Any]] = {}
        for node, tensor in given:
            (address, size), row = storage_key(tensor), tensor.numel() * tensor.element_size()
            if tensor.dim() > 1 and tensor.shape[0] == 1 and size > row > 0:
                key = (address, tuple(tensor.shape), size // row)
                taken.setdefault(key, {}).setdefault(int(tensor.storage_offset()), node)
        key = max(taken, key=lambda each: len(taken[each]), default=())
        takers = {offset: order_of(node) for offset, node in taken.get(key, {}).items()}
        if len(found.inputs) == len(found.nodes) and (len(takers) > 1 or len(takers) == len(given) == 1):
            number = self._tensors.setdefault(key, len(self._tensors))
            self.noted.append(RowsSeen(seen, number, takers, key[2], len(found.nodes), _are_apart(found)))

    def rows(self, after: EndedRun) -> dict[int, Rows]:
        """By the identity of the pass: the rows it went through, with the loop that took them one by one."""
        places = after.places_of({order for one in self.noted for order in one.takers.values()})
        found = {}
        for one in self.noted:
            mine = [places[order] for order in sorted(one.takers.values()) if order in places]
            loop = _loop_around(after, mine, one.seen) if len(mine) == len(one.takers) else None
            where = after.places.where(loop[0]) if loop is not None else None
            if loop is not None and where is not None:
                statement = after.places.sources.statement(loop[0].number)
                name = next((target.text for target in targets(statement)), "") if statement is not None else ""
                around = after.places.sources.site(after.places.table[loop[1]])
                at = frozenset(one.takers)
                found[id(one.seen)] = Rows(one.tensor, at, one.of, where.site, around, name, one.nodes, one.apart)
        return found


def _inputs(node: Any) -> list[Any]:
    """What a linear layer or a convolution was given; nothing for other operations."""
    name = FED.get(operation(node.name()))
    saved = compat.saved_states(node) if name is not None else ()
    return [tensor for kept, _, tensor in saved if kept == name and tensor is not None]


def _are_apart(found: Walk) -> bool:
    """Does no use of a parameter lead to another use of the same one, as where something goes from row to row?"""
    orders = [order_of(node) for node in found.nodes]
    leaves = [place for place, order in enumerate(orders) if order == compat.LEAF_ORDER]
    leaf_of = {place: 1 << number for number, place in enumerate(leaves)}  # a bit for each parameter
    below = [0] * len(orders)  # those that were used on the way to this node
    for place in sorted(set(range(len(orders))) - leaf_of.keys(), key=orders.__getitem__):
        inputs = [one for one, _ in found.inputs[place]]
        own = 0
        for one in inputs:
            below[place] |= below[one]
            own |= leaf_of.get(one, 0)
        if len(inputs) == 1 and own:
            leaf_of[place] = own  # a view of a parameter
        elif own & below[place]:
            return False
        else:
            below[place] |= own
    return True


def _loop_around(after: EndedRun, places: list[Place], seen: PassSeen) -> tuple[Place, int] | None:
    """The statement that takes the rows, and the number of the loop, or of the comprehension, that took one each."""
    if len(places) == 1:
        return _loop_of_passes(after, places[0], seen)
    for levels in zip(*(place.chain() for place in places), strict=False):
        first, moments = levels[0], {level.moment for level in levels}
        if any(level.call != first.call for level in levels):
            return None
        for number, entry, _ in first.iterations:
            ran = [one[2] for level in levels for one in level.iterations if one[:2] == (number, entry)]
            if len(ran) == len(set(ran)) == len(places):
                return first, number
        below = [place.chain()[len(first.chain()) :] for place in places]
        calls = {rest[0].call if rest else index for index, rest in enumerate(below)}
        inner = parts_run(after.places.sources.statement(first.number))
        if len(moments) == 1 and len(calls) == len(places) and any(isinstance(one, _LOOPS) for one in inner):
            return first, first.number
    return None


def _loop_of_passes(after: EndedRun, place: Place, seen: PassSeen) -> tuple[Place, int] | None:
    """The loop around a pass over one row, where an iteration calls no function of the program's own."""
    runs = [run.moment for run in after.passes if run.place is not None and run.place.number == seen.site]
    loop = after.places.sources.statement(place.iterations[-1][0]) if place.iterations else None
    if len(runs) < 2 or not isinstance(loop, ast.For) or _hands_on(loop):
        return None
    between = [one for one in after.trail if runs[0] <= one.moment < runs[1]]
    one_call = seen.place is not None and {one.call for one in between} == {place.call} == {seen.place.call}
    return (place, place.iterations[-1][0]) if one_call else None


def _hands_on(loop: ast.For) -> bool:
    """Is something handed from one iteration to the next, or are the gradients of single samples looked at?"""
    statements = [one for one in ast.walk(loop) if isinstance(one, ast.stmt) and one is not loop]
    known = {target.text for target in targets(loop)}
    given = {target.text for one in statements for target in targets(one)}
    for one in sorted(statements, key=lambda one: (one.lineno, one.col_offset)):
        plain = isinstance(one, ast.AugAssign) and ".item()" in ast.unparse(one.value)  # a running number
        if not plain and {name.text for name in reads(one)} & (given - known):
            return True
        known |= {target.text for target in targets(one)}
    words = {getattr(node, "attr", "") for one in statements for node in parts_run(one)}
    return bool({kind_of(one) for one in statements} - {None, "cleared"}) or any(
        word.startswith("clip_grad") for word in words
    )
