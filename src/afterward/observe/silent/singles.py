"""Finds loops that hand one sample after the other to layers that take a batch: by shapes, and by what the source says.

The samples must be rows of one tensor, so that the batch was there, and no iteration may depend on another. Nothing of
the program is run, and nothing of it is kept: a graph's inputs are noted by address and shape.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from afterward.follow.path import Place
from afterward.follow.reading import head, reads, targets
from afterward.model.history import Singles
from afterward.observe import compat
from afterward.observe.failure.walk import LOOK_NODES, Walk, storage_key, walk
from afterward.observe.node_numbers import order_of
from afterward.observe.recording.events import PassSeen
from afterward.observe.replay.ended_run import EndedRun
from afterward.observe.silent.touches import kind_of

TIMES = 16  # rows handed over one by one
LOOKS = 4  # passes over one row each, before the source of their loop is read
_VIEWS = ("TBackward", "TransposeBackward", "PermuteBackward", "ViewBackward", "UnsqueezeBackward")
_INPUT = {"AddmmBackward0": "mat1", "MmBackward0": "self", "ConvolutionBackward0": "input"}


@dataclass(slots=True)
class OneByOne:
    """A pass whose graph holds many applications of a layer to single rows of one tensor."""

    seen: PassSeen
    orders: tuple[int, ...]
    nodes: int


@dataclass(slots=True)
class OneEach:
    """A call site whose passes each go through one row of the same tensor."""

    seen: PassSeen
    order: int  # of the node that takes the row
    nodes: int
    storage: tuple[int, tuple[int, ...]]  # where the tensor lies, and the shape of a row
    rows: set[int] = field(default_factory=set)  # where in it


class SingleRows:
    """What the looks at passes have shown about rows."""

    def __init__(self) -> None:
        self.one_by_one: list[OneByOne] = []
        self.one_each: dict[int, OneEach | None] = {}  # by site; None: some pass was different

    def look(self, roots: Iterable[Any], seen: PassSeen, *, closely: bool) -> None:
        found = walk(roots, limit=LOOK_NODES)
        if len(found.inputs) < len(found.nodes):
            return
        if closely and len(found.nodes) >= 2 * TIMES:
            one = _taken_apart(found, seen)
            self.one_by_one += [one] if one is not None else []
        known, now = self.one_each.get(seen.site), _one_row(found, seen)
        if seen.site in self.one_each and (known is None or now is None or _differ(known, now)):
            self.one_each[seen.site] = None
        elif known is not None and now is not None:
            known.rows |= now.rows
        else:
            self.one_each[seen.site] = now


def _differ(known: OneEach, now: OneEach) -> bool:
    return known.storage != now.storage or known.nodes != now.nodes or bool(known.rows & now.rows)


def _taken_apart(found: Walk, seen: PassSeen) -> OneByOne | None:
    """Is the graph of a pass a batch taken apart?"""
    applied = _applications(found)
    single = [places for places in applied.values() if len(places) >= TIMES and _rows(found, places) == {1}]
    first = next((places for places in single if _of_one_tensor(found, places)), None)
    if first is None or not _independent(found, applied):
        return None
    return OneByOne(seen, tuple(sorted(order_of(found.nodes[place]) for place in first)), len(found.nodes))


def _one_row(found: Walk, seen: PassSeen) -> OneEach | None:
    """Does a graph go through one row of a larger tensor, and through nothing else that comes from outside?"""
    plain = [(node, given) for node in found.nodes if (given := _input(node)) is not None and _is_plain(given)]
    if len(plain) != 1 or plain[0][1].dim() < 2 or plain[0][1].shape[0] != 1:
        return None
    node, given = plain[0]
    address, size = storage_key(given)
    if size < TIMES * given.numel() * given.element_size():
        return None
    row = (address, tuple(given.shape))
    return OneEach(seen, order_of(node), len(found.nodes), row, {int(given.storage_offset())})


def _is_plain(tensor: Any) -> bool:
    return compat.grad_fn_of(tensor) is None


def _applications(found: Walk) -> dict[int, list[int]]:
    """By leaf: the nodes that take it, itself or through a view of it."""
    leaf_of: dict[int, int] = {}
    for place, node in enumerate(found.nodes):
        if order_of(node) == compat.LEAF_ORDER:
            leaf_of[place] = id(getattr(node, "variable", None))
    for place, node in enumerate(found.nodes):
        inputs = found.inputs[place]
        if node.name().startswith(_VIEWS) and len(inputs) == 1 and inputs[0][0] in leaf_of:
            leaf_of[place] = leaf_of[inputs[0][0]]
    applied: dict[int, list[int]] = {}
    for place, inputs in enumerate(found.inputs):
        if place not in leaf_of:
            for leaf in {leaf_of[one] for one, _ in inputs if one in leaf_of}:
                applied.setdefault(leaf, []).append(place)
    return applied


def _input(node: Any) -> Any:
    """What a linear layer or a convolution was given; None for other operations."""
    name = _INPUT.get(node.name())
    saved = ((kept, tensor) for kept, _, tensor in compat.saved_states(node)) if name is not None else ()
    return next((tensor for kept, tensor in saved if kept == name), None)


def _rows(found: Walk, places: list[int]) -> set[int]:
    inputs = [_input(found.nodes[place]) for place in places]
    return {0} if any(one is None or one.dim() < 2 for one in inputs) else {int(one.shape[0]) for one in inputs}


def _of_one_tensor(found: Walk, places: list[int]) -> bool:
    """Are the inputs different parts of one tensor that has no history?"""
    inputs = [_input(found.nodes[place]) for place in places]
    storages = {storage_key(one)[0] for one in inputs}
    offsets = {int(one.storage_offset()) for one in inputs}
    return all(map(_is_plain, inputs)) and len(storages) == 1 and len(offsets) == len(inputs)


def _independent(found: Walk, applied: dict[int, list[int]]) -> bool:
    """No use of a parameter leads to another use of the same one: nothing is handed from iteration to iteration."""
    users: dict[int, list[int]] = {}
    for number, places in enumerate(applied.values()):
        for place in places:
            users.setdefault(place, []).append(number)
    orders = [order_of(node) for node in found.nodes]
    oldest_first = sorted(range(len(orders)), key=lambda place: (orders[place] != compat.LEAF_ORDER, orders[place]))
    below = [0] * len(orders)  # a bit for each parameter that was used on the way to this node
    for place in oldest_first:
        for one, _ in found.inputs[place]:
            below[place] |= below[one]
        for number in users.get(place, ()):
            if below[place] >> number & 1:
                return False
            below[place] |= 1 << number
    return True


# Once the run is over


def find_singles(after: EndedRun, seen: SingleRows) -> Iterator[Singles]:
    """The loops of the program that took a batch apart, each once."""
    told: set[int] = set()
    for one in seen.one_by_one:
        places = _places(after, one.orders)
        loop = _loop_around(after, places) if len(places) == len(one.orders) else None
        if loop is not None and loop[0].number not in told:
            told.add(loop[0].number)
            yield from _single(after, one.seen, *loop, len(one.orders), one.nodes, "pass")
    for each in seen.one_each.values():
        if each is not None and len(each.rows) >= LOOKS:
            yield from _each_iteration(after, each)


def _single(
    after: EndedRun, seen: PassSeen, place: Place, loop: int, times: int, nodes: int, kind: str
) -> Iterator[Singles]:
    spot, where = after.places.where(place), after.places.where(seen.place)
    if spot is not None and where is not None:
        around = after.places.sources.site(after.places.table[loop])
        statement = after.places.sources.statement(place.number)
        given = targets(statement) if statement is not None else []
        yield Singles(spot.site, around, times, nodes, where.dated_site, kind, given[0].text if given else "")


def _each_iteration(after: EndedRun, each: OneEach) -> Iterator[Singles]:
    """A loop, entered again and again: each iteration trains on one row and needs nothing of the one before."""
    runs = [run for run in after.passes if run.place and run.place.number == each.seen.site and run.place.iterations]
    built = _places(after, (each.order,))
    if len(runs) < TIMES or not built or built[0].call != runs[0].place.call:  # type: ignore[union-attr]
        return
    last = [run.place.iterations[-1] for run in runs if run.place is not None]
    loops, entries, times = (
        {iteration[0] for iteration in last},
        {iteration[1] for iteration in last},
        max(iteration[2] for iteration in last),
    )
    statement = after.places.sources.statement(last[0][0])
    if len(loops) > 1 or len(entries) < 2 or times < TIMES or not isinstance(statement, ast.For):
        return
    first, then = runs[0].moment, runs[1].moment
    between = [place for place in after.trail if first <= place.moment < then]
    if len(runs) < len([run for run in after.passes if run.moment >= first]) or _hangs_together(between, statement):
        return
    steps = sum(first <= step.moment < then for step in after.steps)
    if steps <= 1 and all(place.call == built[0].call for place in between):
        yield from _single(after, each.seen, built[0], last[0][0], times, each.nodes, "step" if steps else "sum")


def _hangs_together(between: list[Place], loop: ast.For) -> bool:
    """Is something handed from one iteration to the next, or are the gradients of single samples looked at?"""
    statements = [one for one in ast.walk(loop) if isinstance(one, ast.stmt) and one is not loop]
    known = {target.text for target in targets(loop)}
    given = {target.text for one in statements for target in targets(one)}
    for one in sorted(statements, key=lambda one: (one.lineno, one.col_offset)):
        plain = isinstance(one, ast.AugAssign) and ".item()" in ast.unparse(one.value)  # a running number
        if not plain and {name.text for name in reads(one)} & (given - known):
            return True
        known |= {target.text for target in targets(one)}
    kinds = {kind_of(one) for one in statements}
    words = {getattr(node, "attr", "") for one in statements for part in head(one) for node in ast.walk(part)}
    return not between or bool(kinds - {None, "cleared"}) or any(word.startswith("clip_grad") for word in words)


def _places(after: EndedRun, orders: tuple[int, ...]) -> list[Place]:
    recorder = after.recorder
    marks = recorder.marks[:]
    if not marks:
        return []
    marks.append(marks[-1])
    answers: dict[int, Place] = {}
    recorder.replay.copy().feed(marks, recorder.base, answers=answers, wanted=orders)
    return [answers[order] for order in orders if order in answers]


def _loop_around(after: EndedRun, places: list[Place]) -> tuple[Place, int] | None:
    """The statement in whose loop the applications lie, one or more an iteration, and the number of the loop's own."""
    for levels in zip(*(place.chain() for place in places), strict=False):
        first = levels[0]
        if any(level.call != first.call for level in levels):
            return None
        entries = {iteration[:2] for iteration in first.iterations}
        for level in levels:
            entries &= {iteration[:2] for iteration in level.iterations}
        for number, entry in entries:
            iterations = {t[2] for level in levels for t in level.iterations if t[:2] == (number, entry)}
            if len(iterations) == len(places):
                return first, number
        statement = after.places.sources.statement(first.number)
        if len({level.moment for level in levels}) == 1 and _part_below(levels, places) and _comprehends(statement):
            return first, first.number
    return None


def _part_below(levels: tuple[Place, ...], places: list[Place]) -> bool:
    """Do the ways part below this level?"""
    below = [place.chain()[len(levels[0].chain()) :] for place in places]
    return len({rest[0].call if rest else index for index, rest in enumerate(below)}) == len(places)


def _comprehends(statement: ast.stmt | None) -> bool:
    parts = head(statement) if statement is not None else ()
    return any(isinstance(node, ast.ListComp | ast.GeneratorExp) for part in parts for node in ast.walk(part))
