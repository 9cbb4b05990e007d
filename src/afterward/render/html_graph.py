"""The graph of a failing pass, folded by source line, as the data that the page draws."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from afterward.model.history import History, Node, Pass
from afterward.model.operations import operation
from afterward.model.reuse import Reuse, find_reuse
from afterward.render.lifeline.timing import Clock, clock_for, clock_of, old_part
from afterward.render.source import SourceTexts, shortened, visible

BOXES = 120  # more than that is folded further, by leaving the steps out
STEPS = 6  # steps shown one by one; those between are folded into one
NODES = 200_000  # operations that go into the page one by one

_Key = tuple[str, int, str, bool]


@dataclass
class _Box:
    """The operations that one line made in one step."""

    key: _Key
    nodes: list[Node] = field(default_factory=list)


def graph_data(history: History, sources: SourceTexts) -> dict[str, Any] | None:
    """Boxes, the edges between them, and the operations inside; None where the record holds no nodes."""
    nodes = [node for node in history.nodes if node.leaf is None and node.op != "AccumulateGrad"]
    late = next(history.broken_passes(), None)
    if not nodes or late is None:
        return None
    reuse = find_reuse(history, late)
    boxes = _boxes(history, nodes, late, reuse)
    of_node = {node.id: number for number, box in enumerate(boxes) for node in box.nodes}
    data: dict[str, Any] = {
        "boxes": [_box_data(history, box, sources, reuse) for box in boxes],
        "edges": _edges(nodes, of_node, reuse),
        "total": len(nodes),
    }
    if len(nodes) <= NODES:
        data |= _operations(nodes, of_node)
    return data


def _boxes(history: History, nodes: list[Node], late: Pass, reuse: Reuse | None) -> list[_Box]:
    loop = late.where.innermost_iteration if late.where is not None else None
    clock = clock_of(history, reuse) if reuse is not None else clock_for(history, loop)
    columns = sorted({clock.column(node.where, node.moment) for node in nodes})
    shown = set(columns) if len(columns) <= STEPS else {*columns[:3], *columns[-3:]}
    old = old_part(history, reuse) if reuse is not None else frozenset()
    boxes = _grouped(nodes, clock, shown, old)
    if len(boxes) > BOXES:
        boxes = _grouped(nodes, clock, None, old)
    return boxes


def _grouped(nodes: list[Node], clock: Clock, shown: set[int] | None, old: frozenset[int]) -> list[_Box]:
    boxes: dict[_Key, _Box] = {}
    for node in sorted(nodes, key=lambda node: node.order):
        column = clock.column(node.where, node.moment)
        step = "" if shown is None else clock.title(column) if column in shown else "steps between"
        file, line = (node.where.site.file, node.where.site.line) if node.where is not None else ("", 0)
        key = (file, line, step, node.id in old)
        boxes.setdefault(key, _Box(key)).nodes.append(node)
    return list(boxes.values())


def _box_data(history: History, box: _Box, sources: SourceTexts, reuse: Reuse | None) -> dict[str, Any]:
    file, line, step, stale = box.key
    ops = Counter(operation(node.op) for node in box.nodes)
    spoilt = any(node.overwritten for node in box.nodes)
    freed = stale and any(node.freed for node in box.nodes)
    reads = {edge.node for node in box.nodes for edge in node.inputs if history.knows(edge.node)}
    leaves = sorted({history.leaf(n).name for n in history.leaves_under(reads)} - {""})
    return {
        "line": line,
        "file": visible(file.replace("\\", "/").rsplit("/", 1)[-1]),
        "text": visible(shortened(sources.line(file, line).strip(), 60)) if line else "made outside of your files",
        "step": step,
        "state": "spoilt" if spoilt else "dead" if freed else "used" if stale and _freeing(reuse) else "fresh",
        "count": len(box.nodes),
        "ops": [[visible(op), count] for op, count in ops.most_common(40)],
        "reads": [visible(name) for name in leaves[:12]],
        "more_reads": max(len(leaves) - 12, 0),
    }


def _freeing(reuse: Reuse | None) -> bool:
    return reuse is not None and reuse.write is None


def _edges(nodes: list[Node], of_node: dict[int, int], reuse: Reuse | None) -> list[list[int]]:
    """[box that made the values, box that reads them, how many, is it the bridge?]"""
    crossing: set[tuple[int, int]] = set()
    if reuse is not None and reuse.entry.consumer is not None:
        made, read = of_node.get(reuse.entry.node.id), of_node.get(reuse.entry.consumer.id)
        if made is not None and read is not None:
            crossing.add((made, read))
    counts: Counter[tuple[int, int]] = Counter()
    for node in nodes:
        for edge in node.inputs:
            source = of_node.get(edge.node)
            if source is not None and source != of_node[node.id]:
                counts[source, of_node[node.id]] += 1
    return [[made, read, count, int((made, read) in crossing)] for (made, read), count in sorted(counts.items())]


def _operations(nodes: list[Node], of_node: dict[int, int]) -> dict[str, Any]:
    """Every operation in compact columns: its name, its box, what it reads within that box, and its state."""
    names: dict[str, int] = {}
    position = {node.id: number for number, node in enumerate(nodes)}
    kinds = [names.setdefault(operation(node.op), len(names)) for node in nodes]
    inputs = [
        [position[e.node] for e in node.inputs if of_node.get(e.node) == of_node[node.id] and e.node in position]
        for node in nodes
    ]
    states = [2 if node.overwritten else 1 if node.freed else 0 for node in nodes]
    return {
        "names": [visible(name) for name in names],
        "kind": kinds,
        "box": [of_node[node.id] for node in nodes],
        "inputs": inputs,
        "state": states,
    }
