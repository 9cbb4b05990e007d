"""Writes the `History` of a pass that would fail: the same record that the observer writes of a real run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from afterward.follow.bridges import Bridges, Holder
from afterward.follow.crossing import Trail
from afterward.follow.flow import repeated
from afterward.follow.steps_ahead import steps_ahead
from afterward.interpret.graph.graph import BackwardRun, Cutting, GraphNode, Naming, Tensor, Version
from afterward.interpret.graph.unused_records import value_now
from afterward.interpret.history.path import Path
from afterward.interpret.machine.values import Instance, Module, Scope, Unknown
from afterward.model import gradients
from afterward.model.history import BY_GRAD, Cut, Edge, Fed, History, Leaf, Node, Pass, Saved, Step, Value, Write
from afterward.model.reuse import Entry, Reuse, find_reuse
from afterward.model.site import dated_site
from afterward.model.steps import with_library_steps

if TYPE_CHECKING:
    from afterward.interpret.library.torch.passes import PassMade
    from afterward.interpret.machine.machine import Machine


def history_of_cut(machine: Machine, made: PassMade, cut: Cutting) -> History:
    """A pass on a value that has no graph."""
    late = Pass(made.number, made.where, made.moment, call=made.call, error="no_grad", receiver=made.receiver)
    return History(passes=(late,), cuts=(Cut(cut.where, cut.how, cut.name, cut.site),), observed=False)


def history(machine: Machine, made: PassMade, done: BackwardRun) -> History:
    """All that led to a broken pass."""
    starts = [node for node, _ in made.roots]
    found = machine.graph.reach(starts)
    inside = {node.number for node in found}
    leaves = [node.leaf for node in found if node.leaf is not None]
    ids = {id(leaf): number for number, leaf in enumerate(leaves)}
    known = _names_of_optimizers(machine)
    owners = _owners(machine, known)
    nodes = tuple(_node(node, ids, done) for node in found)
    path = Path(machine)
    passes = []
    for one in machine.passes:
        names = frozenset(name for leaf in one.leaves for name in owners.get(id(leaf), ()))
        run = Pass(
            one.number,
            one.where,
            one.moment,
            tuple(Edge(node.number, slot) for node, slot in one.roots if node.number in inside),
            one.call,
            one.retains,
            one.creates,
            frozenset(one.used & inside),
            one.nested_in,
            optimizers=names,
            receiver=one.receiver,
            nested=one.nested_in is not None,
            reached=frozenset(ids[id(leaf)] for leaf in one.leaves if id(leaf) in ids),
        )
        if one is made:
            run = replace(run, error=done.error, read_in=done.read_in, trains=_stepped_after(machine, path, one, known))
        passes.append(run)
    steps = tuple(
        Step(
            step.where,
            step.moment,
            known[id(step.optimizer)],
            frozenset(ids[id(leaf)] for leaf in step.leaves if id(leaf) in ids),
            bool(step.optimizer.inner.get("fused")),
        )
        for step in machine.steps
    )
    first = with_library_steps(
        History(
            nodes,
            tuple(passes),
            steps,
            _writes(done, ids),
            leaves=tuple(Leaf(n, leaf.label, tuple(owners.get(id(leaf), ()))) for n, leaf in enumerate(leaves)),
            gradients=tuple(_gradients(machine, ids)),
            observed=False,
        )
    )
    late = next(run for run in first.passes if run.id == made.number)
    reuse = find_reuse(first, late)
    if reuse is None:
        return first
    by_number = {node.number: node for node in found}
    return replace(
        first,
        values=_values(machine, path, reuse, by_number),
        fed=_fed(reuse, [by_number[number] for number in reuse.fresh]),
        repeats=repeated(path, path.places, reuse.early, reuse.late),
    )


def _stepped_after(machine: Machine, path: Path, made: PassMade, names: dict[int, str]) -> frozenset[str]:
    """The optimizers that the function of a pass steps before its next pass; "" for one that is not at hand."""
    found = set()
    for stepped in steps_ahead(path, made.where.levels[-1].site):
        ways = [value_now(machine, text) for text in stepped]
        known = [names[id(one)] for one in ways if id(one) in names]
        if known or not isinstance(ways[-1], Instance):  # what is stepped may also be a schedule, or an environment
            found.add(known[0] if known else "")
    return frozenset(found)


def _gradients(machine: Machine, ids: dict[int, int]) -> Iterator[gradients.Entry]:
    """The gradient ledger of the leaves that the failing pass has to do with."""
    for line in machine.account.ledger:
        leaves = frozenset(ids[id(leaf)] for leaf in line.leaves if id(leaf) in ids)
        if leaves:
            run = line.made.number if line.made is not None else -1
            yield gradients.Entry(line.what, leaves, run, line.step, dated_site(line.where))


def _fed(reuse: Reuse, fresh: list[GraphNode]) -> tuple[Fed, ...]:
    """The earlier pass and the broken one, where what the first returned, without a history, went into the second."""
    early = reuse.early
    if early is None or early.call != "grad" or early.creates_graph:
        return ()
    fed = any(cut.how == BY_GRAD and cut.where == early.where for node in fresh for cut in node.given)
    return (Fed(early.id, reuse.late.id),) if fed else ()


def _names_of_optimizers(machine: Machine) -> dict[int, str]:
    """Each optimizer under a name of its own: two objects may both be `self.opt`."""
    names: dict[int, str] = {}
    taken: dict[str, int] = {}
    for optimizer in (*machine.optimizers, *(step.optimizer for step in machine.steps)):
        if id(optimizer) not in names:
            name = optimizer.label or optimizer.class_name
            taken[name] = taken.get(name, 0) + 1
            names[id(optimizer)] = f"{name} ({taken[name]})" if taken[name] > 1 else name
    return names


def _owners(machine: Machine, names: dict[int, str]) -> dict[int, list[str]]:
    owners: dict[int, list[str]] = {}
    for optimizer in machine.optimizers:
        for leaf in optimizer.inner.get("params", ()):
            owners.setdefault(id(leaf), []).append(names[id(optimizer)])
    return owners


def _node(node: GraphNode, ids: dict[int, int], done: BackwardRun) -> Node:
    looked_for = done.read_in is not None and node is done.culprit  # even by a function that saved nothing
    was_freed = looked_for or (node.is_freed and node.number not in done.released)
    hides = looked_for or node.inner is not None
    saved = [Saved("slices", "freed" if was_freed else "live")] if hides else []
    for kept in node.takes_out:
        version = kept.version if isinstance(kept.version, Version) else None
        leaf = version.leaf if version is not None else None
        state = "freed" if was_freed else "live"
        if state == "live" and kept.is_overwritten and done.error == "inplace":
            state = "overwritten"
        writes = version.writes if version is not None and kept.is_overwritten else ()
        rewritten = next((write.target for write in writes if write.moment > node.moment), "")
        number = ids.get(id(leaf)) if leaf is not None else None
        saved.append(Saved("result" if kept.is_result else "saved", state, number, rewritten=rewritten))
    return Node(
        node.number,
        node.name,
        node.number,
        node.moment,
        node.where,
        tuple(Edge(below.number, slot) for below, slot in node.next_functions),
        tuple(saved),
        ids.get(id(node.leaf)) if node.leaf is not None else None,
        outputs=node.outputs,
    )


def _writes(done: BackwardRun, ids: dict[int, int]) -> tuple[Write, ...]:
    """The in-place writes, other than optimizers', that went over what the failing node had saved."""
    if done.error != "inplace" or done.culprit is None:
        return ()
    found: list[Write] = []
    for kept in done.culprit.takes_out:
        if not isinstance(kept.version, Version) or not kept.is_overwritten:
            continue
        leaf = kept.version.leaf
        for write in kept.version.writes:
            if write.moment > done.culprit.moment:
                number = ids.get(id(leaf)) if leaf is not None else None
                found.append(Write(write.where, write.moment, write.target, number))
    return tuple(found)


