"""Finds loops that hand one sample after the other to layers that take a batch, and measures what a batch would save.

The samples must be rows of one tensor, so that the batch was there, and no turn may depend on another.
"""

from __future__ import annotations

import ast
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from afterward.model.history import Measured, Singles
from afterward.observe import compat
from afterward.observe.failure.walk import LOOK_NODES, Walk, storage_key, walk
from afterward.observe.provenance.sources import head
from afterward.observe.recording.events import PassSeen
from afterward.observe.replay.ended_run import Aftermath
from afterward.observe.replay.replay import Place

TIMES = 16  # rows handed over one by one, in one pass
MOST = 256  # rows that the measurement is made with
ROUNDS = 40
CLEAR = 1.2
SPARE = 2.0  # seconds that measuring may take
_VIEWS = ("TBackward", "TransposeBackward", "PermuteBackward", "ViewBackward", "UnsqueezeBackward")


@dataclass(frozen=True, slots=True)
class Layer:
    """The work of one layer on one sample, by its shapes: no tensor of the program's."""

    row: tuple[int, ...]
    weight: tuple[int, ...]
    dtype: Any
    device: str
    how: tuple[Any, ...] | None = None  # stride, padding, dilation, transposed, output padding and groups


@dataclass(slots=True)
class OneByOne:
    """A pass whose graph holds many applications of a layer to single rows of one tensor."""

    seen: PassSeen
    orders: tuple[int, ...]
    layers: tuple[Layer, ...]
    nodes: int


def one_by_one(roots: Iterable[Any], seen: PassSeen) -> OneByOne | None:
    """Look whether the graph of a pass is a batch taken apart."""
    found = walk(roots, limit=LOOK_NODES)
    if len(found.inputs) < len(found.nodes) or len(found.nodes) < 2 * TIMES:
        return None
    applied = _applications(found)
    single = {leaf: places for leaf, places in applied.items() if len(places) >= TIMES and _rows(found, places) == {1}}
    first = next((places for places in single.values() if _of_one_tensor(found, places)), None)
    if first is None or not _independent(found, applied):
        return None
    one_each = {places[0] for places in single.values() if len(places) == len(first)}  # weight and bias of one layer
    layers = [_layer(found.nodes[place]) for place in sorted(one_each)]
    orders = tuple(sorted(compat.order_of(found.nodes[place]) for place in first))
    return OneByOne(seen, orders, tuple(layer for layer in layers if layer is not None), len(found.nodes))


def _applications(found: Walk) -> dict[int, list[int]]:
    """By leaf: the nodes that take it, itself or through a view of it."""
    leaf_of: dict[int, int] = {}
    for place, node in enumerate(found.nodes):
        if compat.order_of(node) == compat.LEAF_ORDER:
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
    name = {"AddmmBackward0": "mat1", "MmBackward0": "self", "ConvolutionBackward0": "input"}.get(node.name())
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
    plain = all(compat.grad_fn_of(one) is None for one in inputs)
    return plain and len(storages) == 1 and len(offsets) == len(inputs)


def _independent(found: Walk, applied: dict[int, list[int]]) -> bool:
    """No use of a parameter leads to another use of the same one: nothing is handed from turn to turn."""
    users: dict[int, list[int]] = {}
    for number, places in enumerate(applied.values()):
        for place in places:
            users.setdefault(place, []).append(number)
    orders = [compat.order_of(node) for node in found.nodes]
    oldest_first = sorted(range(len(orders)), key=lambda place: (orders[place] != compat.LEAF_ORDER, orders[place]))
    behind = [0] * len(orders)  # a bit for each parameter that was used behind this node
    for place in oldest_first:
        for one, _ in found.inputs[place]:
            behind[place] |= behind[one]
        for number in users.get(place, ()):
            if behind[place] >> number & 1:
                return False
            behind[place] |= 1 << number
    return True


def _layer(node: Any) -> Layer | None:
    given = _input(node)
    if given is None:
        return None
    row, device = tuple(given.shape), str(given.device)
    if node.name() == "ConvolutionBackward0":
        names = ("stride", "padding", "dilation", "transposed", "output_padding", "groups")
        weight = next((tensor for name, _, tensor in compat.saved_states(node) if name == "weight"), None)
        how = tuple(getattr(node, f"_saved_{name}") for name in names)
        return Layer(row, tuple(weight.shape), given.dtype, device, how) if weight is not None else None
    made = compat.output_shape(node, 0)
    return Layer(row, (row[-1], made[-1]), given.dtype, device) if made else None


