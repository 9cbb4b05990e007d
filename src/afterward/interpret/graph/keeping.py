"""Looks, while a program is interpreted, for records that keep the graphs of past steps alive."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from afterward.follow.nodes import of_file
from afterward.follow.reading import targets
from afterward.interpret.graph.graph import GraphNode, Naming, Tensor
from afterward.interpret.graph.unused_parts import are_unused_parts
from afterward.interpret.machine.core import Frame, site_of
from afterward.interpret.machine.values import Instance, Module, Scope, Unknown, Value
from afterward.model.history import Kept
from afterward.model.history import Value as Named
from afterward.model.names import container_of, in_words_of, stem
from afterward.model.operations import JOINING, operation
from afterward.model.records import FEW, STEPS, are_under_keys, forgets, has_fixed_places
from afterward.model.site import Site

if TYPE_CHECKING:
    from afterward.interpret.library.torch.passes import PassMade
    from afterward.interpret.machine.machine import Machine

EARLY = 2  # the pass after which it is first noted who holds what it used
LOOKS = (4, 8, 16, 32)  # passes after which records are looked at; they are too at the end of a loop


def look(machine: Machine) -> None:
    """A pass was run: now and then, look for records that hold graphs of past steps."""
    if machine.judged:
        return
    if len(machine.passes) in (EARLY, *LOOKS):
        machine.account.held += _names_of(machine, machine.passes[-1])
    if len(machine.passes) in LOOKS:
        _look_for_records(machine)


def _names_of(machine: Machine, made: PassMade) -> Iterator[Named]:
    """The names that hold a part of what a pass used, those of the innermost call first: there it is `self.state`."""
    for _, name, tensor in _held(machine, machine.frames[::-1]):
        if tensor.node is not None and tensor.node.number in made.used:
            yield Named(name, "attribute" if "." in name else "local", tensor.node.number, read_at=made.moment)


def loop_left(machine: Any, before: int) -> None:
    """A loop is over, before which there were so many passes: what was collected in it is still at hand."""
    if len(machine.passes) - before >= _enough(machine):
        _look_for_records(machine)


def _enough(machine: Any) -> int:
    return FEW if machine.confirms else STEPS


def _look_for_records(machine: Machine) -> None:
    calls = [one for one in machine.passes if one.call == "backward"]
    freeing = [one for one in calls if not one.retains] or calls
    moments = _steps(machine, freeing)
    if len(moments) < _enough(machine):
        return
    times = Counter(number for one in freeing for number in one.used)
    groups: dict[tuple[int, str], list[tuple[str, Tensor]]] = {}
    for scope, name, tensor in _held(machine):
        groups.setdefault((scope, container_of(name)), []).append((name, tensor))
    for (_, name), members in groups.items():
        if name not in machine.account.kept:
            kept = _record(machine, name, members, moments, times)
            if kept is not None:
                machine.account.kept[name] = kept


def _record(
    machine: Machine, name: str, members: list[tuple[str, Tensor]], moments: list[int], times: Counter[int]
) -> Kept | None:
    tensors = [tensor for _, tensor in members]
    nodes = [one.node for one in tensors if one.node is not None]
    ages = {bisect_right(moments, node.moment) for node in nodes}
    sums = [
        node
        for node in nodes
        if operation(node.name) in JOINING
        and not (len(nodes) > 1 and times[node.number])
        and not _joins_a_record(machine, node)
    ]
    if len(ages) < _enough(machine) and not sums:
        return None
    found = [node for node in machine.graph.reach(nodes) if node.leaf is None]
    summed = [node for node in machine.graph.reach(sums) if node.leaf is None]
    steps = max(len(ages), len({bisect_right(moments, node.moment) for node in summed}))
    used = [times[node.number] for node in found]
    # Nothing of it used: it may still be.
    if steps < _enough(machine) or not any(used) or _used_together(machine, nodes, moments):
        return None
    if _of_different_networks(machine, {node.number for node in found}):
        return None
    if are_unused_parts(machine, [(one.node, one.slot) for one in tensors if one.node is not None]):
        return None
    newest = max(nodes, key=lambda node: node.moment)
    by_count = len(ages) == steps and are_under_keys([one for one, _ in members])
    return Kept(name, steps, len(found), 0, _put_there(newest, name), max(used), by_count=by_count)


def _joins_a_record(machine: Machine, node: GraphNode) -> bool:
    """Is it made of what a record holds, as `torch.cat(outputs)` is? Then the record is at fault, by its own name."""
    return len(node.next_functions) > 1 and all(
        any(
            naming.kind == "item"
            and (kept := machine.account.kept.get(container_of(naming.name))) is not None
            and kept.times == 1
            for several in one.names.values()
            for naming in several
        )
        for one, _ in node.next_functions
    )


def _used_together(machine: Machine, nodes: list[GraphNode], moments: list[int]) -> bool:
    """Has one pass walked values of several steps: those of a list, or the sum of them itself?"""
    several = len(nodes) > 1
    for one in machine.passes:
        met = {bisect_right(moments, node.moment) for node in nodes if node.number in one.used}
        if one.call == "backward" and not one.retains and len(met) > several:
            return True
    return False


def _of_different_networks(machine: Machine, numbers: set[int]) -> bool:
    """Did each pass over these reach other parameters? Then they are of several networks, not of steps."""
    mine = [one for one in machine.passes if one.call == "backward" and one.used & numbers]
    trained = {id(leaf) for step in machine.steps for leaf in step.leaves}  # an input is another one each time
    reached = [frozenset(id(leaf) for leaf in one.leaves if id(leaf) in trained or not trained) for one in mine]
    return len(set(reached)) == len(reached)


def with_text(machine: Machine, kept: Kept) -> Kept:
    """With what the text of the program says of it, and by the name that the statement has for it that put it there."""
    tree = machine.sources.tree(kept.site.file) if kept.site is not None else None
    if tree is None or kept.site is None:
        return kept
    statement = machine.statements.get((kept.site.file, kept.site.line, kept.site.column))
    given = targets(statement) if statement is not None else []
    words = next((one.text for one in given if stem(one.text) == stem(kept.name)), kept.name)
    kept = replace(kept, name=in_words_of(words, kept.name))
    return replace(kept, forgets=forgets(of_file(tree), kept.name), replaces=has_fixed_places(of_file(tree), kept.name))


def _put_there(node: GraphNode, name: str) -> Site | None:
    """The statement that gave the record its newest value."""
    last = name.rsplit(".", 1)[-1]
    namings = [naming for several in node.names.values() for naming in several]
    own = (one for one in namings if _as_item(one, name, last) and container_of(one.name).endswith(last))
    first = next(own, None)  # the record itself may get further names later
    if first is not None and first.statement is not None:
        return site_of(first.file, first.statement)
    for fits in (_as_item, _as_name):
        for naming in reversed(namings):
            if fits(naming, name, last) and naming.statement is not None:
                return site_of(naming.file, naming.statement)
    return node.where.site if node.where is not None else None


def _as_item(naming: Naming, name: str, last: str) -> bool:
    return "[" in naming.name and naming.kind == "item"


def _as_name(naming: Naming, name: str, last: str) -> bool:
    return naming.name.rsplit(".", 1)[-1] == last


def _steps(machine: Machine, passes: list[PassMade]) -> list[int]:
    """When each step began: an iteration of the innermost loop that holds the pass, however many passes are in it.
    Where there is no loop, each pass begins one. Counted by the statement that comes to most, and by those of another
    training, in a loop that began when that one was over."""
    by_site: dict[Site, dict[tuple[int, int], int]] = {}
    for one in passes:
        iteration = one.where.innermost_iteration
        step = (iteration.entry, iteration.number) if iteration is not None else (0, one.moment)
        by_site.setdefault(one.where.site, {})[step] = machine.iteration_began.get(step, one.moment)
    counted: list[list[int]] = []
    for began in sorted((sorted(steps.values()) for steps in by_site.values()), key=len, reverse=True):
        if not any(began[0] <= other[-1] and other[0] <= began[-1] for other in counted):
            counted.append(began)
    return sorted(moment for began in counted for moment in began)


def _held(machine: Machine, frames: Sequence[Frame] | None = None) -> Iterator[tuple[int, str, Tensor]]:
    """Every tensor with a history that names of the living calls and generators lead to, with the scope: calls inside
    each other may each have a `loss`, and that is no record. Windows of a fixed length are left out."""
    seen: set[int] = set()
    scopes: dict[int, Scope] = {}
    waiting = [one.frame for one in machine.started if not one.done]  # generators that have yielded
    for frame in (*(machine.frames if frames is None else frames), *waiting):
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
        return [(f"{name}[{key}]", one) for key, one in islice(_entries(value), 100)]
    if isinstance(value, deque) and value.maxlen is not None:
        return ()
    if isinstance(value, (list, tuple, deque)):
        return [(f"{name}[{number}]", one) for number, one in enumerate(list(value)[-100:])]
    return ()


def _entries(value: dict[Value, Value]) -> Iterator[tuple[str, Value]]:
    """The entries of a dict. Of those under keys that are not known the newest: it may have replaced the others."""
    unknown = [key for key in value if isinstance(key, Unknown)]
    for key, one in value.items():
        if not isinstance(key, Unknown):
            yield repr(key), one
        elif key is unknown[-1] or not isinstance(one, Tensor):
            yield "...", one
