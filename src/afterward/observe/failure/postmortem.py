"""Reads what is left of a graph whose pass has just failed, and writes the `History` of how it came to that.

Runs once, inside the failing call, while the program's frames are still there. Nothing it touches is kept.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from types import FrameType
from typing import Any

from afterward.follow import flow
from afterward.follow.crossing import Trail
from afterward.follow.path import Place
from afterward.model.gradients import MISSING, PRODUCED, REPLACED, Entry
from afterward.model.history import UNKNOWN_OUTPUT, Edge, Gap, History, Leaf, Node, Pass, Step
from afterward.model.reuse import find_reuse
from afterward.model.site import Where
from afterward.model.steps import with_library_steps
from afterward.observe import compat
from afterward.observe.failure.frozen import frozen_by, stepped_after
from afterward.observe.failure.graph import Graph, graph_behind
from afterward.observe.failure.hidden_saves import with_hidden
from afterward.observe.failure.node_reader import FailedGraph
from afterward.observe.failure.walk import leading_to, roots_of
from afterward.observe.failure.writes import find_writes, with_rewritten
from afterward.observe.looking import is_fused, parameters_held_by, warn
from afterward.observe.marks.lines import TRACED
from afterward.observe.marks.stack import (
    function_around,
    library_calls,
    runs_inside_another,
    step_around,
    user_frames,
)
from afterward.observe.marks.statements import COUNTER
from afterward.observe.node_numbers import next_node, order_of
from afterward.observe.provenance.bridges import Bridges
from afterward.observe.provenance.cuts import find_cuts
from afterward.observe.provenance.naming import Names, living_optimizers, search
from afterward.observe.provenance.sources import Sources
from afterward.observe.recording.events import PassSeen, StepSeen, clock_of
from afterward.observe.recording.gc_pause import collector_at_rest
from afterward.observe.recording.recorder import Recorder, Recorders
from afterward.observe.recording.replicas import searches_for_unused
from afterward.observe.replay.places import Wording
from afterward.observe.silent.ledger import LedgerWriter, entries_of
from afterward.observe.silent.touches import touches_of

TRAIL = 50_000  # statements followed back, for names and cuts


def examine(
    recorders: Recorders,
    error: BaseException,
    kind: str,
    outputs: Any,
    inputs: Iterable[Any],
    *,
    frame: FrameType,
    is_user: Any,
    gaps: list[Gap],
    ledger: LedgerWriter,
) -> History:
    """The history of a pass that has just raised `error`."""
    with collector_at_rest():
        if not recorders.is_marking():
            warn(TRACED)
            recorders.current().forget_marks()
        autopsy = Autopsy(recorders.current(), is_user, ledger)
        autopsy.look(outputs, list(inputs), frame)
        history = autopsy.history(error, kind, frame, tuple(gaps))
    if len(recorders.others) > 0 and any(r.marks for r in recorders.others.values()):
        history = replace(history, gaps=(*history.gaps, Gap("nodes made in other threads could not be distinguished")))
    return history


class Autopsy:
    """What is found out about one failing pass while torch's objects are at hand, and then told as a `History`."""

    def __init__(self, recorder: Recorder, is_user: Any, ledger: LedgerWriter) -> None:
        self.recorder = recorder
        self.ledger = ledger
        self.is_user = is_user
        self.sources = Sources(recorder.statements)
        self.wording = Wording(self.sources)
        self.where = self.wording.where
        self.trail: list[Place] = []
        self.names = Names()

    # Gathering, while torch's objects are at hand

    def look(self, outputs: Any, inputs: list[Any], frame: FrameType) -> None:
        self.inputs = inputs
        self.outputs = outputs
        self.look_from(roots_of(outputs), list(user_frames(frame, self.is_user)))

    def look_from(self, roots: list[tuple[Any, int]], frames: list[FrameType]) -> None:
        """Walk the graph, and search for names in the frames, innermost first."""
        self.roots = roots
        self.frames = frames
        self.names = search(self.frames, self.is_user)
        self.optimizers = _optimizers(self.names)  # among all that is alive: before a large graph adds to that
        self.gathered = {id(part): whole for part, whole in compat.gathered_parameters()}
        self.found: Graph = graph_behind(node for node, _ in self.roots)
        self.orders = self.found.orders
        self.failed_graph = FailedGraph(self.found)
        self.places = self._replay()
        self.paths = Trail(self.sources, self.trail)

    def _replay(self) -> dict[int, Place]:
        """The place of every node of the failing graph, by its order; events get theirs on the way."""
        recorder = self.recorder
        marks = recorder.marks[:]
        marks.append(next_node() | (marks[-1] & ~COUNTER if marks else 0))
        seen = recorder.not_finite
        wanted = sorted((*self.orders, *([seen.order] if seen is not None else ())))
        del wanted[bisect_left(wanted, compat.LEAF_ORDER) :]  # the largest of all
        answers: dict[int, Place] = {}
        due = [event for event in recorder.settle() if event.place is None]
        machine = recorder.replay.copy()
        untold = range(recorder.base, recorder.base + max(len(marks) - TRAIL, 0))
        machine.feed(marks, recorder.base, due=due, answers=answers, wanted=wanted, trail=self.trail, untold=untold)
        kept = recorder.replay.kept
        starts = [first for first, _, _ in kept]
        for order in wanted:
            if order not in answers and kept:
                position = bisect_right(starts, order) - 1
                if position >= 0 and kept[position][0] <= order < kept[position][1]:
                    answers[order] = kept[position][2]
        return answers

    def rewind(self, file: str, line: int) -> None:
        """Forget what ran while an exception of this line made its way up: `finally` blocks and the like."""
        for last in range(len(self.trail) - 1, -1, -1):
            statement = self.sources.statements.table[self.trail[last].number]
            if statement.file == file and statement.line <= line <= statement.end_line:
                del self.trail[last + 1 :]
                return

    # Writing the history

    def history(self, error: BaseException, kind: str, frame: FrameType, gaps: tuple[Gap, ...]) -> History:
        nodes = self.failed_graph.nodes(self.places, self.wording)
        late, passes = self._passes(error, kind, frame)
        if kind == "inplace":
            nodes = with_hidden(nodes, self.found, str(error), self.sources)
        return self.told(nodes, late, passes, gaps)

    def told(self, nodes: tuple[Node, ...], late: Pass, passes: tuple[Pass, ...], gaps: tuple[Gap, ...]) -> History:
        """The history, with what its broken pass makes worth finding out."""
        kind, gradients = late.error, tuple(self._gradients())
        steps = (*self._steps(gradients), *self._step_under_way(late, passes))
        first = with_library_steps(History(nodes, passes, steps, leaves=self._leaves(), gradients=gradients, gaps=gaps))
        late = next(run for run in first.passes if run.id == late.id)
        if kind == "no_grad":
            frozen = frozen_by(self.sources, late, self.trail, self.frames, self.where)
            cuts = (frozen,) if frozen is not None else find_cuts(self.paths, late, self.trail, self.where)
            return replace(first, cuts=cuts)
        if kind == "inplace":
            spoilt = self.failed_graph.spoilt(nodes)
            writes = find_writes(self.paths, nodes, spoilt, self.trail, self.frames, self.names, self.where)
            first = replace(first, writes=writes)
        reuse = find_reuse(first, late)
        if reuse is None:
            return first
        first = with_rewritten(first, reuse, self.paths, self.trail) if kind == "second_backward" else first
        bridges = Bridges(self.sources, self.trail, self.paths, self.places)
        values = bridges.values(reuse, self.names, self.found)
        repeats = flow.repeated(self.sources, self.trail, reuse.early, reuse.late)
        return replace(first, values=values, fed=bridges.fed(first, reuse), repeats=repeats)

    def _leaves(self) -> tuple[Leaf, ...]:
        owners: dict[int, list[str]] = {}
        for name, optimizer in self.optimizers.values():
            for parameter in self._held_by(optimizer):
                owners.setdefault(id(parameter), []).append(name)
        names = {id(whole): self.names.leaves.get(part, "") for part, whole in self.gathered.items()}
        names |= self.names.leaves
        return tuple(
            Leaf(number, names.get(id(variable), ""), tuple(owners.get(id(variable), ())))
            for number, variable in enumerate(self.failed_graph.variables)
        )

    def _held_by(self, optimizer: Any) -> list[Any]:
        """The parameters of an optimizer, and what FSDP2 computes with in their place."""
        held = parameters_held_by(optimizer) if optimizer is not None else []
        return [*held, *(self.gathered[id(one)] for one in held if id(one) in self.gathered)]

    def _passes(self, error: BaseException, kind: str, frame: FrameType) -> tuple[Pass, tuple[Pass, ...]]:
        roots = tuple(order_of(node) for node, _ in self.roots)
        seen = self.passes_seen()
        failing = self._failing_event(seen, roots)
        if failing is None:
            raise LookupError("the failing pass was not recorded")
        passes = self.passes(seen, failing)
        at = next(number for number, event in enumerate(seen) if event is failing)
        passes[at] = self._failing(passes[at], error, kind, frame)
        return passes[at], tuple(passes)

    def passes_seen(self) -> list[PassSeen]:
        return [event for event in self.recorder.settle() if isinstance(event, PassSeen)]

    def passes(self, seen: list[PassSeen], failing: PassSeen | None = None) -> list[Pass]:
        """The passes that were recorded, in the model's words."""
        by_order = {order: position for position, order in enumerate(self.orders) if order != compat.LEAF_ORDER}
        alive = {held.tensor: held.node for held in self.names.held}
        passes = []
        for number, event in enumerate(seen):
            used: Sequence[int] | None = event.used
            root = alive.get(event.tensor)
            # A tensor made later may lie where the root lay: its node is then younger than the pass.
            if used is None and event is not failing and root is not None and order_of(root) < event.counter:
                used = self._orders_from(root)
                event.roots = (order_of(root),)
            where = self.where(event.place)
            run = Pass(
                number,
                where,
                clock_of(event),
                _roots(event, by_order),
                event.call,
                event.retains_graph,
                event.creates_graph,
                None if used is None else _common(used, by_order),
                bytes=event.bytes,
                nodes=len(event.used or ()),
                optimizers=self._owners(event.leaves),
                reached=self._known(event.leaves),
                stale=self._known(event.stale),
                overwritten=self._known(event.overwritten),
                reduced=self._known(event.reduced),
                through=event.through,
                nested=event.nested,
                count=event.count,
            )
            passes.append(run)
        return passes

    def _orders_from(self, root: Any) -> list[int]:
        """The orders of all nodes that a pass from this one goes through, in rising order."""
        start = self.found.place_of(root)
        if start is None:
            return sorted(graph_behind([root]).orders)
        if start == 0 and len(self.roots) == 1:  # all was found from here
            return sorted(self.orders)
        met, todo = {start}, [start]
        while todo:
            below = [place for place, _ in self.found.links(todo.pop()) if place >= 0 and place not in met]
            met.update(below)
            todo += below
        return sorted([self.orders[place] for place in met])

    def _failing_event(self, seen: list[PassSeen], roots: tuple[int, ...]) -> PassSeen | None:
        """The pass that failed: by its root, or the last one that starts from the line which is running now.

        It need not be the last one: inner passes (of a checkpoint, say) may have come and gone within it.
        """
        roots_now = {id(output) for output in self.outputs} if isinstance(self.outputs, (tuple, list)) else set()
        for event in reversed(seen):
            if event.roots == roots or event.tensor in roots_now:
                return event
        return seen[-1] if seen else None

    def _known(self, leaves: frozenset[int] | None) -> frozenset[int]:
        """Of the leaves that a look has shown, those of the failing graph."""
        if leaves is None:
            return frozenset()
        known = ((self.ledger.leaves.at(address), leaf) for address, leaf in self.failed_graph.leaf_ids.items())
        return frozenset(leaf for number, leaf in known if number in leaves)

    def _gradients(self) -> Iterator[Entry]:
        """The gradient ledger up to now, of the leaves of the failing graph."""
        events = self.recorder.settle()
        runs = {id(event): n for n, event in enumerate(e for e in events if isinstance(e, PassSeen))}
        steps = [event for event in events if isinstance(event, StepSeen)]
        numbers = {(event.moment, event.optimizer): n for n, event in enumerate(steps)}
        touches = touches_of(self.trail, self.sources, self.where)
        for entry in entries_of(self.ledger.notes, touches, runs, numbers):
            mine = self._known(entry.leaves)
            if mine or not entry.leaves:
                yield replace(entry, leaves=mine)

    def _owners(self, leaves: frozenset[int] | None) -> frozenset[str] | None:
        """The optimizers of the leaves that a pass reached, by the leaves' identities."""
        if leaves is None:
            return None
        return frozenset(
            name
            for name, optimizer in self.optimizers.values()
            if any(self.ledger.leaves.at(id(p)) in leaves for p in self._held_by(optimizer))
        )

    def _failing(self, run: Pass, error: BaseException, kind: str, frame: FrameType) -> Pass:
        positions = leading_to(self.found, self.inputs) if self.inputs else range(len(self.found))
        return replace(
            run,
            used=frozenset(positions),
            roots=tuple(Edge(self.found.place_of(node) or 0, output) for node, output in self.roots),
            error=kind,
            message=str(error),
            nested_in=function_around(frame, self.is_user),
            nested=runs_inside_another(frame, compat.backward_entry()),
            through=library_calls(frame, self.is_user),
            parameter=(twice := compat.parameter_ready_twice(error) if kind == "ddp_ready_twice" else ""),
            searched=bool(twice) and searches_for_unused(twice),
            read_in=self._read_in(error),
            receiver=flow.receiver(self.sources, run.where) if run.where is not None else "",
            trains=frozenset(
                self.optimizers.get(id(one), ("", None))[0] for one in stepped_after(self.sources, run, self.frames)
            ),
        )

    def _read_in(self, error: BaseException) -> Where | None:
        """The statement of a custom function's own backward that met the error, if there is one."""
        below = []
        traceback = error.__traceback__
        while traceback is not None:
            if self.is_user(traceback.tb_frame.f_code.co_filename):
                below.append(traceback.tb_frame)
            traceback = traceback.tb_next
        return self.where(self.trail[-1]) if below and self.trail else None

    def _steps(self, gradients: Sequence[Entry]) -> Iterator[Step]:
        """The steps, each with what it may have changed: a leaf that never had a gradient stays as it is."""
        kept: dict[int, frozenset[int]] = {}
        produced: set[int] = set()
        for entry in gradients:
            if entry.what == MISSING:  # also one of zeros, with which a step does write
                kept[entry.step] = entry.leaves - produced
            produced |= entry.leaves if entry.what in (PRODUCED, REPLACED) else frozenset()
        number = 0
        for event in self.recorder.settle():
            if not isinstance(event, StepSeen):
                continue
            name, optimizer = self.optimizers.get(event.optimizer, ("an optimizer", None))
            held = self._held_by(optimizer)
            leaves = frozenset(self.failed_graph.leaf_ids[id(p)] for p in held if id(p) in self.failed_graph.leaf_ids)
            # What was gathered is written again from the parts that were stepped, which no version counter shows.
            fused = optimizer is not None and (is_fused(optimizer) or any(id(p) in self.gathered for p in held))
            where, changed = self.where(event.place), leaves - kept.get(number, frozenset())
            yield Step(where, clock_of(event), name, changed, unnoticed=fused, id=number)
            number += 1

    def _step_under_way(self, late: Pass, passes: Sequence[Pass]) -> Iterator[Step]:
        """The step that calls the closure in which the pass failed: it changed parameters after an earlier call."""
        address, inside = step_around(self.frames, self.optimizers)
        if late.where is None or not late.stale or not 0 < inside < len(late.where.levels):
            return
        where = Where(late.where.levels[:-inside])
        before = [run.moment for run in passes if run.id < late.id and run.where and run.where.runs_under(where)]
        if before:
            name, optimizer = self.optimizers[address]
            held = (self.failed_graph.leaf_ids.get(id(one)) for one in self._held_by(optimizer))
            yield Step(where, before[-1] + 1, name, frozenset(leaf for leaf in held if leaf in late.stale))


def _roots(event: PassSeen, by_order: dict[int, int]) -> tuple[Edge, ...]:
    """What a pass started from, as far as it is part of the failing graph."""
    outputs = event.outputs if len(event.outputs) == len(event.roots) else (UNKNOWN_OUTPUT,) * len(event.roots)
    pairs = zip(event.roots, outputs, strict=True)
    return tuple(Edge(by_order[order], output) for order, output in pairs if order in by_order)


def _common(used: Any, by_order: dict[int, int]) -> frozenset[int]:
    """Positions of the failing graph's nodes among the orders that a pass used."""
    return frozenset(map(by_order.__getitem__, by_order.keys() & used))


def _optimizers(names: Names) -> dict[int, tuple[str, Any]]:
    """Every living optimizer, each under a name of its own."""
    found = living_optimizers(names)
    taken: dict[str, int] = {}
    for number, (name, optimizer) in found.items():  # two objects may both be `self.opt`, each in its own call
        taken[name] = taken.get(name, 0) + 1
        if taken[name] > 1:
            found[number] = (f"{name} ({taken[name]})", optimizer)
    return found
