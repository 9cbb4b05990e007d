"""Looks for faults that raise nothing: what is alive, what gradients pile up, what no pass ever reaches.

A survey is taken a few times in a run (after the first passes of a call site) and once at its end. It keeps names and
numbers, never a tensor.
"""

from __future__ import annotations

import ast
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any

from afterward.follow.flow import receiver
from afterward.follow.reading import reads
from afterward.model.clock import event_moment
from afterward.model.gradients import Entry
from afterward.model.history import (
    Edge,
    Gap,
    History,
    Leaf,
    Number,
    Optimizer,
    Pass,
    Rows,
    Step,
    Value,
)
from afterward.model.names import stem
from afterward.model.site import Where
from afterward.model.steps import with_library_steps
from afterward.observe.failure.walk import LOOK_NODES
from afterward.observe.marks.stack import user_frames
from afterward.observe.marks.statements import COUNTER
from afterward.observe.marks.userfiles import is_user_file
from afterward.observe.node_numbers import next_node, order_of
from afterward.observe.provenance.naming import Names, attributes_on_the_way, living_optimizers, search
from afterward.observe.recording.events import PassSeen, StepSeen, clock_of
from afterward.observe.recording.largest import Largest
from afterward.observe.recording.recorder import Recorder, Recorders
from afterward.observe.replay.ended_run import EndedRun
from afterward.observe.replay.places import Places
from afterward.observe.replay.timing import timings
from afterward.observe.silent.cuts_before_steps import cuts_before_steps, holders_of
from afterward.observe.silent.flat_parts import Bare, find_flat_parts
from afterward.observe.silent.ledger import LedgerWriter, entries_of
from afterward.observe.silent.numbers import numbers_beside
from afterward.observe.silent.records import Records
from afterward.observe.silent.rows import RowNotes
from afterward.observe.silent.touches import steps_not_run, touches_of
from afterward.observe.silent.updates import Known, Updates
from afterward.observe.silent.used_nodes import contains


@dataclass(slots=True)
class Detail:
    """What a look at a pass has shown beside its nodes."""

    seen: PassSeen
    clock: float  # seconds into the watch
    value: float | None
    by_library: bool = False
    released: float | None = None  # when the tensor it started from was dropped, of a pass that keeps its graph
    reference: Any = None

    def follow(self, tensor: Any, clock: Callable[[], float]) -> None:
        """Notice when the program drops a tensor, without keeping it."""

        def dropped(reference: object) -> None:
            with suppress(Exception):  # as Python itself is going, the clock may be gone already
                self.released = clock()

        with suppress(TypeError):  # a pass may start from a gradient edge, which cannot be followed
            self.reference = weakref.ref(tensor, dropped)


