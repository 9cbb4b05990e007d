"""All that is at hand once a run is over: its events with their places, the statements that ran, and the names."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from afterward.model.site import Site
from afterward.observe.crossing import Trail
from afterward.observe.places import Places
from afterward.observe.recorder import PassSeen, Recorder, StepSeen
from afterward.observe.replay import Place
from afterward.observe.sources import stem, targets
from afterward.observe.statements import SHIFT
from afterward.observe.updates import Updates

MARKS = 200_000  # a longer record is not followed statement by statement


@dataclass
class Aftermath:
    """What the judges of silent faults read. `leaf_names` and `optimizers` come from the surveys."""

    recorder: Recorder
    places: Places
    updates: Updates
    leaf_names: dict[int, str]
    optimizers: dict[int, tuple[str, frozenset[int], bool]]
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
        return [event for event in self.passes if event.swept is not None]

    @cached_property
    def reached(self) -> frozenset[int]:
        """Every leaf that a pass was seen to reach."""
        return frozenset(leaf for event in self.passes for leaf in event.leaves or ())

    @cached_property
    def held(self) -> frozenset[int]:
        """Every parameter that an optimizer was seen to hold."""
        surveyed = {leaf for _, members, _ in self.optimizers.values() for leaf in members}
        return frozenset(surveyed | {leaf for known in self.updates.known.values() for leaf in known.held})

    def steps_of(self, optimizer: int) -> list[StepSeen]:
        return [event for event in self.events if isinstance(event, StepSeen) and event.optimizer == optimizer]

    @cached_property
    def trail(self) -> list[Place]:
        """Every statement that ran, in order; none where the record is too long or has lost its beginning."""
        marks = self.recorder.marks[:]
        trail: list[Place] = []
        if marks and len(marks) <= MARKS and not self.recorder.base:
            marks.append(marks[-1])
            self.recorder.replay.copy().feed(marks, self.recorder.base, answers={}, trail=trail)
        return trail

    @cached_property
    def paths(self) -> Trail:
        return Trail(self.places.sources, self.trail)

    @cached_property
    def executions(self) -> dict[int, list[tuple[Place, int]]]:
        """By statement: each time it ran, and the node counter when the call it belongs to went on."""
        found: dict[int, list[tuple[Place, int]]] = {}
        for places in self.paths.by_call.values():
            for place, follower in pairwise(places):
                found.setdefault(place.number, []).append((place, follower.order_at))
        return found

    @cached_property
    def counters(self) -> list[int]:
        """The node counter as each pass began."""
        return [event.counter for event in self.passes]

    def last_assigning(self, name: str) -> Site | None:
        """The statement that was last to put something into this name."""
        wanted: dict[int, bool] = {}
        for mark in reversed(self.recorder.marks):
            number = mark >> SHIFT
            if number not in wanted:
                statement = self.places.sources.statement(number)
                found = statement is not None and any(stem(t.text) == stem(name) for t in targets(statement))
                wanted[number] = found
            if wanted[number]:
                return self.places.sources.site(self.places.table[number])
        return None