# Names


def _values(machine: Machine, path: Path, reuse: Reuse, by_number: dict[int, GraphNode]) -> tuple[Value, ...]:
    """Names for the ways into the old part."""
    began = None
    built = reuse.built_parts
    if built is not None and built.loop is not None:
        began = built.loop.since or machine.iteration_began.get((built.loop.entry, built.loop.number))
    held = list(_held(machine))

    def holders(entry: Entry) -> list[Holder]:
        node = by_number.get(entry.node.id)
        return [Holder(name, kind, depth) for name, kind, depth, tensor in held if _is(tensor, node, entry.output)]

    def otherwise(entry: Entry) -> list[Value]:
        node = by_number.get(entry.node.id)
        names = node.names.get(entry.output, ()) if node is not None else ()
        derived = names or _names_of_derived(machine, entry)
        return [Value(one.name, one.kind, entry.node.id, entry.output, "carried") for one in reversed(derived)]

    def statement_of(node: Node) -> int | None:
        site = node.where.site if node.where is not None else None
        return path.numbers.get((site.file, site.line, site.column)) if site is not None else None

    follower = Bridges(path, path.places, Trail(path, path.places), statement_of)
    return follower.values(reuse, began, holders, otherwise=otherwise)


def _names_of_derived(machine: Machine, entry: Entry) -> list[Naming]:
    """Of a way that leads through a derivative into the graph of what it was taken of: the names of that."""
    number = entry.consumer.id if entry.consumer is not None else -1
    for one in machine.passes:
        if len(one.created) == 2 and one.created[0] <= number < one.created[1]:
            return [naming for root, slot in one.roots for naming in root.names.get(slot, ())]
    return []


