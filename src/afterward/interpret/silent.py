"""Writes the `History` of a program that does not fail, for the rules about silent faults. Only what is certain is
written: what went out of sight (`account`) is left out."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from afterward.interpret.account import Dropped
from afterward.interpret.core import site_of
from afterward.interpret.flat_parts import find_flat_parts
from afterward.interpret.graph import Cutting, GraphNode, Naming, Tensor
from afterward.interpret.values import Instance, Module, Scope, Value
from afterward.model.history import (
    SUMMING,
    Cut,
    Edge,
    History,
    Idle,
    Kept,
    Leaf,
    Pass,
    Step,
    Unswept,
    Zeroed,
    operation,
)
from afterward.model.records import are_under_keys, forgets, has_fixed_places
from afterward.model.site import Site

if TYPE_CHECKING:
    from afterward.interpret.library.passes import PassMade, StepMade
    from afterward.interpret.machine import Machine

STEPS = 3  # graphs of so many steps must be held before a record is said to keep them
CONFIRMED = 2  # so many are enough in a later run, which turns its loops less often and only confirms the first
IDLE = 3  # steps in a row that change nothing, of an optimizer that did change something before
LOOKS = (4, 8, 16, 32)  # passes after which records are looked at; they are too at the end of a loop


def look(machine: Machine) -> None:
    """A pass was run: now and then, look for records that hold graphs of past steps."""
    if len(machine.passes) in LOOKS:
        look_for_records(machine)


def loop_left(machine: Any) -> None:
    """A loop is over: what was collected in it is still at hand."""
    if len(machine.passes) - machine.account.surveyed >= _enough(machine):
        machine.account.surveyed = len(machine.passes)
        look_for_records(machine)


def _enough(machine: Any) -> int:
    return CONFIRMED if machine.confirms else STEPS


def look_for_records(machine: Machine) -> None:
    freeing = [one for one in machine.passes if one.call == "backward" and not one.retains]
    moments = _one_per_step(freeing)
    if len(moments) < _enough(machine):
        return
    times = Counter(number for one in freeing for number in one.swept)
    groups: dict[tuple[int, str], list[tuple[str, Tensor]]] = {}
    for scope, name, tensor in _held(machine):
        groups.setdefault((scope, re.sub(r"(\[[^\]]*\])+$", "", name)), []).append((name, tensor))
    for (_, name), members in groups.items():
        if name not in machine.account.kept:
            kept = _record(machine, name, [tensor for _, tensor in members], moments, times)
            if kept is not None and not (
                kept.by_count and _has_fixed_places(machine, kept, [one for one, _ in members])
            ):
                machine.account.kept[name] = kept


def _record(machine: Machine, name: str, tensors: list[Tensor], moments: list[int], times: Counter[int]) -> Kept | None:
    nodes = [one.node for one in tensors if one.node is not None]
    ages = {bisect_right(moments, node.moment) for node in nodes}
    sums = [node for node in nodes if operation(node.op) in SUMMING and not (len(nodes) > 1 and times[node.number])]
    if len(ages) < _enough(machine) and len(nodes) > 1 and not sums:
        return None
    found = [node for node in machine.graph.reach(nodes) if node.leaf is None]
    summed = [node for node in machine.graph.reach(sums) if node.leaf is None]
    steps = max(len(ages), len({bisect_right(moments, node.moment) for node in summed}))
    swept = [times[node.number] for node in found]
    # Nothing of it swept: it may still be. Swept again and again: a state, not a record.
    if steps < _enough(machine) or not any(swept) or max(swept) > 1 or _swept_together(machine, nodes, moments):
        return None
    if _of_different_networks(machine, {node.number for node in found}):
        return None
    newest = max(nodes, key=lambda node: node.moment)
    return Kept(name, steps, len(found), 0, _put_there(newest, name), by_count=len(ages) == steps)


def _swept_together(machine: Machine, nodes: list[GraphNode], moments: list[int]) -> bool:
    """Has one pass walked values of several steps: those of a list, or the sum of them itself?"""
    several = len(nodes) > 1
    for one in machine.passes:
        met = {bisect_right(moments, node.moment) for node in nodes if node.number in one.swept}
        if one.call == "backward" and not one.retains and len(met) > several:
            return True
    return False


def _of_different_networks(machine: Machine, numbers: set[int]) -> bool:
    """Did each pass over these reach other parameters? So much for one turn over several networks, not for steps."""
    mine = [one for one in machine.passes if one.call == "backward" and one.swept & numbers]
    reached = [frozenset(id(leaf) for leaf in one.leaves) for one in mine]
    return len(set(reached)) == len(reached)


def _is_window(machine: Machine, kept: Kept) -> bool:
    """Are only the last few, or the best few, kept?"""
    tree = machine.sources.tree(kept.site.file) if kept.site is not None else None
    return tree is not None and forgets(ast.walk(tree), kept.name)


def _has_fixed_places(machine: Machine, kept: Kept, names: list[str]) -> bool:
    tree = machine.sources.tree(kept.site.file) if kept.site is not None else None
    return tree is not None and are_under_keys(names) and has_fixed_places(ast.walk(tree), kept.name)


def _each_once(kept: Iterable[Kept]) -> Iterable[Kept]:
    """One statement, one record: what it puts into an object's own has in passing a local name as well."""
    best: dict[object, Kept] = {}
    for one in sorted(kept, key=lambda one: ("." not in one.name, -one.steps)):
        best.setdefault(one.site or one.name, one)
    return [one for one in kept if one in best.values()]


