"""Looks for faults that raise nothing: what is alive, what gradients pile up, what no pass ever reaches.

A survey is taken a few times in a run (after the first passes of a call site) and once at its end. It keeps names and
numbers, never a tensor.
"""

from __future__ import annotations

import ast
import weakref
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any

from afterward.follow.flow import receiver
from afterward.follow.reading import head, reads
from afterward.model.gradients import Entry
from afterward.model.history import (
    Edge,
    Gap,
    History,
    Kept,
    Leaf,
    Number,
    Optimizer,
    Pass,
    Rows,
    Step,
    Value,
)
from afterward.model.names import container_of, form_of, stem
from afterward.model.operations import JOINING, operation
from afterward.model.records import are_under_keys, forgets, has_fixed_places
from afterward.model.site import Where
from afterward.model.steps import with_library_steps
from afterward.observe import compat
from afterward.observe.failure.walk import saved_bytes, walk
from afterward.observe.marks.stack import user_frames
from afterward.observe.marks.statements import COUNTER, SHIFT
from afterward.observe.marks.userfiles import is_user_file
from afterward.observe.node_numbers import next_node, order_of
from afterward.observe.provenance.naming import WINDOW, Held, Names, living_optimizers, search
from afterward.observe.recording.events import PassSeen, StepSeen, clock_of
from afterward.observe.recording.largest import Largest
from afterward.observe.recording.recorder import Recorder, Recorders
from afterward.observe.replay.ended_run import EndedRun
from afterward.observe.replay.places import Places
from afterward.observe.replay.timing import timings
from afterward.observe.silent.cuts_before_steps import cuts_before_steps, holders_of
from afterward.observe.silent.flat_parts import Bare, find_flat_parts
from afterward.observe.silent.growth import Grown
from afterward.observe.silent.ledger import LedgerWriter, entries_of
from afterward.observe.silent.numbers import numbers_beside
from afterward.observe.silent.rows import RowNotes
from afterward.observe.silent.stored_graphs import Storage, of_several
from afterward.observe.silent.touches import steps_not_run, touches_of
from afterward.observe.silent.updates import Known, Updates
from afterward.observe.silent.used_nodes import contains

NEARLY = 0.8  # of the steps that have gone by must have left something in a container of objects
SLOW = 2  # of values under keys, graphs of every second step at least: a record, not the newest of each
MANY = 8  # graphs that lie in a container unused, before its source is not asked whether it forgets them
STEPS = 3  # graphs of at least so many steps must be kept before a log is called a leak
NODES = 4000  # of a kept graph, looked at


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
        self.kept: dict[str, Kept] = {}
        self.rows: dict[str, tuple[int, int]] = {}  # of how many steps attributes of elements were, of how many in all
        self.rows_taken = RowNotes()
        self.storage = Storage()
        self.largest = Largest()
        self.grown = Grown()
        self.bare: list[Bare] = []
        self.numbers: list[tuple[PassSeen, Number]] = []  # that the pass at hand did not use
        self.leaf_names: dict[int, str] = {}
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
        self._note_kept(names, recorder, seen, early=early)
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

    def _note_kept(self, names: Names, recorder: Recorder, seen: PassSeen | None, *, early: bool) -> None:
        """Values that hold graphs of several past steps: many in a container, or one sum of many."""
        # Only a pass that frees ends a step: inner passes of one step (`grad`, `retain_graph`) do not.
        backward = [e for e in recorder.settle() if isinstance(e, PassSeen) and e.call == "backward"]
        passes = [e for e in backward if not e.retains_graph] or backward
        counters = _one_per_step(passes, recorder)
        used = [event.used for event in passes if event.used is not None]
        now = next_node()
        # What was built since the pass before the one at hand belongs to a step that is not over.
        over = counters[: -1 if counters and seen is not None and counters[-1] == seen.counter else None]
        until = now + 1 if seen is None else over[-1] if over else 0
        if not early:
            self.storage.look(names, counters, now, at_end=seen is None)
        groups: dict[str, list[Held]] = {}
        for held in names.held:
            groups.setdefault(container_of(held.name), []).append(held)
        if early:  # so few values under keys may each be the newest of its kind
            groups = {name: held for name, held in groups.items() if len(held) == 1 or not _under_keys(held)}
        else:
            groups |= self._rows(groups, counters)
        for name, members in groups.items():
            if name in names.windows:
                continue  # the last few are kept, and no more come to it
            ages = {bisect_right(counters, n) for held in members if (n := order_of(held.node)) < until}
            found = walk_some(held.node for held in members)
            orders = [order_of(node) for node in found]
            sums = list(_sums(members))
            inner = orders if len(sums) == len(members) else [order_of(node) for node in walk_some(sums)]
            depth = {bisect_right(counters, order) for order in inner if order < until}
            steps = min(max(len(ages), len(depth)), len(counters))
            oldest = min(order_of(held.node) for held in members)
            grown = not early and "[" in members[0].name and self.grown.since(name, oldest, found, now)
            if steps < max(STEPS, self.kept[name].steps if name in self.kept else 0):
                continue
            if not grown and not _used_apart(orders, passes):
                continue
            if any(sum(contains(one, order) for one in used) > 1 for order in orders):
                continue  # passes walk it again and again: a state, not a record
            under_keys = _under_keys(members)
            if under_keys and len(depth) < STEPS and SLOW * len(ages) < len(counters):
                continue  # a few values, each replaced now and then
            by_count = under_keys and len(ages) == steps
            past = [node for node, order in zip(found, orders, strict=True) if order < until]
            leaves = [node for node, order in zip(found, orders, strict=True) if order == compat.LEAF_ORDER]
            size, several = saved_bytes([*past, *leaves]), of_several(members)
            self.kept[name] = Kept(name, steps, len(past), size, by_count=by_count, of_several=several)

    def _rows(self, groups: dict[str, list[Held]], counters: list[int]) -> dict[str, list[Held]]:
        """Containers whose elements keep something as an attribute, as `log[3].loss`: those that have grown since.

        Such elements may also be the networks or agents of the program, each with the newest of its own.
        """
        rows: dict[str, list[Held]] = {}
        for name, members in groups.items():
            if "]." in name:
                rows.setdefault(form_of(name), []).extend(members)
        grown: dict[str, list[Held]] = {}
        for form, members in rows.items():
            ages = len({bisect_right(counters, order_of(held.node)) for held in members})
            known, self.rows[form] = self.rows.get(form), (ages, len(counters))
            if known is not None and ages > STEPS and ages - known[0] >= NEARLY * max(len(counters) - known[1], 1):
                grown.setdefault(form.split("[")[0], members)
        return {name: members for name, members in grown.items() if name not in groups}

    @property
    def suspects(self) -> bool:
        """Is there something that only a later survey can tell from what is all right?"""
        return self.storage.suspects or any(ages >= STEPS for ages, _ in self.rows.values())

    def _kept(self, places: Places, passes: list[PassSeen]) -> Iterable[Kept]:
        """What is kept, each once: inside a method it goes by `self.log`, outside by `trainer.log`."""
        best: dict[object, Kept] = {}
        executed = places.executed if self.kept or self.storage.any else ()
        ran = [node for number in executed for node in _nodes_of(places.sources.statement(number))]
        records = [
            one
            for one in (replace(each, name=places.in_own_words(each.name)) for each in self.kept.values())
            if one.steps > WINDOW or not (forgets(ran, one.name) or (one.by_count and has_fixed_places(ran, one.name)))
        ]
        stored = (one for one in self.storage.kept(passes) if one.steps >= MANY or not forgets(ran, one.name))
        for one in (*records, *stored):
            one = replace(one, site=places.assigning(one.name))
            key = (one.site, stem(one.name)) if one.site is not None else one.name
            if key not in best or one.steps > best[key].steps:
                best[key] = one
        return best.values()

    # The end of the run

    def history(self, gaps: Iterable[Gap], *, final: bool = True) -> History:
        """What the looks and surveys of the whole run have shown, as far as it is still in the record.

        While the program goes on nothing is measured, and what comes after the last pass is not judged.
        """
        recorder = self.recorders.main
        self.look(recorder, None)
        self.updates.finish(recorder.moment)
        places = Places(recorder)
        after = EndedRun(recorder, places, self.updates, self.leaf_names)
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
                kept=tuple(self._kept(places, after.passes)),
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
                moved=leaf in held and held[leaf].moved,
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
        return entries_of(self.ledger.notes, touches_of(after), runs, steps, blind)

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
    for held in names.held[:NODES]:
        order = order_of(held.node)
        if seen.used is not None and contains(seen.used, order):
            yield Value(held.name, held.kind, order, held.output, read_at=clock_of(seen))


