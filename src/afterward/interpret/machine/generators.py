"""Iterates: over known things element by element, over unknown ones a few iterations, through the program's generators.

A generator of the program runs in a thread of its own that takes turns with the rest: strictly one at a time.
"""

from __future__ import annotations

import ast
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from afterward.interpret import library
from afterward.interpret.fragments.standins import Output
from afterward.interpret.graph.graph import Tensor
from afterward.interpret.machine.core import Frame
from afterward.interpret.machine.part import Part
from afterward.interpret.machine.values import Instance, Iter, Lib, Numbers, Raised, Stream, Unknown, Value

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine

_STACK = 64 * 1024 * 1024


class _Closed(BaseException):
    """The generator will not be asked again."""


class Running:
    """A generator of the program in its thread."""

    def __init__(self, machine: Machine, frame: Frame, body: list[ast.stmt]) -> None:
        self.machine = machine
        self.frame = frame
        self.body = body
        self.thread: threading.Thread | None = None
        self.to_body = threading.Semaphore(0)
        self.to_user = threading.Semaphore(0)
        self.sent: Value = None
        self.thrown: BaseException | None = None
        self.yielded: Value = None
        self.result: Value = None
        self.error: BaseException | None = None
        self.done = False
        self.asked = False  # by `next`: whoever calls that relies on there being more

    def resume(self, sent: Value, thrown: BaseException | None = None) -> Value:
        """Let the body run to its next `yield`. Raises StopIteration at its end."""
        if self.done:
            raise StopIteration
        machine = self.machine
        self.sent, self.thrown = sent, thrown
        machine.frames.append(self.frame)
        machine.running.append(self)
        if self.thread is None:
            before = threading.stack_size(_STACK)
            try:
                self.thread = threading.Thread(target=self._run, daemon=True)
                self.thread.start()
            finally:
                threading.stack_size(before)
            machine.started.append(self)
        self.to_body.release()
        self.to_user.acquire()
        machine.running.pop()
        machine.frames.pop()
        if self.done:
            if self.error is not None:
                raise self.error
            raise StopIteration
        return self.yielded

    def suspend(self, value: Value) -> Value:
        """Called in the body's thread: hand a value out and wait."""
        self.yielded = value
        self.to_user.release()
        self.to_body.acquire()
        if self.thrown is not None:
            error, self.thrown = self.thrown, None
            raise error
        return self.sent

    def _run(self) -> None:
        self.to_body.acquire()
        try:
            if self.thrown is None:
                left = self.machine.run_block(self.body)
                self.result = getattr(left, "value", None)
        except _Closed:
            pass
        except BaseException as error:
            self.error = error
        finally:
            self.done = True
            self.to_user.release()

    def finish(self) -> None:
        """No more is asked of it while the program goes on: it leaves its blocks."""
        if self.thread is not None and not self.done:
            with suppress(StopIteration):
                self.resume(None, _Closed())

    def close(self) -> None:
        if self.thread is not None and not self.done:
            self.thrown = _Closed()
            self.to_body.release()
            self.thread.join(1.0)


class Generators(Part):
    """The part of the machine that iterates."""

    def start_generator(self, frame: Frame, body: list[ast.stmt]) -> Iter:
        run = Running(self.machine, frame, body)

        def values() -> Iterator[Value]:
            while True:
                try:
                    yield run.resume(None)
                except StopIteration:
                    return

        made = Iter(values(), True, run.resume, listed=False)
        made.run = run
        return made

    def suspend(self, value: Value) -> Value:
        if not self.machine.running:
            return None
        return self.machine.running[-1].suspend(value)

    def close_all(self) -> None:
        for run in self.machine.started:
            run.close()
        self.machine.started.clear()

    def iterate(self, value: Value, node: ast.AST | None) -> Iter:
        if isinstance(value, Iter):
            return value
        if isinstance(value, (list, tuple, set, frozenset, str, range, deque, bytes)):
            return Iter(iter(_live(value)))
        if isinstance(value, dict):
            return Iter(iter(list(value)), not getattr(value, "partial", False))
        if isinstance(value, Stream):
            return Iter(_forever(value.make), False)
        if isinstance(value, Numbers):
            return Iter(iter(value.numbers))
        if isinstance(value, Output):
            return Iter(iter(value.fields()))
        if isinstance(value, Tensor):
            shape: Any = value.attributes.get("shape")
            known = bool(shape) and isinstance(shape[0], int)
            rows = library.elements(self.machine, value)
            limited = (row for _, row in zip(range(shape[0]), rows, strict=False)) if known else rows
            return Iter(limited, known)
        if isinstance(value, Instance):
            found: Iter | None = library.iterate_instance(self.machine, value)
            if found is not None:
                return found
            method = self.machine.attribute(value, "__iter__", node)
            if not isinstance(method, Unknown):
                inner = self.machine.call(method, [], {}, node)
                if inner is value:
                    return Iter(self._nexts(value, node), listed=False)
                return self.iterate(inner, node)
            getter = self.machine.attribute(value, "__getitem__", node)
            if not isinstance(getter, Unknown):
                return Iter(self._items(getter, node), False)
        cut, plain = getattr(value, "cut", None), getattr(value, "plain", False)
        return Iter(_forever(lambda: Unknown(None, cut, plain)), False)

    def _nexts(self, owner: Value, node: ast.AST | None) -> Iterator[Value]:
        while True:
            try:
                yield self.machine.call(self.machine.attribute(owner, "__next__", node), [], {}, node)
            except Raised as error:
                if isinstance(error.value, (Lib, Instance)) and "StopIteration" in repr(error.value):
                    return
                raise

    def _items(self, getter: Value, node: ast.AST | None) -> Iterator[Value]:
        position = 0
        while True:
            try:
                yield self.machine.call(getter, [position], {}, node)
            except Raised:
                return
            position += 1

    def assume(self, test: ast.expr, value: Value, known: bool) -> None:
        """After `if x is None`, x is None in that branch."""
        if known and isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and len(test.ops) == 1:
            right = test.comparators[0]
            if isinstance(test.ops[0], ast.Is) and isinstance(right, ast.Constant) and right.value is None:
                self.machine.frame.scope.assign(test.left.id, None)


def _live(value: Any) -> Iterator[Value]:
    """Elements as they are when they are reached: a loop may change the list it runs over."""
    if isinstance(value, list):
        position = 0
        while position < len(value):
            yield value[position]
            position += 1
    else:
        yield from tuple(value) if isinstance(value, (set, frozenset, deque)) else value


def _forever(make: Callable[[], Value]) -> Iterator[Value]:
    """Without end, as far as anyone knows: but nothing needs more than this."""
    for _ in range(2000):
        yield make()
