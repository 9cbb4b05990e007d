"""The tape: what is written down once per statement, pass and optimizer step.

There are two makes of it. The one in C (`_tape.c`) costs next to nothing. `PythonTape` does the same where afterward
was installed without a compiler, or where this torch hides its node counter from C.
"""

from __future__ import annotations

import os
import threading
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from time import time_ns
from typing import Any, Protocol

from afterward.observe import compat
from afterward.observe.marks.statements import COUNTER, SHIFT

try:
    from afterward.observe.marks import _tape

    _tape.Board  # noqa: B018 - one that was built for an older afterward is none
except (ImportError, AttributeError):
    _tape = None  # type: ignore[assignment]
QuickTape = _tape.Tape if _tape is not None else None
if hasattr(os, "register_at_fork") and hasattr(_tape, "forked"):
    os.register_at_fork(after_in_child=_tape.forked)  # the collector of cycles may rest for a look of another thread

# An event as it is noted: three integers, so that nothing is left for the garbage collector to look at. When (the
# moment, with these flags), the node counter, and the identity of the root tensor or of the optimizer.
GRAD, STEP, RETAINS, CREATES = 1 << 59, 1 << 60, 1 << 61, 1 << 62
MOMENT = GRAD - 1
NUMBERS = 3


@dataclass(frozen=True, slots=True)
class Calls:
    """Whom a tape calls for what it does not write down itself."""

    on_full: Callable[[], Any]  # there is much on the tape: take it off
    on_other: Callable[[int], Any]  # a mark in another thread
    on_pass: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]  # a pass that may be due for a look
    on_step: Callable[[Any], Any]  # a step of an optimizer that is due for a look, or in another thread


class Tape(Protocol):
    """Notes most passes and steps with a few numbers, and hands the others on to whoever looks at them."""

    skipped: int  # has a pass gone by without a look?
    steps_due: int  # optimizer steps still to be looked at
    shift: int  # so many numbers were left for nodes that other threads made
    begun: int  # the number of the next node, as the last pass began
    on_creating: Callable[[int], Any] | None  # for each pass that makes nodes and is not looked at: its site

    @property
    def mark(self) -> Callable[[int], None]:
        """A statement begins."""

    @property
    def leave(self) -> Callable[[int, Any], Any]:
        """A mark that hands on a value."""

    @property
    def begins(self) -> Callable[[Any, tuple[Any, ...], dict[str, Any]], None]:
        """A backward pass begins."""

    @property
    def stepped(self) -> Callable[[Any, Any, Any], None]:
        """An optimizer has stepped."""

    def put(self, number: int, counter: int, /) -> None:
        """A mark by a thread that works for this one, beside the number of its next node."""

    def left(self, site: int, /) -> int:
        """How many more passes of a site need no look."""

    def rest(self, site: int, passes: int, /) -> None:
        """Let so many passes of a site go by without a look."""

    def drain_marks(self) -> bytes:
        """The marks since the last time."""

    def drain_notes(self) -> bytes:
        """The notes since the last time."""

    def times(self) -> bytes:
        """When each of the first marks was written, in nanoseconds."""


def new_tape(calls: Calls, moment: int, thread: int) -> Tape:
    """A tape for one thread, that begins at this moment: the quickest that can be had."""
    address = compat.counter_address() if QuickTape is not None else None
    if QuickTape is not None and compat.torch_module() is None:
        address = 0  # until torch is there, no node is made
    if address is not None:
        return QuickTape(address, calls.on_full, calls.on_other, calls.on_pass, calls.on_step, moment, thread)
    return PythonTape(calls, moment, thread)


def unnoticed(hook: Callable[..., Any]) -> Callable[..., Any]:
    """A hook that no tracer or profiler of the program's sees; an exception that it hands back is raised."""
    if _tape is not None:
        found: Callable[..., Any] = _tape.unnoticed(hook)
        return found

    def called(*args: Any, **kwargs: Any) -> Any:
        answer = hook(*args, **kwargs)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    return called