def _taken(after: EndedRun) -> dict[int, Where | None]:
    """The statements that take the leaves of the last pass for something that no optimizer holds."""
    times = Counter(leaf for run in after.looked for leaf in run.taken if leaf not in after.held)
    lasting = {leaf for leaf, count in times.items() if count > 1}  # one pass alone: an input of its batch
    last = next((run for run in reversed(after.looked) if lasting & run.taken.keys()), None)
    taken = last.taken if last is not None else {}
    places = {order: after.built_by(order) for order in set(taken.values())}
    return {leaf: after.places.where(places[order]) for leaf, order in taken.items()}


def _under_keys(members: list[Held]) -> bool:
    return are_under_keys([held.name for held in members])


def _nodes_of(statement: ast.stmt | None) -> Iterator[ast.AST]:
    """What a statement does itself: of a compound one, its head."""
    for part in head(statement) if statement is not None else ():
        yield from ast.walk(part)


def walk_some(starts: Iterable[Any]) -> list[Any]:
    """The nodes behind these, up to a limit."""
    found = walk(starts, limit=NODES)
    return found.nodes


def _one_per_step(passes: list[PassSeen], recorder: Recorder) -> list[int]:
    """The node counter at each pass of the busiest site: a step may hold passes of several sites."""
    by_site: dict[int, list[int]] = {}
    for event in passes:
        before = event.moment - recorder.base - 1  # the mark of the statement that called it
        noted = recorder.marks[before] >> SHIFT if 0 <= before < len(recorder.marks) else -1
        site = event.site if event.site >= 0 else noted
        if site >= 0:
            by_site.setdefault(site, []).append(event.counter)
    return max(by_site.values(), key=len, default=[])


def _sums(members: Iterable[Held]) -> Iterator[Any]:
    """The nodes of those values that are sums."""
    return (held.node for held in members if operation(held.node.name()) in JOINING)


def _used_apart(orders: list[int], passes: list[PassSeen]) -> bool:
    """Have several passes used these, some of them for the same parameters?

    What one pass has used as a whole is its rollout. What each used for other parameters is one iteration over several
    networks. Neither is a record of many steps. A leaf that one pass alone reaches is an input of its batch.
    """
    reached = Counter(leaf for run in passes for leaf in run.leaves or ())
    mine = [run for run in passes if run.used is not None and any(contains(run.used, order) for order in orders)]
    trained = (frozenset(leaf for leaf in run.leaves or () if reached[leaf] > 1) or run.leaves for run in mine)
    return len(set(trained)) < len(mine)
