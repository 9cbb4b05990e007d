"""A program that meets the same error again and again is not examined each time."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.watching import watch_source

from afterward.observe.recording.events import PassSeen
from afterward.observe.recording.looks import ALL_EXAMINED, ALL_LOOKS, EXAMINED

CAUGHT = """\
w = torch.ones(3, requires_grad=True)
for i in range(60):
    y = (w * w).sum()
    y.backward()
    try:
        y.backward()
    except RuntimeError as error:
        if i == {last}:
            raise
"""


def test_the_first_errors_of_a_statement_are_examined(tmp_path: Path, torch_as_it_was: None) -> None:
    seen = watch_source(CAUGHT.format(last=-1), tmp_path)
    assert seen.error is None
    assert len(seen.session.histories) == EXAMINED
    assert all(found.caught for found in seen.watched.report(["program.py"], None, 0).findings)


def test_the_one_that_ends_the_program_is_explained_all_the_same(tmp_path: Path, torch_as_it_was: None) -> None:
    seen = watch_source(CAUGHT.format(last=40), tmp_path)
    assert len(seen.session.histories) == EXAMINED
    report = seen.watched.report(["program.py"], seen.error, 1)
    assert [found.caught for found in report.findings].count(False) == 1
    assert report.error == "second_backward"


def test_an_error_stays_its_own_while_others_come_and_go(tmp_path: Path, torch_as_it_was: None) -> None:
    """One of the same message, where an examined one lay, is not taken for it; one that was given more words is."""
    caught = "y.backward()\nfor _ in range(3):\n    try:\n        y.backward()\n    except RuntimeError as error:\n"
    begin = "w = torch.ones(3, requires_grad=True)\ny = (w * w).sum()\n" + caught
    told = watch_source(begin + "        error.args = (f'{error} (in the test)',)\n        raise\n", tmp_path)
    assert [found.caught for found in told.watched.report(["program.py"], told.error, 1).findings] == [False]
    another = watch_source(begin + "        text = str(error)\nraise RuntimeError(''.join([*text]))\n", tmp_path)
    assert all(found.caught for found in another.watched.report(["program.py"], another.error, 1).findings)
    assert vars(told.error) == {}


def test_a_program_of_very_many_statements_is_looked_at_here_and_there(tmp_path: Path, torch_as_it_was: None) -> None:
    one = "y = (w * w).sum(); y.backward()\n"
    seen = watch_source("w = torch.ones(3, requires_grad=True)\n" + one * (ALL_LOOKS + 40), tmp_path)
    passes = [event for event in seen.session.recorders.main.settle() if isinstance(event, PassSeen)]
    assert sum(event.used is not None for event in passes) <= ALL_LOOKS + 1


def test_very_many_failing_statements_are_not_all_examined(tmp_path: Path, torch_as_it_was: None) -> None:
    failing = "try: y.backward()\nexcept RuntimeError: pass\n"
    source = "w = torch.ones(3, requires_grad=True)\ny = (w * w).sum()\ny.backward()\n"
    with pytest.raises(AssertionError, match="not all were examined"):  # the one gap that there is
        watch_source(source + failing * (ALL_EXAMINED + 10), tmp_path)
