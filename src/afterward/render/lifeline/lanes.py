"""Chooses the lanes: one per line of the training code that built part of the graph, opened up where those are few."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from afterward.model.history import Node, NodeId
from afterward.model.site import Site, Where

FEW, MANY = 2, 6

Key = tuple[str, int]


@dataclass(frozen=True)
class Lanes:
    """The lane of every node, by the statement it stands for; lanes in the order in which they were first built."""

    sites: tuple[Site | None, ...]
    of_node: dict[NodeId, int]
    merged: dict[int, int]  # lanes that stand for several lines, and for how many


def choose(nodes: Sequence[Node], run: Where | None, vital: Iterable[NodeId], built: Site | None = None) -> Lanes:
    """`vital` nodes keep lanes of their own when there are too many lines to show; what was made on the line that
    the report calls `built` is shown as made there."""
    depth = {node.id: _level_of(node.where, built, _common_level(node.where, run)) for node in nodes}
    keys = {node.id: _key(node, depth[node.id]) for node in nodes}
    while len(set(keys.values())) < FEW:
        opened = _opened(nodes, keys, depth)
        if opened is None:
            break
        keys, depth = opened
    return _merged(nodes, keys, set(vital), depth)


def _key(node: Node, level: int) -> Key | None:
    if node.where is None:
        return None
    site = node.where.levels[level].site
    return site.file, site.line


def _common_level(where: Where | None, run: Where | None) -> int:
    """The level of the code that calls the passes: deeper only where both went through the same statement."""
    if where is None or run is None:
        return -1
    level = 0
    pairs = zip(where.levels, run.levels, strict=False)
    for index, (mine, theirs) in enumerate(pairs):
        if mine.function != theirs.function:
            break
        level = index
        if not mine.site.same_lines(theirs.site):
            break
    return level


def _level_of(where: Where | None, built: Site | None, common: int) -> int:
    """The level of the line `built`, where the way to a node goes through it within the training code."""
    if where is not None and built is not None and common >= 0:
        for index in range(common, len(where.levels)):
            if where.levels[index].site.same_lines(built):
                return index
    return common


def _opened(
    nodes: Sequence[Node], keys: dict[NodeId, Key | None], depth: dict[NodeId, int]
) -> tuple[dict[NodeId, Key | None], dict[NodeId, int]] | None:
    """The lanes with the largest one that has an inside opened to the lines within; None where none can be."""
    sizes = Counter(key for key in keys.values() if key is not None)
    for key, _ in sizes.most_common():
        new_keys, new_depth = dict(keys), dict(depth)
        for node in nodes:
            if keys[node.id] == key and node.where is not None and depth[node.id] + 1 < len(node.where.levels):
                new_depth[node.id] = depth[node.id] + 1
                new_keys[node.id] = _key(node, new_depth[node.id])
        if new_depth != depth and len(set(new_keys.values())) <= MANY:
            return new_keys, new_depth
    return None


def _merged(
    nodes: Sequence[Node], keys: dict[NodeId, Key | None], vital: set[NodeId], depth: dict[NodeId, int]
) -> Lanes:
    first: dict[Key | None, int] = {}
    sites: dict[Key | None, Site | None] = {}
    for node in sorted(nodes, key=lambda n: n.order):
        key = keys[node.id]
        first.setdefault(key, len(first))
        sites.setdefault(key, node.where.levels[depth[node.id]].site if node.where is not None else None)
    order = sorted(first, key=lambda key: first[key])
    needed = {keys[number] for number in vital if number in keys}
    number_of: dict[Key | None, int] = {}
    shown: list[Site | None] = []
    merged: dict[int, int] = {}
    run_open = False
    spare = MANY - len(needed)
    for key in order:
        alone = len(order) <= MANY or key in needed or spare > 1
        if alone:
            spare -= key not in needed
            shown.append(sites[key])
            run_open = False
        elif not run_open:
            shown.append(sites[key])
            run_open = True
        else:
            merged[len(shown) - 1] = merged.get(len(shown) - 1, 1) + 1
        number_of[key] = len(shown) - 1
    return Lanes(tuple(shown), {node.id: number_of[keys[node.id]] for node in nodes}, merged)
