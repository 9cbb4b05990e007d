"""Asks the record the central question: which part of its graph did a broken pass meet a second time?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from operator import attrgetter

from afterward.model.history import UNKNOWN_OUTPUT, History, Leaf, Node, NodeId, Pass, Step, Value, Write
from afterward.model.operations import operation
from afterward.model.site import Iteration, Parting, parting


@dataclass(frozen=True, slots=True)
class Entry:
    """The edge at which a walk goes from new nodes into the old part. No consumer: the walk starts in it."""

    node: Node
    output: int
    consumer: Node | None


@dataclass(frozen=True, slots=True)
class Reuse:
    """A broken pass and the part of the graph that it met again.

    `early` is the pass that freed the part (or used it, where a write spoilt it); `culprit` is the node at
    which the engine stopped; `certain` is False where who freed it was worked out rather than seen.
    """

    late: Pass
    early: Pass | None
    entries: tuple[Entry, ...]
    culprit: Node
    stale: frozenset[NodeId]
    fresh: frozenset[NodeId]
    certain: bool = True
    write: Step | Write | None = None
    written: Leaf | None = None

    @property
    def entry(self) -> Entry:
        return self.entries[0]

    @property
    def starts_in_stale(self) -> bool:
        """The pass starts from nodes that were used before: nothing new was built in between."""
        return self.entry.consumer is None

    @property
    def passes_part(self) -> Parting | None:
        """How the earlier and the later pass lie to each other."""
        if self.early is None or self.early.where is None or self.late.where is None:
            return None
        return parting(self.early.where, self.late.where)

    @property
    def built_parts(self) -> Parting | None:
        """How the place that built the part lies to the pass that meets it again."""
        return _lies(self.entry.node, self)

    @property
    def loop(self) -> Iteration | None:
        """The loop whose iterations the report counts as steps."""
        part, built, late = self.passes_part, self.built_parts, self.late.where
        if part is not None and part.loop is not None and part.how == "iterations":
            return part.loop
        if built is not None and built.how == "iterations":
            return built.loop
        return late.innermost_iteration if late is not None else None

    def lies(self, node: Node) -> Parting | None:
        """How the place that built a node lies to the pass."""
        return _lies(node, self)


def _lies(node: Node, reuse: Reuse) -> Parting | None:
    """ "outside" or "iterations" for the outermost loop of the pass that does not hold the node in the same iteration.

    A loop that does not hold the earlier pass is not why the part was used twice.
    """
    late, early = reuse.late.where, reuse.early.where if reuse.early is not None else None
    if node.where is None or late is None:
        return None
    for iteration in late.iterations:
        number = node.where.iteration_of(iteration)
        if number is None and early is not None and early.iteration_of(iteration) is None:
            continue
        if number is None:
            return Parting("outside", iteration)
        if number != iteration.number:
            return Parting("iterations", iteration)
    part = reuse.passes_part
    if part is not None and part.how == "calls" and reuse.early is not None and reuse.early.where is not None:
        earlier = {level.call for level in reuse.early.where.levels}
        own = {level.call for level in late.levels} - earlier
        if not own & {level.call for level in node.where.levels}:
            return Parting("outside", None)
    found = parting(node.where, late)
    if (
        found.how == "outside"
        and found.loop is not None
        and early is not None
        and early.iteration_of(found.loop) is None
    ):
        return Parting("statements", None)
    return found


def find_reuse(history: History, late: Pass) -> Reuse | None:
    """What a broken pass met again; None where the record does not show it."""
    if late.error in ("second_backward", "donated_buffers"):
        return _used_after_free(history, late)
    if late.error == "inplace":
        return _overwritten(history, late)
    if late.error == "ddp_ready_twice":
        return _used_again(history, late)
    return None


def bridge_of(history: History, reuse: Reuse) -> Value | None:
    """The best name for the value through which the pass came into the old part."""
    return next(iter(bridges_of(history, reuse)), None)


def bridges_of(history: History, reuse: Reuse) -> list[Value]:
    """All values through which the pass comes into the old part, one for each way, the best name of each."""
    found: dict[str, Value] = {}
    for entry in reuse.entries:
        names = [v for v in history.values if v.node == entry.node.id and v.output == entry.output]
        if names:
            value = _whole(history, reuse, names[0])
            found.setdefault(value.name, value)
    return list(found.values())


def _whole(history: History, reuse: Reuse, value: Value) -> Value:
    """Of a tuple of which several parts lead into the old part, the tuple: cutting one of them would not help."""
    base, bracket, index = value.name.rpartition("[")
    if not bracket or value.kind == "item" or not index[:-1].isdigit():
        same = (v for v in history.values if (v.name, v.site, v.read_at) == (value.name, value.site, value.read_at))
        return replace(value, of_parts=True) if len({(v.node, v.output) for v in same}) > 1 else value
    entries = {entry.node.id for entry in reuse.entries}
    parts = {v.name for v in history.values if v.node in entries and v.name.rpartition("[")[0] == base}
    return replace(value, name=base, of_parts=True) if len(parts) > 1 else value


def _walked(history: History, late: Pass) -> list[Node]:
    walk = history.walk_of(late)
    return sorted([n for n in history.nodes if n.leaf is None and n.id in walk], key=attrgetter("order"), reverse=True)


def _used_after_free(history: History, late: Pass) -> Reuse | None:
    walked = _walked(history, late)
    freeing = [p for p in history.passes if p.moment < late.moment and not p.retains_graph and p.id != late.id]
    known = [p for p in freeing if p.used is not None]
    walk = {n.id for n in walked}
    stale = {n for p in known for n in walk & (p.used or frozenset()) if history.node(n).moment < p.moment}
    others = other_outputs(late, known)
    stale -= {n.id for n in walked if n.id in others and not n.freed}
    culprit = next((n for n in walked if n.id in stale and (n.freed or hides_what_it_saved(n))), None)
    certain = culprit is not None
    if culprit is None:
        # Nothing looked at the pass that freed it. Whatever is freed and older than such a pass may be its doing.
        unknown = [p for p in freeing if p.used is None]
        last = max((p.moment for p in unknown), default=0)
        stale = {n.id for n in walked if n.moment < last and n.freed}
        culprit = next((n for n in walked if n.id in stale), None)
        known = unknown
    if culprit is None:
        return None
    candidates = [p for p in known if culprit.moment < p.moment and (p.used is None or culprit.id in p.used)]
    early = min(candidates, key=lambda p: p.moment, default=None)
    certain = certain or len(candidates) == 1
    return _reuse(history, late, early, walked, stale, culprit, certain)


def hides_what_it_saved(node: Node) -> bool:
    """A write into a part of a tensor keeps the operation that it wraps, and frees that; neither can be read."""
    return operation(node.op) == "CopySlices"


def other_outputs(late: Pass, earlier: Iterable[Pass]) -> frozenset[NodeId]:
    """Nodes of which this pass starts from another output than earlier ones did: one operation, several losses."""
    theirs = {(edge.node, edge.output) for run in earlier for edge in run.roots}
    nodes = {node for node, _ in theirs}
    return frozenset(
        edge.node
        for edge in late.roots
        if edge.node in nodes and (edge.node, edge.output) not in theirs and (edge.node, UNKNOWN_OUTPUT) not in theirs
    )


def _overwritten(history: History, late: Pass) -> Reuse | None:
    walked = _walked(history, late)
    culprit = next((n for n in walked if n.overwritten), None)
    if culprit is None:
        return None
    leaf_ids = {s.leaf for s in culprit.saved if s.state == "overwritten" and s.leaf is not None}
    write = _write_since(history, culprit, late, leaf_ids)
    since = write.moment if write is not None else culprit.moment + 1
    stale = {n.id for n in walked if n.moment < since}
    before = [p for p in history.passes if culprit.moment < p.moment < since and p.id != late.id]
    seen = [p for p in before if p.used is None or culprit.id in p.used] or before
    early = max(seen, key=lambda p: p.moment, default=None)
    leaf = min(map(history.leaf, leaf_ids), key=attrgetter("name"), default=None)
    return _reuse(history, late, early, walked, stale, culprit, write is not None, write, leaf)


def _write_since(history: History, node: Node, late: Pass, leaves: set[int]) -> Step | Write | None:
    """The first write after the node was made that changed what it had saved."""
    found: list[Step | Write] = [s for s in history.steps if node.moment < s.moment < late.moment and s.leaves & leaves]
    writes = [w for w in history.writes if node.moment < w.moment < late.moment]
    found += [write for write in writes if write.sure or not found]
    return min(found, key=lambda write: write.moment, default=None)


def _used_again(history: History, late: Pass) -> Reuse | None:
    walked = _walked(history, late)
    earlier = [p for p in history.passes if p.moment < late.moment and p.id != late.id and p.used]
    for early in sorted(earlier, key=lambda p: p.moment, reverse=True):
        stale = {n.id for n in walked if n.id in (early.used or ())}
        if stale:
            culprit = next(n for n in walked if n.id in stale)
            return _reuse(history, late, early, walked, stale, culprit, True)
    return None


def _reuse(
    history: History,
    late: Pass,
    early: Pass | None,
    walked: list[Node],
    stale: set[NodeId],
    culprit: Node,
    certain: bool,
    write: Step | Write | None = None,
    written: Leaf | None = None,
) -> Reuse:
    above = _above(walked, culprit)
    entries = _entries(history, late, walked, stale, above) or (Entry(culprit, 0, None),)
    fresh = frozenset(n.id for n in walked) - stale
    found = Reuse(late, early, entries, culprit, frozenset(stale), fresh, certain, write, written)
    built = found.built_parts
    if built is not None and built.how == "iterations" and built.loop is not None:
        # What comes from an earlier iteration may reach the old part through nodes that no pass has used.
        loop, last = built.loop, last_iteration_before(history, found, built.loop)
        places = {id(n.where): n.where for n in walked}  # few, where nodes are many
        iterations = {key: where.iteration_of(loop) if where is not None else None for key, where in places.items()}
        early_places = {key for key, iteration in iterations.items() if iteration is None or iteration <= last}
        before = {n.id for n in walked if id(n.where) in early_places}
        entries = _entries(history, late, walked, before, above)
        found = replace(found, entries=entries) if entries else found
    return found


def last_iteration_before(history: History, reuse: Reuse, loop: Iteration) -> int:
    """The last iteration, before the present, in which the line of this pass ran: those since are of one update."""
    late, early = reuse.late, reuse.early
    same = (p.where for p in history.passes if p.moment < late.moment and p.where is not None)
    iterations = [where.iteration_of(loop) for where in same if late.where and where.site.same_lines(late.where.site)]
    if early is not None and early.where is not None:
        iterations.append(early.where.iteration_of(loop))
    return max(
        (iteration for iteration in iterations if iteration is not None and iteration < loop.number),
        default=loop.number - 1,
    )


def _entries(
    history: History, late: Pass, walked: list[Node], old: set[NodeId], above: set[NodeId]
) -> tuple[Entry, ...]:
    """Ways from outside into the old nodes, the engine's own first: the newest that leads to the culprit."""
    found: list[Entry] = []
    for edge in late.roots:
        if edge.node in old:
            found.append(Entry(history.node(edge.node), edge.output, None))
    for node in walked:
        if node.id not in old:
            for edge in node.inputs:
                if edge.node in old:
                    found.append(Entry(history.node(edge.node), edge.output, node))
    found.sort(key=lambda entry: (entry.node.id in above, entry.node.order), reverse=True)
    return tuple(entry for entry in found[:64] if entry.node.id in above) or tuple(found[:1])


def _above(walked: list[Node], culprit: Node) -> set[NodeId]:
    """The nodes from which the culprit is reached (nodes come newest first)."""
    above = {culprit.id}
    for node in reversed(walked):
        for edge in node.inputs:
            if edge.node in above:
                above.add(node.id)
                break
    return above