def _put_there(node: GraphNode, name: str) -> Site | None:
    """The statement that gave the record its newest value."""
    last = name.rsplit(".", 1)[-1]
    namings = [naming for several in node.names.values() for naming in several]
    for fits in (_as_item, _as_name):
        for naming in reversed(namings):
            if fits(naming, name, last) and naming.statement is not None:
                return site_of(naming.file, naming.statement)
    return node.where.site if node.where is not None else None


def _as_item(naming: Naming, name: str, last: str) -> bool:
    return "[" in naming.name and naming.kind == "item"


def _as_name(naming: Naming, name: str, last: str) -> bool:
    return naming.name.rsplit(".", 1)[-1] == last


def _one_per_step(passes: list[PassMade]) -> list[int]:
    by_site: dict[Site, list[int]] = {}
    for one in passes:
        by_site.setdefault(one.where.site, []).append(one.moment)
    return max(by_site.values(), key=len, default=[])


def _held(machine: Machine) -> Iterator[tuple[int, str, Tensor]]:
    """Every tensor with a history that names of the living calls lead to, with the scope of the name: calls inside
    each other may each have a `loss`, and that is no record. Windows of a fixed length are left out."""
    seen: set[int] = set()
    scopes: dict[int, Scope] = {}
    for frame in machine.frames:
        scope: Scope | None = frame.scope
        while scope is not None:
            scopes.setdefault(id(scope), scope)
            scope = scope.outer
    todo: deque[tuple[int, str, Value, int]] = deque(
        (0, name, value, 0) for name, value in machine.account.driven.items()
    )
    for key, scope in scopes.items():
        todo.extend((key, name, value, 0) for name, value in scope.names.items())
    while todo:
        key, name, value, depth = todo.popleft()
        if isinstance(value, Tensor):
            if value.node is not None:
                yield key, name, value
        elif depth <= 4 and id(value) not in seen and not isinstance(value, (str, int, float, Module)):
            seen.add(id(value))
            todo.extend((key, label, one, depth + 1) for label, one in _inside(name, value))


def _inside(name: str, value: Value) -> Iterable[tuple[str, Value]]:
    if isinstance(value, Instance):
        items = value.inner.get("items")
        inner = [(f"{name}.{key}", one) for key, one in value.attributes.items()]
        return [*inner, (name, items)] if isinstance(items, (list, dict)) else inner
    if isinstance(value, dict):
        return [(f"{name}[{key!r}]", one) for key, one in list(value.items())[:100]]
    if isinstance(value, deque) and value.maxlen is not None:
        return ()
    if isinstance(value, (list, tuple, deque)):
        return [(f"{name}[{number}]", one) for number, one in enumerate(list(value)[-100:])]
    return ()


# The end of the program


