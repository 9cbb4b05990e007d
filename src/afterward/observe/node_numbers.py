"""One line of numbers for the nodes of a run, whichever thread made them.

Torch counts nodes thread by thread. On a CPU a backward pass runs in the thread that called it, so its counter tells
what was made when. For tensors on a GPU the engine has threads of its own: what a pass makes there
(`create_graph=True`, a hook, a checkpoint) is numbered by another counter, and two nodes may have the same number.

Whether there is such a thread is seen, not guessed: a look asks the root of the pass, as it runs, which thread that
is in. From then on the nodes that a pass makes there get their places between those of the program's own thread, as if
it had made them itself: `order_of` says where a node lies in that one line, and the tape counts by it too. A pass that
is not looked at is taken to make as many nodes as the last one of its statement: to ask each would cost a tenth of a
small step.
"""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from afterward.observe import compat, compiler
from afterward.observe.compat import LEAF_ORDER
from afterward.observe.node_layout import current_thread, thread_reader
from afterward.observe.own_hooks import hooks_numbered_apart

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from afterward.observe.marks.tape import Tape

KEPT = 1 << 17  # of the passes in a thread of the engine's so many are told apart, the newest


class Stretches:
    """A counter's way into the one line: from each of its values on, where it goes on there."""

    def __init__(self) -> None:
        self._starts = array("Q")
        self._firsts = array("Q")

    def begin(self, start: int, first: int) -> None:
        self._starts.append(start)
        self._firsts.append(first)
        if len(self._starts) > 2 * KEPT:
            del self._starts[:KEPT], self._firsts[:KEPT]

    def back_to(self, counter: int) -> None:
        """What was taken to begin later than the counter now stands did not."""
        while self._starts and self._starts[-1] > counter:
            del self._starts[-1], self._firsts[-1]

    def place(self, counter: int) -> int:
        at = bisect_right(self._starts, counter) - 1
        return self._firsts[at] + counter - self._starts[at] if at >= 0 else counter


class NodeNumbers:
    """Tells the threads that make nodes apart, in one watch."""

    def __init__(self, tape: Tape | None = None) -> None:
        self.engines: dict[int, Stretches] = {}  # by Python's number of the thread
        self._by_thread: dict[int, Stretches] = {}  # by torch's
        self._home = Stretches()
        self._tape = tape
        self._thread_of: Callable[[Any], int] | None = None
        self._made: dict[int, int] = {}  # by a pass, by the statement that called it
        self._last: Stretches | None = None
        self._reached = 0  # where the counter of the last such thread is taken to stand
        self._noted = -1  # the last pass in such a thread, by the number of the next node as it began

    def order_of(self, node: Any) -> int:
        """A node's place in the order in which nodes were made."""
        try:
            counter = int(node._sequence_nr())
        except (AttributeError, RuntimeError):
            return LEAF_ORDER
        if not self.engines or counter == LEAF_ORDER or self._thread_of is None:
            return counter
        return self._by_thread.get(self._thread_of(node), self._home).place(counter)

    def orders_of(self, nodes: Sequence[Any]) -> list[int]:
        """The same of many nodes."""
        if not self.engines:
            try:
                return [node._sequence_nr() for node in nodes]
            except (AttributeError, RuntimeError):
                pass
        return [self.order_of(node) for node in nodes]

    def next_node(self) -> int:
        """The number that the next node of this thread will have."""
        read = compat.sequence_counter()
        counter = read() if read is not None else 0
        if not self.engines or self._tape is None:
            return counter
        engine = self.engines.get(threading.get_ident())
        return engine.place(counter) if engine is not None else counter + self._tape.shift

    def ask(self, root: Any, site: int) -> None:
        """Before a pass: ask its root, as it runs, which thread that is in."""
        from afterward.observe.marks.tape import unnoticed

        home, asked = threading.get_ident(), list[Any]()

        def runs(_: Any) -> None:
            if asked:
                asked.pop().remove()
                if threading.get_ident() != home:
                    self.engine_runs(site)

        if hasattr(root, "register_prehook") and not compiler.takes_over_backward():
            with hooks_numbered_apart():
                asked.append(root.register_prehook(unnoticed(runs)))

    def engine_runs(self, site: int = -1) -> None:
        """In a thread of the engine's, while the program's own waits for it: what is made here belongs to this pass."""
        tape, read, ident = self._tape, compat.sequence_counter(), threading.get_ident()
        if tape is None or read is None or tape.begun == self._noted:
            return
        if ident not in self.engines:
            self._thread_of = self._thread_of or thread_reader()
            self.engines[ident] = self._by_thread[current_thread()] = Stretches()
        start, self._noted, self._last = read(), tape.begun, self.engines[ident]
        self._last.back_to(start)
        self._last.begin(start, tape.begun)

        def ends() -> None:
            self._made[site] = read() - start if threading.get_ident() == ident else 0
            self._reached = start
            self._leave_room(self._made[site])

        compat.at_the_end_of_this_pass(ends)

    def makes_as_before(self, site: int) -> None:
        """A pass that makes nodes and is not looked at begins."""
        if self._last is not None and self._tape is not None:
            self._last.begin(self._reached, self._tape.begun)
            self._leave_room(self._made.get(site, 0))

    def _leave_room(self, made: int) -> None:
        """The next node of the program's own thread comes after so many that this pass makes."""
        if made > 0 and self._tape is not None:
            tape = self._tape
            self._home.begin(tape.begun - tape.shift, tape.begun + made)
            tape.shift += made
            self._reached += made


numbers = NodeNumbers()  # of the watch that runs; there is one at a time


def begin(tape: Tape) -> NodeNumbers:
    """A watch begins, on this tape: nothing is known of threads."""
    global numbers
    numbers = NodeNumbers(tape)
    return numbers


def order_of(node: Any) -> int:
    """A node's place in the order in which nodes were made; `LEAF_ORDER` for a leaf's."""
    return numbers.order_of(node)


def orders_of(nodes: Sequence[Any]) -> list[int]:
    """The same of many nodes."""
    return numbers.orders_of(nodes)


def next_node() -> int:
    """The number that the next node will have; 0 where this torch does not count."""
    return numbers.next_node()


def works_for_the_program() -> bool:
    """Is this one of the engine's threads, in which a pass of the program's runs while that waits?"""
    return threading.get_ident() in numbers.engines