def as_method(hook: Callable[..., Any]) -> Any:
    """Such a hook for the place of a method of a class."""
    return _tape.as_method(unnoticed(hook)) if _tape is not None else lambda *args: unnoticed(hook)(*args)


def repeats(marks: array[int], start: int, length: int, most: int) -> int:
    """How often, up to so many times, the marks that lie before `start` are there again from there on.

    They are when the same statements run, and the same of these make nodes before the next mark.
    """
    if _tape is not None:
        return _tape.repeats(marks, start, length, most)

    def iteration_at(begin: int) -> list[tuple[int, bool]]:
        iteration = marks[begin : begin + length + 1]
        return [(one >> SHIFT, one & COUNTER < after & COUNTER) for one, after in pairwise(iteration)]

    wanted, iterations = iteration_at(start - length), 0
    while iterations < most and iteration_at(start + iterations * length) == wanted:
        iterations += 1
    return iterations


class PythonTape:
    """The tape without C. Its functions are closures, as short as Python gets: `mark` runs once per statement."""

    def __init__(self, calls: Calls, moment: int, thread: int) -> None:
        self.skipped = 0
        self.steps_due = 0
        self.shift = 0
        self.begun = 0
        self.on_creating: Callable[[int], Any] | None = None
        self._marks = array("Q")
        self._notes = array("Q")
        self._times = array("Q")
        self._left: dict[int, int] = {}
        self._last = -1  # the last mark that was taken off
        self._taken = moment  # so many marks were taken off
        self._define(calls, thread)

    def _define(self, calls: Calls, thread: int) -> None:
        read = compat.sequence_counter() if compat.torch_module() is not None else None
        count = read or (lambda: 0)
        ident = threading.get_ident
        times, clock = self._times, time_ns
        marks, append, note, left = self._marks, self._marks.append, self._notes.append, self._left

        def put(number: int, counter: int) -> None:
            append(number << SHIFT | counter)
            if len(times) < TIMES:
                times.append(clock())
            if len(marks) >= MARKS:
                calls.on_full()

        def mark(number: int) -> None:
            if ident() == thread:
                put(number, count() + self.shift)
            else:
                calls.on_other(number)

        def leave(number: int, value: Any) -> Any:
            mark(number)
            return value

        def begins(outputs: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            site = (marks[-1] if marks else self._last) >> SHIFT
            still = left.get(site, 0)
            if ident() == thread:
                self.begun = count() + self.shift
            if still and len(outputs) == 1 and ident() == thread:
                left[site] = still - 1
                self.skipped = 1
                flags = (RETAINS if args[1] else 0) | (CREATES if args[2] else 0)
                note(self._taken + len(marks) | flags | (0 if kwargs.get("accumulate_grad", True) else GRAD))
                note(count() + self.shift)
                note(id(outputs[0]))
                if args[2] and self.on_creating is not None:
                    self.on_creating(site)
            else:
                calls.on_pass(outputs, args, kwargs)

        def stepped(optimizer: Any, args: Any, kwargs: Any) -> None:
            here = ident() == thread
            if here:
                note(self._taken + len(marks) | STEP)
                note(count() + self.shift)
                note(id(optimizer))
            if self.steps_due or not here:
                calls.on_step(optimizer)

        self.mark, self.leave, self.put = mark, leave, put
        self.begins, self.stepped = begins, stepped

    def left(self, site: int, /) -> int:
        return self._left.get(site, 0)

    def rest(self, site: int, passes: int, /) -> None:
        self._left[site] = passes

    def drain_marks(self) -> bytes:
        if self._marks:
            self._last = self._marks[-1]
            self._taken += len(self._marks)
        return _taken_from(self._marks)

    def drain_notes(self) -> bytes:
        return _taken_from(self._notes)

    def times(self) -> bytes:
        return self._times.tobytes()


MARKS = 8192  # on a tape
TIMES = 1 << 13  # of the first marks it is known when they were written


def _taken_from(numbers: array[int]) -> bytes:
    taken = numbers.tobytes()
    del numbers[:]
    return taken
