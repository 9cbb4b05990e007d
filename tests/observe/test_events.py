"""Events are kept as numbers, forgotten in an endless run, and yet told as they were."""

from __future__ import annotations

import random
from array import array

import pytest

from afterward.observe.marks.tape import CREATES, GRAD, RETAINS, STEP
from afterward.observe.recording.events import EVENT_LIMIT, FIRST_EVENTS, LAST_EVENTS, Events, PassSeen, StepSeen


def _pass(moment: int, *, grad: bool, looked: bool) -> PassSeen:
    seen = PassSeen(moment, 10 * moment, (), False, False, "grad" if grad else "backward")
    seen.used = array("Q", [1]) if looked else None
    return seen


def _told(event: PassSeen | StepSeen) -> tuple[object, ...]:
    if isinstance(event, StepSeen):
        return event.moment, event.counter, "step"
    return event.moment, event.counter, event.call, event.retains_graph, event.creates_graph, event.count


@pytest.mark.parametrize("seed", range(6))
def test_what_is_kept_is_told_as_it_was_and_the_rest_is_counted(seed: int) -> None:
    chance = random.Random(seed)
    events, truth, looked, counts = Events(), [], set(), {"backward": 0, "grad": 0}
    for moment in range(5 * EVENT_LIMIT):
        kind = chance.choice(("step", "backward", "grad"))
        retains, creates, full = chance.random() < 0.3, chance.random() < 0.1, chance.random() < 0.002
        if kind == "step":
            events.note(array("Q", (moment | STEP, 10 * moment, 7)).tobytes())
            truth.append((moment, 10 * moment, "step"))
            continue
        counts[kind] += 1
        if full:
            looked |= {moment} if retains else set()
            events.add(_pass(moment, grad=kind == "grad", looked=moment in looked))
            retains = creates = False
        else:
            flags = RETAINS * retains | CREATES * creates | GRAD * (kind == "grad")
            events.note(array("Q", (moment | flags, 10 * moment, 7)).tobytes())
        truth.append((moment, 10 * moment, kind, retains, creates, counts[kind]))
        if chance.random() < 0.002:
            events.forget()
        if seed % 2 and chance.random() < 0.0005:
            events.all()
    events.forget()
    kept = [_told(event) for event in events.all()]
    assert kept == [one for one in truth if one in set(kept)]
    assert kept[:FIRST_EVENTS] == truth[:FIRST_EVENTS]
    assert kept[-LAST_EVENTS:] == truth[-LAST_EVENTS:]
    assert looked <= {one[0] for one in kept}
    assert len(kept) <= EVENT_LIMIT + len(looked) + 2
    assert events.passes == sum(counts.values())


def test_a_row_of_notes_that_is_forgotten_leaves_three_numbers() -> None:
    events = Events()
    for _ in range(4):
        for moment in range(2 * EVENT_LIMIT):
            events.note(array("Q", (moment, moment, 7)).tobytes())
        events.forget()
    assert len(events._notes) == 3 * (FIRST_EVENTS + 1 + LAST_EVENTS)
    assert events.passes == 8 * EVENT_LIMIT
