"""A change of several steps is made smaller line by line."""

from __future__ import annotations

from afterward.tasks.minimal import smaller

BEFORE = "for x in data:\n    y, h = net(x, h)\n    y.backward()\n"


def test_each_line_of_a_change_is_left_out_once() -> None:
    after = "for x in data:\n    h = h.detach()\n    y, h = net(x, h.detach())\n    y.backward()\n"
    assert list(smaller(BEFORE, after)) == [
        BEFORE.replace("h)", "h.detach())"),
        BEFORE.replace("    y, h", "    h = h.detach()\n    y, h", 1),
    ]


def test_a_head_goes_with_its_body() -> None:
    after = BEFORE.replace("    y, h", "    if h is not None:\n        h = h.detach()\n    y, h", 1)
    assert next(smaller(BEFORE, after)) == BEFORE


def test_what_was_taken_out_stays_out() -> None:
    assert list(smaller(BEFORE, BEFORE.replace("    y.backward()\n", ""))) == []


def test_of_a_line_that_came_in_twice_the_first_goes_first() -> None:
    after = BEFORE.replace("    y, h", "    z = f(x)\n    w = z\n    z = f(x)\n    y, h", 1)
    assert next(smaller(BEFORE, after)) == after.replace("    z = f(x)\n", "", 1)


def test_a_line_that_was_changed_beyond_recognition_is_never_left_out() -> None:
    after = BEFORE.replace("    y.backward()\n", "    with no_grad(): log.append(Record(step=step, loss=float(y)))\n")
    assert list(smaller(BEFORE, after)) == []