class Surveyor:
    """Collects what the surveys of one run have shown, and writes it as a history at the end."""

    def __init__(self, recorders: Recorders, updates: Updates, ledger: LedgerWriter) -> None:
        self.recorders = recorders
        self.updates = updates
        self.ledger = ledger
        self.details: dict[int, Detail] = {}  # by the identity of the pass, which it holds
        self.rows_taken = RowNotes()
        self.largest = Largest()
        self.records = Records()
        self.bare: list[Bare] = []
        self.numbers: list[tuple[PassSeen, Number]] = []  # that the pass at hand did not use
        self.leaf_names: dict[int, str] = {}
        self.leaf_owners: dict[int, frozenset[str]] = {}
        self.values: list[Value] = []  # names of what passes were about to use

    def look(
        self, recorder: Recorder, frame: FrameType | None, seen: PassSeen | None = None, *, early: bool = False
    ) -> None:
        """One survey: who holds what, while a pass is about to run or at the end. An early one tells less."""
        names = search(list(user_frames(frame, is_user_file)), is_user_file)
        # To search all that is alive takes long: while the program runs, those with a name or a step will do.
        self._note_optimizers(living_optimizers(names) if seen is None else self.updates.living() | names.optimizers)
        for address, name in names.leaves.items():
            number = self.updates.leaves.at(address)
            if number is not None:
                self.leaf_names.setdefault(number, name)
                self.leaf_owners.setdefault(number, attributes_on_the_way(name, names.kinds))
        self.records.look(names, recorder, seen, early=early)
        if seen is not None and seen.used is not None:
            self.values += _names_of(names, seen)
            earlier = [
                e for e in recorder.settle() if isinstance(e, PassSeen) and e.site == seen.site and e is not seen
            ]
            since = earlier[-1].counter if earlier else 0
            self.numbers += ((seen, one) for one in numbers_beside(names, seen, since, self.updates.leaves))

    def _note_optimizers(self, found: dict[int, tuple[str, Any]]) -> None:
        for name, optimizer in found.values():
            self.updates.meet(optimizer, name)

    # The end of the run

    def history(self, gaps: Iterable[Gap], *, final: bool = True) -> History:
        """What the looks and surveys of the whole run have shown, as far as it is still in the record.

        While the program goes on nothing is measured, and what comes after the last pass is not judged.
        """
        recorder = self.recorders.main
        self.look(recorder, None)
        self.updates.finish(recorder.moment)
        places = Places(recorder)
        after = EndedRun(recorder, places, self.updates, self.leaf_names, self.leaf_owners)
        leaf_numbers = sorted(after.reached | after.held)
        rows = self.rows_taken.rows(after) if final else {}
        return with_library_steps(
            History(
                (),
                tuple(self._pass(number, event, places, rows) for number, event in enumerate(after.passes)),
                tuple(
                    self._step(number, event, owner, places)
                    for number, (event, owner) in enumerate(zip(after.steps, after.owners, strict=True))
                ),
                leaves=self._leaves(leaf_numbers, after),
                optimizers=tuple(self._optimizers(after)),
                gradients=tuple(self._gradients(after)),
                values=tuple(self.values),
                kept=tuple(self.records.kept(after)),
                cuts=tuple(cuts_before_steps(after)),
                numbers=tuple(self._numbers(after)),
                built=after.built(over=final),
                fed=tuple(find_flat_parts(after, self.bare)),
                timings=tuple(timings(after)) if final else (),
                largest=self.largest.lines(places.sources),
                gaps=tuple(gaps),
            )
        )

    def _leaves(self, leaf_numbers: list[int], after: EndedRun) -> tuple[Leaf, ...]:
        owners: dict[int, list[str]] = {}
        for known in self.updates.known.values():
            for member in known.held:
                owners.setdefault(member, []).append(known.name)
        unchanged, taken = self.updates.untouched, _taken(after)
        held = {leaf: one for known in self.updates.known.values() for leaf, one in known.held.items()}
        assigned = holders_of(after)
        return tuple(
            Leaf(
                leaf,
                self.leaf_names.get(leaf, ""),
                tuple(owners.get(leaf, ())),
                unchanged=leaf in unchanged,
                taken=taken.get(leaf),
                shape=held[leaf].shape if leaf in held else self.updates.shapes.get(leaf),
                trains=leaf not in held or held[leaf].trains,
                met=leaf in after.reached or (leaf in held and held[leaf].reached),
                moved=held[leaf].moved if leaf in held else leaf in self.updates.rewritten,
                assigned=assigned.get(leaf, (None, False))[0],
                constructed=assigned.get(leaf, (None, False))[1],
            )
            for leaf in leaf_numbers
        )

    def _optimizers(self, after: EndedRun) -> Iterator[Optimizer]:
        written = steps_not_run(after)
        for known in self.updates.known.values():
            late = sum(step.moment > known.moved_at for step in after.steps_of(known))
            yield Optimizer(
                known.number,
                known.name,
                frozenset(known.held),
                stem(known.name) in written,
                followed=known.complete,
                of_torch=known.of_torch,
                had_gradient=known.had_gradient,
                still=late if known.still > 1 else known.still,
                gone=event_moment(known.gone_at + 1, 0) if known.gone_at is not None else None,
            )

    def _numbers(self, after: EndedRun) -> Iterator[Number]:
        runs, known = {id(event): number for number, event in enumerate(after.passes)}, after.reached | after.held
        for seen, one in self.numbers:
            if id(seen) in runs:
                yield replace(one, run=runs[id(seen)], takes=one.takes & known, leaves=one.leaves & known)

    def _gradients(self, after: EndedRun) -> Iterator[Entry]:
        runs = {id(event): number for number, event in enumerate(after.passes)}
        steps = {(event.moment, event.optimizer): number for number, event in enumerate(after.steps)}
        looked = {(note.until, note.optimizer) for note in self.ledger.notes}
        blind = [event.moment for event in after.steps if (event.moment, event.optimizer) not in looked]
        return entries_of(
            self.ledger.notes, touches_of(after.trail, after.places.sources, after.places.where), runs, steps, blind
        )

    def _step(self, number: int, event: StepSeen, owner: Known | None, places: Places) -> Step:
        return Step(
            places.where(event.place),
            clock_of(event),
            owner.name if owner is not None else "an optimizer",
            frozenset(owner.held) if owner is not None else frozenset(),
            owner=owner.number if owner is not None else -1,
            id=number,
        )

    def _pass(self, number: int, event: PassSeen, places: Places, rows: dict[int, Rows]) -> Pass:
        detail, where = self.details.get(id(event)), places.where(event.place)
        return Pass(
            number,
            where,
            clock_of(event),
            tuple(Edge(order) for order in event.roots) if not event.one_of_several else (),
            event.call,
            event.retains_graph,
            event.creates_graph,
            None if event.used is None else frozenset(event.used),
            bytes=event.bytes,
            window=event.window,
            reached=event.leaves or frozenset(),
            asked=event.asked & self.updates.held,
            stale=event.stale,
            overwritten=event.overwritten,
            reduced=event.reduced,
            value=detail.value if detail else None,
            clock=detail.clock if detail else None,
            released=detail.released if detail else None,
            still_held=bool(detail and detail.reference is not None and detail.reference() is not None),
            by_library=bool(detail and detail.by_library and not self._asks(event, places)),
            created=self._created(event),
            rows=rows.get(id(event)),
            through=event.through,
            nested=event.nested,
            count=event.count,
            reads=self._reads(event, places),
            receiver=receiver(places.sources, where) if where is not None else "",
        )

    def _reads(self, event: PassSeen, places: Places) -> frozenset[str]:
        chain = event.place.chain() if event.place is not None else []
        statements = [places.sources.statement(place.number) for place in chain]
        return frozenset(name.text for one in statements if one is not None for name in reads(one))

    def _asks(self, event: PassSeen, places: Places) -> bool:
        """Does the statement of the program say itself that the graph is to be kept?"""
        statement = places.sources.statement(event.place.number) if event.place is not None else None
        said = ast.unparse(statement) if statement is not None else ""
        return "retain_graph" in said or "create_graph" in said

    def _created(self, event: PassSeen) -> tuple[int, ...]:
        """The nodes that a pass with `create_graph=True` made: those up to the mark of the next statement."""
        recorder = self.recorders.main
        place = event.moment - recorder.base
        if not event.creates_graph or place < 0:
            return ()
        after = recorder.marks[place] & COUNTER if place < len(recorder.marks) else next_node()
        return (event.counter, after) if after > event.counter else ()


def _names_of(names: Names, seen: PassSeen) -> Iterator[Value]:
    """The names that hold a part of what a pass is about to use."""
    for held in names.held[:LOOK_NODES]:
        order = order_of(held.node)
        if seen.used is not None and contains(seen.used, order):
            yield Value(held.name, held.kind, order, held.output, read_at=clock_of(seen))


def _taken(after: EndedRun) -> dict[int, Where | None]:
    """The statements that take the leaves of the last pass for something that no optimizer holds then."""
    taking = [(run, after.updates.held_at(run.counter)) for run in after.looked if run.taken]
    times = Counter(leaf for run, held in taking for leaf in run.taken if leaf not in held)
    lasting = {leaf for leaf, count in times.items() if count > 1}  # one pass alone: an input of its batch
    last = next((run for run in reversed(after.looked) if lasting & run.taken.keys()), None)
    taken = last.taken if last is not None else {}
    places = {order: after.built_by(order) for order in set(taken.values())}
    return {leaf: after.places.where(places[order]) for leaf, order in taken.items()}
