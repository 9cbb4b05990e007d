"""Both makes of the tape write down the same, and cost the program nothing it could notice."""

from __future__ import annotations

import gc
import threading
from array import array
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.watching import watch_source

from afterward.observe import compat
from afterward.observe.marks import tape
from afterward.observe.marks.statements import COUNTER, SHIFT
from afterward.observe.marks.tape import (
    CREATES,
    GRAD,
    MARKS,
    MOMENT,
    RETAINS,
    STEP,
    Calls,
    PythonTape,
    Tape,
    new_tape,
)


class Written:
    """A tape of one make, and what it handed on."""

    def __init__(self, make: str, moment: int = 0) -> None:
        self.marks: array[int] = array("Q")
        self.notes: array[int] = array("Q")
        self.handed_on: list[tuple[str, Any]] = []
        calls = Calls(
            self.take_off,
            lambda number: self.handed_on.append(("mark", number)),
            lambda outputs, args, kwargs: self.handed_on.append(("pass", outputs)),
            lambda optimizer: self.handed_on.append(("step", optimizer)),
        )
        thread = threading.get_ident()
        self.tape: Tape = new_tape(calls, moment, thread) if make == "C" else PythonTape(calls, moment, thread)

    def take_off(self) -> None:
        self.marks.frombytes(self.tape.drain_marks())
        self.notes.frombytes(self.tape.drain_notes())

    def passes(self, *, retain: bool = False, create: bool = False, grad: bool = False, roots: int = 1) -> None:
        outputs = tuple(range(roots))
        self.tape.begins(outputs, ((), retain, create, ()), {"allow_unreachable": True, "accumulate_grad": not grad})


@pytest.fixture(params=["C", "Python"])
def make(request: pytest.FixtureRequest) -> str:
    if request.param == "C" and (tape.QuickTape is None or compat.counter_address() is None):
        pytest.skip("no compiler was at hand when afterward was installed")
    return request.param


def test_a_mark_is_the_statement_and_the_node_counter(make: str) -> None:
    written = Written(make)
    weight = torch.ones(2, requires_grad=True)
    before = compat.sequence_counter()()
    written.tape.mark(7)
    weight.exp().sum()
    assert written.tape.leave(8, "value") == "value"
    written.take_off()
    assert [mark >> SHIFT for mark in written.marks] == [7, 8]
    assert [(mark & COUNTER) - before for mark in written.marks] == [0, 2]


def test_nothing_is_lost_when_a_tape_is_full(make: str) -> None:
    written = Written(make)
    for number in range(3 * MARKS + 5):
        written.tape.mark(number)
        written.tape.stepped("optimizer", (), {})
    written.take_off()
    assert [mark >> SHIFT for mark in written.marks] == list(range(3 * MARKS + 5))
    assert [when & MOMENT for when in written.notes[::3]] == list(range(1, 3 * MARKS + 6))


def test_a_pass_is_handed_on_until_its_site_may_rest(make: str) -> None:
    written = Written(make, moment=100)
    written.tape.mark(3)
    written.passes()
    assert written.handed_on == [("pass", (0,))]
    assert not written.tape.skipped
    written.tape.rest(3, 4)
    written.passes()
    written.passes(retain=True)
    written.passes(create=True, retain=True)
    written.passes(grad=True)
    assert written.tape.left(3) == 0
    assert written.tape.skipped
    written.passes()
    assert len(written.handed_on) == 2
    written.take_off()
    assert list(written.notes[::3]) == [101, 101 | RETAINS, 101 | RETAINS | CREATES, 101 | GRAD]


def test_a_pass_from_several_roots_or_another_site_is_always_handed_on(make: str) -> None:
    written = Written(make)
    written.tape.mark(3)
    written.tape.rest(3, 10)
    written.passes(roots=2)
    written.tape.mark(4)
    written.passes()
    assert [kind for kind, _ in written.handed_on] == ["pass", "pass"]
    assert written.tape.left(3) == 10


def test_a_site_is_known_after_the_marks_were_taken_off(make: str) -> None:
    written = Written(make)
    written.tape.rest(3, 10)
    written.tape.mark(3)
    written.take_off()
    written.passes()
    assert written.tape.left(3) == 9


def test_a_step_is_noted_and_handed_on_when_it_is_due(make: str) -> None:
    written = Written(make)
    optimizer = object()
    written.tape.stepped(optimizer, (), {})
    assert not written.handed_on
    written.tape.steps_due = 1
    written.tape.stepped(optimizer, (), {})
    assert written.handed_on == [("step", optimizer)]
    written.take_off()
    assert list(written.notes[::3]) == [STEP, STEP]
    assert written.notes[2] == id(optimizer)


def test_another_thread_writes_elsewhere(make: str) -> None:
    written = Written(make)
    written.tape.mark(3)
    written.tape.rest(3, 10)

    def elsewhere() -> None:
        written.tape.mark(5)
        written.passes()
        written.tape.stepped("optimizer", (), {})

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert written.handed_on == [("mark", 5), ("pass", (0,)), ("step", "optimizer")]
    written.take_off()
    assert [mark >> SHIFT for mark in written.marks] == [3]
    assert not written.notes


PROGRAM = """
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
state = torch.zeros(3, 1)
for step in range(40):
    state = torch.tanh(model(torch.ones(3, 4)) + state.detach())
    penalty, = torch.autograd.grad(state.sum(), model.weight, create_graph=True)
    loss = state.sum() + penalty.pow(2).sum()
    loss.backward(retain_graph=step % 3 == 0)
    optimizer.step()
loss.backward()
"""


def test_both_makes_give_the_same_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if tape.QuickTape is None:
        pytest.skip("no compiler was at hand when afterward was installed")

    def record() -> list[tuple[object, ...]]:
        seen = watch_source(PROGRAM, tmp_path)
        main = seen.session.recorders.main
        first = main.settle()[0].counter
        return [
            *((event.moment, event.counter - first, getattr(event, "call", "step")) for event in main.settle()),
            *((mark >> SHIFT, max((mark & COUNTER) - first, 0)) for mark in main.marks),
            *((h.broken.kind, [p.retains_graph for p in h.passes]) for h in seen.session.histories if h.broken),
        ]

    quick = record()
    monkeypatch.setattr(tape, "QuickTape", None)
    assert record() == quick
    assert len(quick) > 300


def test_a_process_forked_during_a_look_collects_cycles() -> None:
    _tape = pytest.importorskip("afterward.observe.marks._tape")
    seen: list[bool] = []

    def look() -> None:
        seen.append(gc.isenabled())
        _tape.forked()  # what Python calls in the child; the thread that looks is not there
        seen.append(gc.isenabled())

    _tape.unnoticed(look)()
    assert seen == [False, True]
    assert gc.isenabled()