def _is(tensor: Tensor, node: GraphNode | None, slot: int) -> bool:
    return node is not None and tensor.node is node and tensor.slot == slot


def _held(machine: Machine) -> Iterator[tuple[str, str, int, Tensor]]:
    """Everything that names of the living calls lead to, innermost call first."""
    seen: set[int] = set()
    scopes: list[tuple[Scope, str]] = []
    for frame in reversed(machine.frames):
        scope: Scope | None = frame.scope
        while scope is not None:
            top = scope.module is not None and scope is scope.module.scope
            if all(scope is not known for known, _ in scopes):
                scopes.append((scope, "global" if top else "local"))
            scope = scope.outer
    for scope, kind in scopes:
        for name, value in scope.names.items():
            yield from _within(name, value, kind, seen, 0)


def _within(name: str, value: object, kind: str, seen: set[int], depth: int) -> Iterator[tuple[str, str, int, Tensor]]:
    if isinstance(value, Tensor):
        yield name, kind, depth, value
        return
    if depth > 4 or id(value) in seen or isinstance(value, (str, int, float, Module)):
        return
    seen.add(id(value))
    inner: Iterable[tuple[str, object, str]] = ()
    if isinstance(value, Instance):
        how = "item" if kind == "item" else "attribute"
        inner = [(f"{name}.{key}", one, how) for key, one in value.attributes.items()]
        items = value.inner.get("items")
        if isinstance(items, (list, dict)):
            inner = [*inner, (name, items, "item")]
    elif isinstance(value, dict):
        inner = [(f"{name}[{_shown(key)}]", one, "item") for key, one in list(value.items())[:100]]
    elif isinstance(value, (list, tuple)) or hasattr(value, "appendleft"):
        how = kind if isinstance(value, tuple) else "item"
        inner = [(f"{name}[{n}]", one, how) for n, one in enumerate(list(value)[:200])]  # type: ignore[call-overload]
    for label, one, how in inner:
        yield from _within(label, one, how, seen, depth + 1)


def _shown(key: object) -> str:
    """A dictionary key as a person would write it."""
    if isinstance(key, Unknown):
        return "..."
    return f'"{key}"' if isinstance(key, str) and '"' not in key else repr(key)
