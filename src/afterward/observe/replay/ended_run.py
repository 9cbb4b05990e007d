"""All that is at hand once a run is over: its events with their places, the statements that ran, and the names."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from afterward.follow.built import statements_built
from afterward.follow.crossing import Trail
from afterward.follow.path import Place
from afterward.follow.reading import targets
from afterward.model.built import Built
from afterward.model.clock import event_moment
from afterward.model.names import stem
from afterward.model.site import Site
from afterward.observe.marks.statements import COUNTER, SHIFT
from afterward.observe.node_numbers import next_node
from afterward.observe.recording.events import PassSeen, StepSeen
from afterward.observe.recording.recorder import OPENING, Recorder
from afterward.observe.replay.places import Places
from afterward.observe.replay.replay import Replay
from afterward.observe.silent.updates import Known, Updates


@dataclass
class EndedRun:
    """What the judges of silent faults read. `leaf_names` come from the surveys."""

    recorder: Recorder
    places: Places
    updates: Updates
    leaf_names: dict[int, str]
    leaf_owners: dict[int, frozenset[str]] = field(default_factory=dict)  # by class, the attributes that lead to it
    events: list[PassSeen | StepSeen] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.events = self.recorder.settle()

    @cached_property
    def passes(self) -> list[PassSeen]:
        """Every pass that is still on record."""
        return [event for event in self.events if isinstance(event, PassSeen)]

    @cached_property
    def looked(self) -> list[PassSeen]:
        """The passes whose graph was looked at."""
        return [event for event in self.passes if event.used is not None]

    @cached_property
    def reached(self) -> frozenset[int]:
        """Every leaf that a pass was seen to reach."""
        return frozenset(leaf for event in self.passes for leaf in event.leaves or ())

    @cached_property
    def held(self) -> frozenset[int]:
        """Every parameter that an optimizer was seen to hold."""
        return self.updates.held

    @cached_property
    def steps(self) -> list[StepSeen]:
        return [event for event in self.events if isinstance(event, StepSeen)]

    @cached_property
    def owners(self) -> list[Known | None]:
        """Whose each of the steps was."""
        return [self.updates.owner_of(event.optimizer, event.counter) for event in self.steps]

    def steps_of(self, known: Known) -> list[StepSeen]:
        return [event for event, owner in zip(self.steps, self.owners, strict=True) if owner is known]

    @cached_property
    def trail(self) -> list[Place]:
        """Every statement that ran, in order; of a long run, those at its beginning and at its end."""
        recorder = self.recorder
        marks = recorder.marks[:]
        trail: list[Place] = []
        if marks:
            marks.append(marks[-1])
            if recorder.base:
                Replay(recorder.statements).feed(recorder.opening, 0, answers={}, trail=trail)
            untold = range(max(self._unfollowed.start, recorder.base), self._unfollowed.stop)
            recorder.replay.copy().feed(marks, recorder.base, answers={}, trail=trail, untold=untold)
        return trail

    @cached_property
    def _unfollowed(self) -> range:
        """The moments between the beginning and the end of a run that is too long to be followed as a whole."""
        recorder = self.recorder
        first = max(len(recorder.opening) - 1, 0) if recorder.base else OPENING
        return range(first, max(recorder.moment - OPENING, recorder.base, first))

    @property
    def first_marks(self) -> array[int]:
        """The marks of the beginning of the run: the trail has a place for each, in the same order."""
        recorder = self.recorder
        return recorder.opening if recorder.base else recorder.marks[: self._unfollowed.start]

    @cached_property
    def paths(self) -> Trail:
        return Trail(self.places.sources, self.trail, self._unfollowed.start if self._unfollowed else None)

    @property
    def followed_nodes(self) -> int:
        """How many nodes the statements of the trail have made."""
        if not self.trail:
            return 0
        now = next_node() or max(place.order_at for place in self.trail)
        first = min(place.order_at for place in self.trail)
        if not self._unfollowed:
            return now - first
        # A caller's statement stands in the trail where its call ended, so the counters are not in order.
        before = [place.order_at for place in self.trail if place.moment < self._unfollowed.start]
        after = [place.order_at for place in self.trail if place.moment >= self._unfollowed.stop]
        return max(before, default=first) - first + now - min(after, default=now)

    @cached_property
    def executions(self) -> dict[int, list[tuple[Place, Place]]]:
        """By statement: each time it ran, and where the call that it belongs to went on."""
        found: dict[int, list[tuple[Place, Place]]] = {}
        for places in self.paths.by_call.values():
            for place, follower in self.paths.pairs(places):
                found.setdefault(place.number, []).append((place, follower))
        return found

    def built(self, *, over: bool) -> Built:
        """The nodes that each execution of a statement built."""
        pairs = (pair for several in self.executions.values() for pair in several)
        found = statements_built(self.places.sources, pairs, lambda place: event_moment(place.order_at, place.moment))
        return Built(found, self.followed_nodes, over)

    def places_of(self, orders: Iterable[int]) -> dict[int, Place]:
        """The statements that made these nodes, as far as they are still on record."""
        marks, found = self.recorder.marks[:], dict[int, Place]()
        if marks and (wanted := sorted(orders)):
            marks.append(marks[-1])
            self.recorder.replay.copy().feed(marks, self.recorder.base, answers=found, wanted=wanted)
        return found

    def built_by(self, order: int) -> Place | None:
        """The innermost statement whose execution, calls included, made a node."""
        best: Place | None = None
        for places in self.paths.by_call.values():
            for place, follower in self.paths.pairs(places):
                if place.order_at <= order < follower.order_at and (best is None or place.order_at >= best.order_at):
                    best = place
        return best

    def built_by_mark(self, place: Place) -> int:
        """How many nodes were made from a mark to the next: by the statement, if it calls nothing that is marked."""
        recorder, after = self.recorder, place.moment + 1
        if after >= recorder.base:
            marks, at = recorder.marks, after - recorder.base
        else:
            marks, at = recorder.opening, after
        return (marks[at] & COUNTER) - place.order_at if at < len(marks) else 0

    @cached_property
    def counters(self) -> list[int]:
        """The node counter as each pass began."""
        return [event.counter for event in self.passes]

    def last_assigning(self, name: str) -> tuple[Site | None, bool]:
        """The statement that was last to put something into this name, and whether that is in an `__init__`."""
        wanted: dict[int, bool] = {}
        for mark in reversed(self.recorder.marks):
            number = mark >> SHIFT
            if number not in wanted:
                statement = self.places.sources.statement(number)
                found = statement is not None and any(stem(t.text) == stem(name) for t in targets(statement))
                wanted[number] = found
            if wanted[number]:
                entry = self.places.table[number]
                return self.places.sources.site(entry), entry.function.endswith("__init__")
        return None, False