# The end of the run


def find_singles(after: Aftermath, seen: list[OneByOne]) -> Iterator[Singles]:
    """The loops of the program that took a batch apart, each once, with what a batch would save."""
    told: set[int] = set()
    for one in seen:
        places = _places(after, one.orders)
        where = after.places.where(one.seen.place)
        loop = _loop_around(after, places) if len(places) == len(one.orders) else None
        if loop is None or where is None or loop[0].number in told:
            continue
        place, head_number = loop
        told.add(place.number)
        spot = after.places.where(place)
        if spot is not None:
            level = after.places.sources.site(after.places.table[head_number])
            swept = where.site_at(where.innermost_turn)
            yield Singles(spot.site, level, len(one.orders), one.nodes, swept, _measure(one))


def _places(after: Aftermath, orders: tuple[int, ...]) -> list[Place]:
    recorder = after.recorder
    marks = recorder.marks[:]
    if not marks:
        return []
    marks.append(marks[-1])
    answers: dict[int, Place] = {}
    recorder.replay.copy().feed(marks, recorder.base, answers=answers, wanted=orders)
    return [answers[order] for order in orders if order in answers]


def _loop_around(after: Aftermath, places: list[Place]) -> tuple[Place, int] | None:
    """The statement in whose loop the applications lie, one or more a turn, and the number of the loop's own."""
    for levels in zip(*(place.chain() for place in places), strict=False):
        first = levels[0]
        if any(level.call != first.call for level in levels):
            return None
        entries = {turn[:2] for turn in first.turns}
        for level in levels:
            entries &= {turn[:2] for turn in level.turns}
        for number, entry in entries:
            turns = {t[2] for level in levels for t in level.turns if t[:2] == (number, entry)}
            if len(turns) == len(places):
                return first, number
        moments = {level.moment for level in levels}
        statement = after.places.sources.statement(first.number)
        if len(moments) == 1 and statement is not None and _part_below(levels, places) and _comprehends(statement):
            return first, first.number
    return None


def _part_below(levels: tuple[Place, ...], places: list[Place]) -> bool:
    """Do the ways part below this level?"""
    below = [place.chain()[len(levels[0].chain()) :] for place in places]
    return len({rest[0].call if rest else index for index, rest in enumerate(below)}) == len(places)


def _comprehends(statement: ast.stmt) -> bool:
    kinds = (ast.ListComp, ast.GeneratorExp)
    return any(isinstance(node, kinds) for part in head(statement) for node in ast.walk(part))


def _measure(one: OneByOne) -> Measured | None:
    """Do the layers' work on ones of the same shapes, row by row and in one go. Nothing of the program is touched."""
    torch = compat.torch_module()
    rows = min(len(one.orders), MOST)
    single = together = 0.0
    deadline = time.perf_counter() + SPARE
    try:
        with torch.no_grad():
            for layer in one.layers:
                weight = torch.ones(layer.weight, dtype=layer.dtype, device=layer.device)
                row = torch.ones(layer.row, dtype=layer.dtype, device=layer.device)
                batch = torch.ones((rows, *layer.row[1:]), dtype=layer.dtype, device=layer.device)
                single += _time(torch, layer, row, weight, rows, deadline)
                together += _time(torch, layer, batch, weight, 1, deadline)
    except (RuntimeError, TimeoutError):  # out of memory, or too slow to be measured
        return None
    if together <= 0 or single < CLEAR * together:
        return None  # nothing is claimed of a batch that is not clearly faster here
    return Measured(rows * len(one.layers), single, together)


def _time(torch: Any, layer: Layer, given: Any, weight: Any, times: int, deadline: float) -> float:
    def work() -> None:
        for _ in range(times):
            if layer.how is None:
                torch.mm(given.reshape(-1, given.shape[-1]), weight)
            else:
                torch.convolution(given, weight, None, *layer.how)
        if layer.device.startswith("cuda"):
            torch.cuda.synchronize(layer.device)

    measured = []
    for _ in range(ROUNDS + 1):
        start = time.perf_counter()
        work()
        measured.append(time.perf_counter() - start)
        if time.perf_counter() > deadline:
            raise TimeoutError
    return min(measured[1:])  # what is more than that is other work on the machine