def history(machine: Machine) -> History | None:
    """What one run of a program that does not fail has shown; None where there is nothing to judge."""
    account = machine.account
    if not machine.passes or machine.broken:
        return None
    account.lose(account.strange)
    leaves = {id(leaf): number for number, leaf in enumerate(machine.graph.leaves)}
    lost = {node.number for node in machine.graph.reach(account.lost.values())}
    unsure = account.touched | {id(n.leaf) for n in machine.graph.reach(account.lost.values()) if n.leaf is not None}
    unsure |= _reached_by_gradients(machine)
    owners: dict[int, list[str]] = {}
    for optimizer in machine.optimizers:
        for leaf in optimizer.inner.get("params", ()):
            owners.setdefault(id(leaf), []).append(optimizer.label or optimizer.class_name)

    def numbers(some: Iterable[Tensor]) -> frozenset[int]:
        return frozenset(leaves[id(one)] for one in some if id(one) in leaves and id(one) not in account.touched)

    passes = []
    for one in machine.passes:
        swept = frozenset(number for number in one.swept if number >= 0)
        passes.append(
            Pass(
                one.number,
                one.where,
                one.moment,
                tuple(Edge(node.number, slot) for node, slot in one.roots),
                one.call,
                one.retains,
                one.creates,
                swept,
                nested_in=one.nested_in,
                created=one.created,
                receiver=one.receiver,
                # Something unknown may sweep it again: not to be compared with the next.
                window=0 if not (account.blind or swept & lost) else 1 + one.number,
                reached=numbers(one.leaves),
                filled=numbers(one.filled),
                piled=numbers(one.piled),
            )
        )
    steps = tuple(
        Step(one.where, one.moment, one.optimizer.label or one.optimizer.class_name, numbers(one.leaves))
        for one in machine.steps
    )
    return History(
        (),
        tuple(passes),
        steps,
        leaves=tuple(
            Leaf(number, leaf.label, tuple(owners.get(id(leaf), ())))
            for number, leaf in enumerate(machine.graph.leaves)
        ),
        kept=tuple(one for one in _each_once(account.kept.values()) if not _is_window(machine, one)),
        idle=(*_idle(machine, unsure), *_partly_idle(machine, unsure)),
        zeroed=tuple(_zeroed(machine, unsure)),
        flat=tuple(find_flat_parts(machine)),
        unswept=tuple(_unswept(machine, lost, owners)),
        observed=False,
    )


def _idle(machine: Machine, unsure: set[int]) -> Iterator[Idle]:
    """Optimizers whose steps change nothing, from the first one on or from some step on."""
    if machine.account.blind:
        return
    for optimizer in machine.optimizers:
        held = [leaf for leaf in optimizer.inner.get("params", ()) if isinstance(leaf, Tensor)]
        steps = [step for step in machine.steps if step.optimizer is optimizer]
        if not held or any(id(leaf) in unsure or not leaf.needs for leaf in held) or optimizer.inner.get("partial"):
            continue
        idle: list[StepMade] = []
        for step in reversed(steps):
            if step.leaves:
                break
            idle.insert(0, step)
        if len(idle) < (2 if len(idle) == len(steps) else IDLE) or not _passes_between(machine, idle):
            continue
        since = steps[-1 - len(idle)].moment if len(idle) < len(steps) else 0
        ids = {id(leaf) for leaf in held}
        if any(id(leaf) in ids for one in machine.passes if one.moment > since for leaf in one.leaves):
            continue  # it was reached, and its gradients were dropped
        yield Idle(optimizer.label or optimizer.class_name, len(idle), len(held), idle[0].where.site)


def _partly_idle(machine: Machine, unsure: set[int]) -> Iterator[Idle]:
    """Optimizers that train some of their parameters, while a cut keeps others from every loss."""
    if machine.account.blind:
        return
    reached = {id(leaf) for one in machine.passes for leaf in one.leaves}
    cuts = _cut_leaves(machine)
    for optimizer in machine.optimizers:
        held = [leaf for leaf in optimizer.inner.get("params", ()) if isinstance(leaf, Tensor)]
        steps = [step for step in machine.steps if step.optimizer is optimizer]
        if len(steps) < 2 or not any(id(leaf) in reached for leaf in held) or optimizer.inner.get("partial"):
            continue
        out = [leaf for leaf in held if id(leaf) not in reached and leaf.needs and _is_cut_off(machine, leaf, cuts)]
        if not out or any(id(leaf) in unsure or _changed_by_hand(machine, leaf) for leaf in out):
            continue
        cut = cuts[id(out[0])]
        yield Idle(
            optimizer.label or optimizer.class_name,
            len(steps),
            len(out),
            steps[0].where.site,
            Cut(cut.where, cut.how, cut.name, cut.site),
            len(held),
            tuple(leaf.label for leaf in out if leaf.label),
        )


