"""A record that repeats itself is not followed turn by turn, and yet nothing is told otherwise."""

from __future__ import annotations

from array import array
from dataclasses import dataclass

import pytest
from tests.watching import watch_source

from afterward.follow.path import Place
from afterward.observe.marks import tape
from afterward.observe.marks.statements import COUNTER, SHIFT, Statements
from afterward.observe.replay import replay
from afterward.observe.replay.repetitions import Cycles, Iteration
from afterward.observe.replay.replay import Replay

PROGRAM = """
import itertools
w = torch.ones(2, requires_grad=True)

def scaled(x, factor):
    for i in range(3):
        x = x * factor
    return x

def batches(count):
    for i in range(count):
        yield torch.full((2,), float(i))

def depth(x, n):
    if n == 0:
        return x.sin()
    for _ in range(2):
        x = depth(x, n - 1)
    return x

class Stop(Exception):
    pass

def may_stop(i):
    for k in range(4):
        if i % 7 == 3 and k == 2:
            raise Stop
        w.cos()

for epoch in range(3):
    for i in range(40):
        loss = scaled(w, 2.0).sum()
        loss.backward()
    for batch in batches(30):
        loss = (w * batch).sum()
        if batch[0] > 20:
            continue
        loss.backward()
    for i in range(20):
        try:
            may_stop(i)
        except Stop:
            late = w.exp()
    total = depth(w, 2).sum()
    n = 0
    while n < 25:
        n += 1
        if n == 12:
            rare = w.exp()
        quiet = 1
"""


@dataclass
class Event:
    moment: int
    place: Place | None = None


def told(place: Place | None) -> object:
    return None if place is None else [(p.call, p.number, p.moment, p.iterations, p.order_at) for p in place.chain()]


def outcome(statements: Statements, marks: array[int], moments: list[int], orders: list[int], untold: range) -> object:
    """Everything that a replay can be asked for."""
    machine = Replay(statements)
    half = len(marks) // 3
    early = [Event(moment) for moment in moments if moment <= half]
    machine.feed(marks[: half + 1], 0, due=early)
    late = [Event(moment) for moment in moments if moment > half]
    answers: dict[int, Place] = {}
    trail: list[Place] = []
    machine.feed(marks[half:], half, due=late, answers=answers, wanted=orders, trail=trail, untold=untold)
    return (
        [told(event.place) for event in (*early, *late)],
        {order: told(place) for order, place in answers.items()},
        [told(place) for place in trail],
        [(first, after, told(place)) for first, after, place in machine.kept],
        [told(call.here()) for call in machine.stack],
        machine.serial,
    )


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> tuple[Statements, array[int]]:
    seen = watch_source(PROGRAM, tmp_path_factory.mktemp("cycles"))
    assert seen.error is None
    main = seen.session.recorders.main
    return main.statements, main.marks


@pytest.mark.parametrize("every", [10_000, 997, 150, 31, 1])
def test_skipping_changes_no_answer(record: tuple[Statements, array[int]], every: int, monkeypatch) -> None:
    statements, marks = record
    moments = list(range(every // 2, len(marks), every))
    counters = sorted({mark & COUNTER for mark in marks})
    orders = counters[every // 3 :: every]
    untold = range(len(marks) // 2, len(marks) - 200)
    monkeypatch.setattr(replay, "WORTH_SKIPPING", 1 << 60)
    followed = outcome(statements, marks, moments, orders, untold)
    monkeypatch.setattr(replay, "WORTH_SKIPPING", 0)
    assert outcome(statements, marks, moments, orders, untold) == followed


def test_most_of_a_long_loop_is_skipped(record, monkeypatch: pytest.MonkeyPatch) -> None:
    statements, marks = record
    executed = 0
    execute = Replay._execute

    def counting(self: Replay, number: int, moment: int, order: int):
        nonlocal executed
        executed += 1
        return execute(self, number, moment, order)

    monkeypatch.setattr(Replay, "_execute", counting)
    monkeypatch.setattr(replay, "WORTH_SKIPPING", 0)
    Replay(statements).feed(marks, 0)
    assert executed < len(marks) / 2


@pytest.mark.parametrize("make", ["C", "Python"])
def test_iterations_are_alike_when_the_same_statements_build_nodes(make: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if make == "Python":
        monkeypatch.setattr(tape, "_tape", None)
    iterations = [(1, 5), (2, 0), (3, 1)]  # (statement, nodes it builds)
    marks, counter = array("Q"), 0
    for _ in range(10):
        for number, nodes in iterations:
            marks.append(number << SHIFT | counter)
            counter += nodes
    cycles = Cycles(marks)
    iteration = Iteration(3, 0)
    assert cycles.repeats(2, iteration, most=100) == 8  # what the last mark builds is not known: nothing comes after it
    assert cycles.repeats(2, iteration, most=5) == 5
    assert cycles.repeats(3, iteration, most=100) == 8
    marks[17] += 1  # statement 3 of the sixth iteration now begins after its node was built
    assert Cycles(marks).repeats(2, iteration, most=100) == 4
    assert Cycles(marks).repeats(len(marks) - 1, iteration, most=100) == 0
    assert Cycles(marks).repeats(2, iteration, most=0) == 0
