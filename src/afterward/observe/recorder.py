"""The record of a run: marks, passes and optimizer steps, in bounded memory.

A mark is one integer: the thread's node counter and the number of the statement that begins there. Every node
made between two marks was made by the first one's statement, so no operation needs a hook.
"""

from __future__ import annotations

import builtins
import threading
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from afterward.observe import compat
from afterward.observe.replay import Place, Replay
from afterward.observe.rewrite import MARK, RETURN, TURN
from afterward.observe.statements import Statements

MARK_LIMIT = 1 << 20  # 8 MiB of marks; the older half is then folded into `Replay`
FIRST_EVENTS, LAST_EVENTS = 1024, 16384
EVENT_LIMIT = FIRST_EVENTS + 2 * LAST_EVENTS
LOOK_LIMIT = 1 << 21  # node numbers kept from looks at passes: 16 MiB


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
    swept: array[int] | None = None  # orders of the nodes that it walked, where we looked
    bytes: int = 0
    leaves: frozenset[int] | None = None  # identities of the leaves that it reached
    window: int = 0
    site: int = -1  # the number of the statement that called it
    filled: frozenset[int] = frozenset()
    piled: frozenset[int] = frozenset()
    place: Place | None = None
    outputs: tuple[int, ...] = ()  # which output of its node each root is, where we looked
    one_of_several: bool = False  # a root is one of several outputs of its node: the node does not stand for the loss


@dataclass(slots=True)
class StepSeen:
    """One step of an optimizer. Its identity is enough: the optimizer itself is found again when needed."""

    moment: int
    counter: int
    optimizer: int
    place: Place | None = None


# An event as a hook notes it: three integers, so that nothing is left for the garbage collector to look at. When
# (marks since the last fold, and the node counter), and the identity of the root tensor or of the optimizer.
STEP = 1 << 60
NUMBERS = 3


@dataclass
class Recorder:
    """One thread's record."""

    statements: Statements
    marks: array[int] = field(default_factory=lambda: array("Q"))
    base: int = 0  # moments folded away: the moment of marks[0]
    events: list[PassSeen | StepSeen] = field(default_factory=list)  # read through `settle`
    noted: array[int] = field(default_factory=lambda: array("Q"))  # events not yet made into objects
    forgotten_passes: int = 0
    looked_nodes: int = 0

    def __post_init__(self) -> None:
        self.replay = Replay(self.statements)

    @property
    def moment(self) -> int:
        return self.base + len(self.marks)

    def settle(self) -> list[PassSeen | StepSeen]:
        """All events as objects, in order."""
        noted = self.noted
        for start in range(0, len(noted), NUMBERS):
            position, counter, number = noted[start : start + NUMBERS]
            if position & STEP:
                self.events.append(StepSeen(self.base + position - STEP, counter, number))
            else:
                moment = self.base + position
                self.events.append(PassSeen(moment, counter, (), False, False, "backward", number))
        del noted[:]
        return self.events

    def add(self, event: PassSeen | StepSeen) -> None:
        """An event of the rarer kinds, such as a pass with several roots."""
        self.settle().append(event)

    @property
    def passes(self) -> int:
        """How many passes were seen, those long forgotten too."""
        return self.forgotten_passes + sum(isinstance(event, PassSeen) for event in self.settle())

    def forget_events(self) -> None:
        """Keep the first and the last events of an endless run."""
        if len(self.settle()) > EVENT_LIMIT:
            gone = self.events[FIRST_EVENTS:-LAST_EVENTS]
            self.forgotten_passes += sum(isinstance(event, PassSeen) for event in gone)
            del self.events[FIRST_EVENTS:-LAST_EVENTS]

    def keep_look(self, seen: PassSeen, swept: array[int], size: int) -> None:
        """Keep what a look at a pass has shown, and forget the oldest looks beyond the limit."""
        seen.swept, seen.bytes = swept, size
        self.looked_nodes += len(swept)
        for event in self.settle():
            if self.looked_nodes <= LOOK_LIMIT:
                break
            if isinstance(event, PassSeen) and event.swept is not None and event is not seen:
                self.looked_nodes -= len(event.swept)
                event.swept = None

    def fold(self) -> None:
        """Replay the older half of the marks, keep what may still be asked for, and drop them."""
        half = len(self.marks) // 2
        older = self.marks[: half + 1]  # one more: a mark's nodes end where the next mark begins
        self.forget_events()
        due = [event for event in self.settle() if event.place is None and event.moment <= self.base + half]
        self.replay.feed(older, self.base, due=due)
        del self.marks[:half]
        self.base += half


class Recorders:
    """The recorders of all threads, and the marks that write to them."""

    def __init__(self) -> None:
        self.statements = Statements()
        self.main_thread = threading.get_ident()
        self.main = Recorder(self.statements)
        self.others: dict[int, Recorder] = {}
        self._saved_start: Any = None

    def go_on_with(self, statements: Statements) -> None:
        """Take over the statements of an earlier watch: code that was marked for it may still run."""
        self.statements = statements
        self.main = Recorder(statements)

    def current(self) -> Recorder:
        ident = threading.get_ident()
        if ident == self.main_thread:
            return self.main
        recorder = self.others.get(ident)
        if recorder is None:
            recorder = self.others[ident] = Recorder(self.statements)
        return recorder

    # The marks. They are the only code of ours that runs once per statement, so each is as short as can be.

    def _plain_marks(self, counter: Callable[[], int]) -> tuple[Callable[..., Any], ...]:
        recorder = self.main
        marks = recorder.marks
        append = marks.append

        def mark(number: int) -> None:
            append(counter() + number)

        def turn(number: int) -> None:
            append(counter() + number)
            if len(marks) > MARK_LIMIT:
                recorder.fold()

        return mark, turn

    def _threaded_marks(self, counter: Callable[[], int]) -> tuple[Callable[..., Any], ...]:
        current = self.current

        def mark(number: int) -> None:
            current().marks.append(counter() + number)

        def turn(number: int) -> None:
            recorder = current()
            recorder.marks.append(counter() + number)
            if len(recorder.marks) > MARK_LIMIT:
                recorder.fold()

        return mark, turn

    def publish(self, *, threaded: bool) -> None:
        """Put the marks where marked code finds them. Before torch is imported there is no counter to read."""
        counter = compat.sequence_counter() if compat.torch_module() is not None else None
        make = self._threaded_marks if threaded else self._plain_marks
        mark, turn = make(counter or (lambda: 0))

        def leave(number: int, value: Any) -> Any:
            turn(number)
            return value

        for function in (mark, turn):
            compat.vanish_when_compiled(function)
        vars(builtins).update({MARK: mark, TURN: turn, RETURN: leave})

    def withdraw(self) -> None:
        """Marked code may outlive the watch (a callback, a class): its marks then do nothing."""

        def nothing(number: int, value: Any = None) -> Any:
            return value

        compat.vanish_when_compiled(nothing)

        def leave(number: int, value: Any) -> Any:
            return value

        vars(builtins).update({MARK: nothing, TURN: nothing, RETURN: leave})
