"""The record of a run: marks, passes and optimizer steps, in bounded memory.

A mark is one integer: the thread's node counter and the number of the statement that begins there. Every node
made between two marks was made by the first one's statement, so no operation needs a hook.
"""

from __future__ import annotations

import builtins
import threading
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from afterward.observe import compiler, node_numbers
from afterward.observe.marks.marking import marking_of
from afterward.observe.marks.own_modules import own_modules
from afterward.observe.marks.rewrite import MARK, RETURN
from afterward.observe.marks.statements import SHIFT, Statements
from afterward.observe.marks.tape import TIMES, Tape
from afterward.observe.node_numbers import works_for_the_program
from afterward.observe.recording.events import WAITING_LIMIT, Event, Events, PassSeen

if TYPE_CHECKING:
    from afterward.observe.proving.finite import NotFinite
    from afterward.observe.replay.replay import Replay

MARK_LIMIT = 1 << 20  # 8 MiB of marks; the older half is then folded into `Replay`
OPENING = 1 << 13  # marks kept for good from the beginning of a run
LOOK_LIMIT = 1 << 21  # node numbers kept from looks at passes: 16 MiB


@dataclass
class Recorder:
    """One thread's record."""

    statements: Statements
    base: int = 0  # moments folded away: the moment of marks[0]
    tape: Tape | None = None  # what it is written on first, in the thread that the program began in
    looked_nodes: int = 0
    not_finite: NotFinite | None = None  # the first operation whose gradient was not, where a run looks for it

    def __post_init__(self) -> None:
        self._marks = array("Q")
        self._events = Events()
        self.opening = array("Q")  # the first marks, once they were folded
        self.timed_from = 0  # the moment of the first mark whose time is known
        self.own_times: list[tuple[int, int, int]] = []  # (moment, begun, ended) of looks, while times were written

    @cached_property
    def replay(self) -> Replay:
        with own_modules.ours():
            from afterward.observe.replay.replay import Replay

        return Replay(self.statements)

    @property
    def marks(self) -> array[int]:
        """All marks since the last fold."""
        if self.tape is not None:
            self._marks.frombytes(self.tape.drain_marks())
        return self._marks

    @property
    def moment(self) -> int:
        return self.base + len(self.marks)

    def settle(self) -> list[Event]:
        """All events as objects, in order."""
        return self._noted().all()

    def _noted(self) -> Events:
        """All events, as objects or not."""
        if self.tape is not None:
            self._events.note(self.tape.drain_notes())
        return self._events

    def times(self) -> array[int]:
        """When each mark was written, in nanoseconds, from the moment `timed_from` on, for the first ones."""
        return array("Q", self.tape.times() if self.tape is not None else b"")

    def note_own_time(self, begun: int, ended: int) -> None:
        """This part of the time before the next mark was ours. (Nanoseconds, by the clock of the marks)"""
        if self.moment < self.timed_from + TIMES:
            self.own_times.append((self.moment, begun, ended))

    def take_off(self) -> None:
        """Take everything off the tape, and fold where there is much of it."""
        if self._noted().waiting > WAITING_LIMIT:
            self.forget_events()
        while len(self.marks) > MARK_LIMIT:
            self.fold()

    def add(self, event: Event) -> None:
        """An event of the rarer kinds, such as a pass with several roots."""
        self._noted().add(event)

    @property
    def passes(self) -> int:
        """How many passes were seen, those long forgotten too."""
        return self._noted().passes

    @property
    def unlooked(self) -> int:
        """How many calls of `backward()` went by without a look, and may have changed any gradient."""
        return self._noted().unlooked

    @property
    def waiting_events(self) -> int:
        """How many events are kept as numbers, not as objects."""
        return self._noted().waiting

    def forget_events(self) -> None:
        """Keep the first and the last events of an endless run, and the passes that were looked at."""
        self._noted().forget()

    def keep_look(self, seen: PassSeen, used: array[int], size: int) -> None:
        """Keep what a look at a pass has shown, and forget the oldest looks beyond the limit."""
        seen.used, seen.bytes = used, size
        self.looked_nodes += len(used)
        for event in self.settle() if self.looked_nodes > LOOK_LIMIT else ():
            if self.looked_nodes <= LOOK_LIMIT:
                break
            if isinstance(event, PassSeen) and event.used is not None and event is not seen:
                self.looked_nodes -= len(event.used)
                event.used = None

    def forget_marks(self) -> None:
        """Name no line any more: from some moment on, which is not known, they would be stale."""
        self.base += len(self.marks)
        del self.marks[:]
        for event in self.settle():
            event.place = None

    def fold(self) -> None:
        """Replay the older half of the marks, keep what may still be asked for, and drop them."""
        marks = self.marks
        half = len(marks) // 2
        older = marks[: half + 1]  # one more: a mark's nodes end where the next mark begins
        self.forget_events()
        due = [event for event in self.settle() if event.place is None and event.moment <= self.base + half]
        self.replay.feed(older, self.base, due=due)
        self.opening = self.opening or older[:OPENING]
        del marks[:half]
        self.base += half


class Recorders:
    """The recorders of all threads, and the marks that write to them."""

    def __init__(self) -> None:
        self.statements = Statements()
        self.main_thread = threading.get_ident()
        self.main = Recorder(self.statements)
        self.others: dict[int, Recorder] = {}
        self.mark: Callable[[int], None] = self.mark_elsewhere
        self.by_name = False  # do marks go by names in `builtins`, as in a notebook's cells?
        self.is_marking: Callable[[], bool] = lambda: True  # has nothing else taken the place that marks come from?

    def go_on_with(self, statements: Statements) -> None:
        """Take over the statements of an earlier watch: code that was marked for it may still run."""
        self.statements = statements
        self.main = Recorder(statements)
        self.by_name = True

    def current(self) -> Recorder:
        ident = threading.get_ident()
        if ident == self.main_thread or works_for_the_program():
            return self.main
        recorder = self.others.get(ident)
        if recorder is None:
            recorder = self.others[ident] = Recorder(self.statements)
        return recorder

    def mark_elsewhere(self, number: int) -> None:
        """A mark in another thread than the one that the program began in."""
        recorder = self.current()
        if recorder is self.main and recorder.tape is not None:
            node_numbers.numbers.engine_runs()
            recorder.tape.put(number, node_numbers.next_node())
        else:
            recorder.marks.append(number << SHIFT | node_numbers.next_node())
            recorder.take_off()

    def publish(self, tape: Tape) -> None:
        """Have marks written to this tape."""
        self.main.take_off()
        self.main.tape = tape
        self.main.timed_from = self.main.moment
        self.mark = tape.mark
        marking_of(self.statements).use(tape, tape.mark)
        if self.by_name:
            vars(builtins).update({MARK: tape.mark, RETURN: tape.leave})

    def publish_for_compiler(self) -> None:
        """Marks by name as Python functions, which `torch.compile` can see through."""
        if not self.by_name:
            return
        write = self.mark

        def mark(number: int) -> None:
            write(number)

        def leave(number: int, value: Any) -> Any:
            mark(number)
            return value

        compiler.vanish_when_compiled(mark)
        vars(builtins).update({MARK: mark, RETURN: leave})

    def withdraw(self) -> None:
        """Marked code may outlive the watch (a callback, a class): its marks then do nothing."""
        marking_of(self.statements).use(None)
        if not self.by_name:
            return

        def nothing(number: int, value: Any = None) -> Any:
            return value

        compiler.vanish_when_compiled(nothing)

        def leave(number: int, value: Any) -> Any:
            return value

        vars(builtins).update({MARK: nothing, RETURN: leave})
