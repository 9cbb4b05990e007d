"""The passes and optimizer steps of one thread, in order: numbers, until somebody asks for them as objects.

Of an endless run the first events are kept, the last ones, and the passes that were looked at; the others are counted.
"""

from __future__ import annotations

import re
import sys
from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from afterward.model.clock import event_moment
from afterward.observe.marks.tape import CREATES, GRAD, MOMENT, NUMBERS, RETAINS, STEP

if TYPE_CHECKING:
    from afterward.follow.path import Place

FIRST_EVENTS, LAST_EVENTS = 512, 1024
EVENT_LIMIT = FIRST_EVENTS + 2 * LAST_EVENTS
WAITING_LIMIT = 1 << 15  # events that wait as numbers: 768 KiB

# Notes of our own among those of the tape: an event that is an object already (its number is a key), and a gap
# (in place of the counter and the number: how many passes and how many of them by `autograd.grad` were forgotten).
FULL, GAP = 1 << 57, 1 << 58
_TOP = 56  # all flags lie in a note's topmost byte
_TOP_BYTE = 7 if sys.byteorder == "little" else 0
_OURS = re.compile(bytes([ord("["), FULL >> _TOP, GAP >> _TOP, ord("]")]))
_GRADS = [(GRAD | retains | creates) >> _TOP for retains in (0, RETAINS) for creates in (0, CREATES)]


@dataclass(slots=True)
class PassSeen:
    """What the recorder keeps of one run of the engine: numbers, never a node or a tensor."""

    moment: int
    counter: int  # the node counter as it began: older nodes have smaller numbers
    roots: tuple[int, ...]  # orders of the nodes that it starts from, where we looked
    retains_graph: bool
    creates_graph: bool
    call: str
    tensor: int = 0  # the identity of the one tensor that it starts from
    used: array[int] | None = None  # orders of the nodes that it walked, where we looked
    bytes: int = 0
    leaves: frozenset[int] | None = None  # numbers of the leaves that it reached
    asked: frozenset[int] = frozenset()  # numbers of the leaves whose gradients `autograd.grad` was asked for
    window: int = -1  # passes of one window were all looked at; -1: not looked at
    site: int = -1  # the number of the statement that called it
    stale: frozenset[int] = frozenset()  # numbers of leaves that were changed after the forward had used them
    overwritten: frozenset[int] = frozenset()  # numbers of leaves, saved by it, that torch did not see being written
    reduced: frozenset[int] = frozenset()  # numbers of leaves whose gradients are reduced across ranks
    place: Place | None = None
    outputs: tuple[int, ...] = ()  # which output of its node each root is, where we looked
    one_of_several: bool = False  # a root is one of several outputs of its node: the node does not stand for the loss
    count: int = 0  # of the passes of its kind (`backward` or `grad`), up to this one
    through: tuple[str, ...] | None = None  # the calls of a library that led to it, where we looked
    nested: bool = False  # it ran inside of another pass, where we looked
    position: int = 0  # among events between which no statement began and no node was made
    taken: dict[int, int] = field(default_factory=dict)  # leaf -> the oldest node that takes it, where we looked


@dataclass(slots=True)
class StepSeen:
    """One step of an optimizer. Its identity is enough: the optimizer itself is found again when needed."""

    moment: int
    counter: int
    optimizer: int
    place: Place | None = None
    position: int = 0


Event = PassSeen | StepSeen


def clock_of(event: Event) -> int:
    """When it happened, on the record's clock."""
    return event_moment(event.counter, event.moment, event.position)


