"""Turns the stream of marks back into calls, loops and iterations: who was executing what when a node was made."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from afterward.follow.path import Place
from afterward.observe.marks.statements import (
    CELL,
    COUNTER,
    ENTER,
    EXIT,
    FIRST,
    HEAD,
    KEEPS,
    LOOP,
    NEXT,
    RESUME,
    SHIFT,
    SUSPEND,
    TOLD,
    WHOLE,
    Statement,
    Statements,
)
from afterward.observe.replay.repetitions import Cycles

KEPT_PLACES = 1 << 16
WORTH_SKIPPING = 4096  # marks: a shorter record is followed as it is
TURNS = NEXT | HEAD | FIRST


@dataclass(slots=True)
class _Call:
    caller: Place | None
    serial: int
    scope: int
    number: int
    moment: int
    iterations: list[list[int]] = field(default_factory=list)
    place: Place | None = None  # made when somebody asks
    order_at: int = 0

    def copy(self) -> _Call:
        iterations = [list(iteration) for iteration in self.iterations]
        return _Call(
            self.caller, self.serial, self.scope, self.number, self.moment, iterations, self.place, self.order_at
        )

    def here(self) -> Place:
        if self.place is None:
            iterations = tuple((loop, entry, iteration) for loop, entry, iteration in self.iterations)
            self.place = Place(self.caller, self.serial, self.number, self.moment, iterations, self.order_at)
        return self.place


class Replay:
    """A machine fed with marks. It keeps its stack between feeds, so that old marks can be dropped."""

    def __init__(self, statements: Statements) -> None:
        self.table = statements.table
        self.told, self.heads = statements.told, statements.heads
        self.same = self.fixed = 0  # how many of the outermost calls are known; how many of them are as before
        self.stack: list[_Call] = []
        self.serial = 0
        self.suspended: dict[int, list[_Call]] = {}  # generators, by scope, the last to be left last
        # Intervals of node orders whose statement is known though their marks are gone: (from, to, place).
        self.kept: list[tuple[int, int, Place]] = []
        self.forgotten = False
        self.runs: dict[int, int] = {}  # how often each cell of a notebook has begun

    def copy(self) -> Replay:
        """A machine in the same state, to look ahead with."""
        other = Replay.__new__(Replay)
        other.table, other.serial, other.forgotten = self.table, self.serial, self.forgotten
        other.told, other.heads, other.same, other.fixed = self.told, self.heads, self.same, self.fixed
        other.kept = self.kept
        other.runs = dict(self.runs)
        other.stack = [call.copy() for call in self.stack]
        other.suspended = {scope: [call.copy() for call in calls] for scope, calls in self.suspended.items()}
        return other

    def feed(
        self,
        marks: array[int],
        base: int,
        *,
        due: Iterable[Any] = (),
        trail: list[Place] | None = None,
        untold: range = range(0),
        answers: dict[int, Place] | None = None,
        wanted: Iterable[int] = (),
    ) -> None:
        """Execute the marks. The last one only ends the interval of the one before it.

        `due` are events to be given their place; `wanted` are node orders to find the place of, in rising order,
        into `answers`; without `answers`, one place per statement is kept for later. `trail` collects every statement
        executed but at the moments that are `untold`. Iterations of a loop that are not asked about are skipped.
        """
        events = iter(sorted(due, key=lambda event: event.moment))
        event = next(events, None)
        orders = iter(wanted)
        order = next(orders, None)
        seen: set[int] = set()
        keep = answers is None
        step = self._execute
        cycles = Cycles(marks) if len(marks) > WORTH_SKIPPING else None
        skip_from = base if trail is None else untold.start
        skip_to = base + len(marks) - 1 if trail is None else untold.stop
        position, count = 0, len(marks) - 1
        while position < count:
            mark = marks[position]
            number = mark >> SHIFT
            moment = base + position
            first = mark & COUNTER
            call = step(number, moment, first)
            if trail is not None and moment not in untold:
                trail.append(call.here())
            while event is not None and event.moment <= moment + 1:
                event.place = call.here()
                event = next(events, None)
            after = marks[position + 1] & COUNTER
            if after > first:
                if keep:
                    if number not in seen:
                        seen.add(number)
                        self.kept.append((first, after, call.here()))
                elif order is not None:
                    here = call.here() if order < after else None
                    while order is not None and order < after:
                        if order >= first:
                            answers[order] = here  # type: ignore[index,assignment]
                        order = next(orders, None)
            if (
                cycles is not None
                and call.iterations
                and self.table[number].flags & TURNS
                and skip_from <= moment < skip_to
            ):
                stop = min(skip_to - base, count)
                if event is not None:
                    stop = min(stop, event.moment - base - 1)
                position += self._skip(cycles, call, position, stop, order)
                call.order_at = marks[position] & COUNTER
            position += 1
        if keep and len(self.kept) > KEPT_PLACES:
            del self.kept[KEPT_PLACES // 4 : KEPT_PLACES // 2]
            self.forgotten = True

    def _skip(self, cycles: Cycles, call: _Call, position: int, stop: int, order: int | None) -> int:
        """Turns that are like the last one change nothing but counts: pass over those before `stop`, and before the
        statement that made the node of this order, if any."""
        state = (call.serial, len(self.stack), *((loop, entry) for loop, entry, _ in call.iterations))
        iteration = cycles.last_iteration(position, state, self.serial)
        if iteration is None or stop - 1 - position < iteration.length:
            return 0
        if order is not None:
            if cycles.made_by(position + 1 + iteration.length) > order:
                return 0
            stop = min(stop, cycles.position_of(order, position))
        most = (stop - 1 - position) // iteration.length
        times = cycles.repeats(position, iteration, most)
        # A generator that goes on between two iterations takes more along than its count of iterations.
        if not times or any(
            self.table[n].flags & (SUSPEND | RESUME | CELL) for n in cycles.numbers(position, iteration)
        ):
            return 0
        call.iterations[-1][2] += times
        call.moment += times * iteration.length
        call.place = None
        self.serial += times * iteration.calls
        cycles.iteration_ended(position + times * iteration.length, state, self.serial)
        return times * iteration.length

    def _execute(self, number: int, moment: int, order: int) -> _Call:
        statement = self.table[number]
        flags = statement.flags
        if flags & (CELL | KEEPS | TOLD):
            if flags & CELL:
                return self._begin_cell(number, moment, order)
            return self._are_told(statement, moment, order) if flags & KEEPS else self._is_told(number, moment, order)
        if flags & EXIT:
            return self._leave(statement.scope)
        if flags & SUSPEND:
            return self._leave(statement.scope, suspend=True)
        if flags & HEAD:
            number = self.heads.get(number, number)
        stack = self.stack
        if flags & RESUME and self.suspended.get(statement.scope):
            return self._resume(statement.scope)
        if flags & (ENTER | RESUME) or not stack:
            call = self._enter(statement.scope)
        else:
            call = stack[-1]
            if call.scope != statement.scope:
                call = self._find(statement.scope)
        if flags & NEXT or (flags & HEAD and any(iteration[0] == number for iteration in call.iterations)):
            self._next_iteration(call, number)
        else:
            call.number = number
            loops = statement.loops
            iterations = call.iterations
            begins_iteration = flags & FIRST and len(iterations) >= len(loops)
            if len(iterations) != len(loops):
                self._match_loops(call, loops, moment)
            if iterations and (begins_iteration or iterations[-1][2] == 0):
                iterations[-1][2] += 1  # the body begins: until here the loop's head was being evaluated
            if flags & (LOOP | HEAD):
                iterations.append([number, moment, 1 if flags & WHOLE else 0])
        call.moment = moment
        call.order_at = order
        call.place = None
        return call

    def _begin_cell(self, number: int, moment: int, order: int) -> _Call:
        """A cell begins: whatever ran before is over. Runs of the cell that is running now are iterations of a loop."""
        statement = self.table[number]
        call = self._find(statement.scope)
        self.runs[number] = self.runs.get(number, 0) + 1
        call.iterations = [[number, -number - 1, self.runs[number]]] if statement.flags & LOOP else []
        call.number, call.moment, call.order_at, call.place = number, moment, order, None
        return call

    def _are_told(self, statement: Statement, moment: int, order: int) -> _Call:
        """The calls that run now follow, from the first that is not as before."""
        self.same = self.fixed = min(statement.line, len(self.stack))
        return self.stack[-1] if self.stack else self._enter(statement.scope)

    def _is_told(self, number: int, moment: int, order: int) -> _Call:
        """One more call runs at this statement: the first of them may be one that ran before, the others are new."""
        statement, depth = self.table[number], self.same
        self.same += 1
        if depth == self.fixed and depth < len(self.stack) and self.stack[depth].scope == statement.scope:
            call = self.stack[depth]
            del self.stack[depth + 1 :]
        else:
            del self.stack[depth:]
            call = self._enter(statement.scope)
        loops = statement.loops
        same = 0
        while same < min(len(loops), len(call.iterations)) and call.iterations[same][0] == loops[same]:
            same += 1
        del call.iterations[same:]
        self._match_loops(call, loops, moment)
        call.number, call.moment, call.order_at, call.place = self.told[number], moment, order, None
        return call

    def _enter(self, scope: int) -> _Call:
        self.serial += 1
        caller = self.stack[-1].here() if self.stack else None
        call = _Call(caller, self.serial, scope, 0, 0)
        self.stack.append(call)
        return call

    def _find(self, scope: int) -> _Call:
        """The call went back to a caller (an exception, a generator left behind), or into one not seen entering."""
        for depth in range(len(self.stack) - 1, -1, -1):
            if self.stack[depth].scope == scope:
                del self.stack[depth + 1 :]
                return self.stack[depth]
        return self._enter(scope)

    def _resume(self, scope: int) -> _Call:
        """A generator goes on where it was left, called by whoever asks for its next value."""
        call = self.suspended[scope].pop()
        call.caller = self.stack[-1].here() if self.stack else None
        call.place = None
        self.stack.append(call)
        return call

    def _leave(self, scope: int, *, suspend: bool = False) -> _Call:
        """Back in the caller, still in the middle of the statement that called."""
        for depth in range(len(self.stack) - 1, -1, -1):
            if self.stack[depth].scope == scope:
                if suspend:
                    waiting = self.suspended.setdefault(scope, [])
                    waiting.append(self.stack[depth])
                    del waiting[:-64]
                call = self.stack[depth]
                del self.stack[depth:]  # of the outermost call too: a test runner calls one after the other
                return self.stack[-1] if self.stack else call
        return self.stack[-1] if self.stack else self._enter(scope)

    def _next_iteration(self, call: _Call, number: int) -> None:
        """A loop's head runs again: inner loops are over, and its iteration goes up by one."""
        for depth, iteration in enumerate(call.iterations):
            if self._heads_same_loop(iteration[0], number):
                del call.iterations[depth + 1 :]
                iteration[2] += 1
                call.number = iteration[0]
                return

    def _heads_same_loop(self, loop: int, next_mark: int) -> bool:
        one, other = self.table[loop], self.table[next_mark]
        return one.line == other.line and one.column == other.column and one.scope == other.scope

    def _match_loops(self, call: _Call, loops: tuple[int, ...], moment: int) -> None:
        """A statement outside a loop ends the loop; one inside a loop not seen entering begins it."""
        del call.iterations[len(loops) :]
        for loop in loops[len(call.iterations) :]:
            call.iterations.append([loop, moment, 1])