def _cut_leaves(machine: Machine) -> dict[int, Cutting]:
    """The leaves behind values that lost their history, each with the first such place."""
    found: dict[int, Cutting] = {}
    for cut, node, leaf in machine.account.cut:
        under = [one.leaf for one in machine.graph.reach([node])] if node is not None else [leaf]
        for one in under:
            if one is not None:
                found.setdefault(id(one), cut)
    return found


def _is_cut_off(machine: Machine, leaf: Tensor, cuts: dict[int, Cutting]) -> bool:
    """Is it the cut that keeps a leaf from every loss? Not `no_grad`, if it was also used with gradients: then that was
    an evaluation, and where its history went is not known."""
    cut = cuts.get(id(leaf))
    return cut is not None and not (cut.how.startswith("torch.") and id(leaf) in machine.graph.used)


def _changed_by_hand(machine: Machine, leaf: Tensor) -> bool:
    return id(leaf) in machine.account.by_hand or bool(leaf.version.writes)


def _reached_by_gradients(machine: Machine) -> set[int]:
    """Leaves under a gradient that was itself swept: which of them such a pass reaches is not known."""
    found: set[int] = set()
    for one in machine.passes:
        made = range(*one.created) if len(one.created) == 2 else range(0)
        if any(number in made for later in machine.passes if later.moment > one.moment for number in later.swept):
            found |= {id(n.leaf) for n in machine.graph.reach(root for root, _ in one.roots) if n.leaf is not None}
    return found


def _zeroed(machine: Machine, unsure: set[int]) -> Iterator[Zeroed]:
    """Optimizers every step of which finds the gradients zeroed that the pass before it made."""
    for optimizer in machine.optimizers:
        early = [wiped for owner, wiped in machine.account.early if owner is optimizer]
        steps = [step for step in machine.steps if step.optimizer is optimizer]
        held = {id(leaf) for leaf in optimizer.inner.get("params", ())}
        if len(early) < 2 or len(early) < len(steps) or held & unsure:
            continue
        first = early[0]
        yield Zeroed(
            optimizer.label or optimizer.class_name,
            len(early),
            steps[0].where.site,
            first.made_by.where.site,
            first.where.site,
        )


def _passes_between(machine: Machine, steps: list[StepMade]) -> bool:
    """Was there a pass before each of these steps, after the one before?"""
    moments = [one.moment for one in machine.passes]
    return all(
        bisect_right(moments, later.moment) > bisect_right(moments, earlier.moment)
        for earlier, later in pairwise(steps)
    ) and bool(moments and moments[0] < steps[0].moment)


def _unswept(machine: Machine, lost: set[int], owners: dict[int, list[str]]) -> Iterator[Unswept]:
    # A pass for a derivative, within the forward, does not teach: it counts if it starts from the value itself.
    swept: set[int] = set().union(*(one.swept for one in machine.passes if one.call == "backward"))
    swept |= {root.number for one in machine.passes for root, _ in one.roots}
    by_place: dict[tuple[ast.stmt, Site], list[Dropped]] = {}
    for one in machine.account.dropped:
        loop = one.last.turns[-1].loop
        kind = machine.statements.get((loop.file, loop.line, loop.column))
        if isinstance(kind, (ast.For, ast.AsyncFor)) and all(
            _in_vain(machine, one, value.node, swept, lost, owners) for value in one.values
        ):
            by_place.setdefault((one.last.statement, one.swept_by.where.site), []).append(one)
    for several in by_place.values():
        first = several[0]
        if len(several) >= 2:
            site = site_of(first.last.file, first.last.statement)
            yield Unswept(first.name, len(first.values) + 1, site, first.swept_by.where.site)


def _in_vain(
    machine: Machine, dropped: Dropped, node: GraphNode, swept: set[int], lost: set[int], owners: dict[int, list[str]]
) -> bool:
    """Did no pass sweep anything that the loop computed for this value, though a parameter hangs on it?"""
    began = machine.turn_began.get((dropped.loop, 1), 0)
    under = machine.graph.reach([node])
    own = {one.number for one in under if one.leaf is None and one.moment > began}
    return (
        bool(own)
        and not own & swept
        and not own & lost
        and any(one.leaf is not None and id(one.leaf) in owners for one in under)
    )