class Events:
    """Takes notes as the tape wrote them and events that were made elsewhere, and gives them all as objects."""

    def __init__(self) -> None:
        self._settled: list[Event] = []
        self._notes = array("Q")  # what came after those
        self._full: dict[int, Event] = {}  # objects that stand among the notes by their key
        self._keys = 0
        self._counts = {"backward": 0, "grad": 0}  # of passes, up to the last that is settled
        self._forgotten = 0
        self._looked = 0  # events between the first and the last that stay because they were looked at
        self.unlooked = 0  # calls of `backward()` that went by with a note of the tape alone

    def note(self, notes: bytes) -> None:
        """Events as they stand on the tape."""
        self._notes.frombytes(notes)
        flags = notes[_TOP_BYTE :: NUMBERS * self._notes.itemsize]
        self.unlooked += len(flags) - flags.count(STEP >> _TOP) - sum(map(flags.count, _GRADS))

    @property
    def waiting(self) -> int:
        """How many events are not objects yet."""
        return len(self._notes) // NUMBERS

    def add(self, event: Event) -> None:
        """An event of the rarer kinds, such as a pass with several roots."""
        self._full[self._keys] = event
        self._notes.extend((FULL, 0, self._keys))
        self._keys += 1

    def all(self) -> list[Event]:
        """All events that are kept, in order."""
        self.forget()
        notes = self._notes
        for start in range(0, len(notes), NUMBERS):
            when, counter, number = notes[start : start + NUMBERS]
            if when == GAP:
                self._counts["backward"] += counter - number
                self._counts["grad"] += number
                self._forgotten += counter
                continue
            event = self._full.pop(number) if when == FULL else _event_of(when, counter, number)
            if isinstance(event, PassSeen):
                event.count = self._counts[event.call] = self._counts[event.call] + 1
            if self._settled and (self._settled[-1].moment, self._settled[-1].counter) == (event.moment, event.counter):
                event.position = self._settled[-1].position + 1
            self._settled.append(event)
        del notes[:]
        return self._settled

    @property
    def passes(self) -> int:
        """How many passes were seen, those long forgotten too."""
        kept = sum(isinstance(event, PassSeen) for event in self.all())  # which counts those that are forgotten
        return self._forgotten + kept

    def forget(self) -> None:
        """Keep the first and the last events of an endless run, and the passes that were looked at."""
        noted = self.waiting
        if len(self._settled) + noted <= EVENT_LIMIT + self._looked:
            return
        end = len(self._settled) - max(LAST_EVENTS - noted, 0)
        middle = self._settled[FIRST_EVENTS:end]
        looked = [event for event in middle if _is_looked_at(event)]
        self._forgotten += sum(isinstance(event, PassSeen) for event in middle) - len(looked)
        self._looked = len(looked)
        first = max(FIRST_EVENTS - len(self._settled), 0) * NUMBERS
        last = max(noted - LAST_EVENTS, 0) * NUMBERS
        if first < last:
            self._notes[first:last] = self._left_of(self._notes[first:last])
        self._settled[FIRST_EVENTS:end] = looked

    def _left_of(self, notes: array[int]) -> array[int]:
        """What stays of notes that are to be forgotten. No object is made of any of them, there may be many."""
        flags = notes[::NUMBERS].tobytes()[_TOP_BYTE :: notes.itemsize]
        left = array("Q")
        passes = grads = begin = 0
        for place in [*(ours.start() for ours in _OURS.finditer(flags)), len(flags)]:
            between, begin = flags[begin:place], place + 1
            passes += len(between) - between.count(STEP >> _TOP)
            grads += sum(map(between.count, _GRADS))
            if place == len(flags):
                break
            when, counter, number = notes[place * NUMBERS : begin * NUMBERS]
            if when == GAP:
                passes, grads = passes + counter, grads + number
            elif _is_looked_at(self._full[number]):
                left.extend((GAP, passes, grads, when, counter, number))
                passes = grads = 0
                self._looked += 1
            else:
                event = self._full.pop(number)
                passes += isinstance(event, PassSeen)
                grads += isinstance(event, PassSeen) and event.call == "grad"
        left.extend((GAP, passes, grads))
        return left


def _event_of(when: int, counter: int, number: int) -> Event:
    moment = when & MOMENT
    if when & STEP:
        return StepSeen(moment, counter, number)
    call = "grad" if when & GRAD else "backward"
    return PassSeen(moment, counter, (), bool(when & RETAINS), bool(when & CREATES), call, number)


def _is_looked_at(event: Event) -> bool:
    return isinstance(event, PassSeen) and event.used is not None
