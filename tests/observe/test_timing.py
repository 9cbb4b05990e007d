"""What lines cost, as the record of a run shows it at no cost of its own. No test asserts on how long anything took."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.watching import watch_source

from afterward.model.history import History
from afterward.model.timing import Timing
from afterward.render.html_time import parts_of

PROGRAM = """\
layer = torch.nn.Linear(64, 8)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)


def trained(x):
    loss = layer(x).tanh().pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


for step in range({steps}):
    x = torch.randn(16, 64)
    trained(x)
"""
STEPS = 6


def _history(source: str, folder: Path) -> History:
    (chapter,) = watch_source(source, folder).watched.chapters
    return chapter.history


@pytest.fixture
def history(tmp_path: Path, torch_as_it_was: None) -> History:
    return _history(PROGRAM.format(steps=STEPS), tmp_path)


def _by_line(history: History) -> dict[int, Timing]:
    return {one.site.line: one for one in history.timings}


def test_each_line_of_a_step_is_timed_but_for_its_first_time(history: History) -> None:
    timed = _by_line(history)
    assert set(timed) == {6, 7, 8, 9, 13, 14}
    assert {timed[line].executions for line in (6, 7, 8, 9, 13, 14)} == {STEPS - 1}


def test_a_line_is_known_by_what_it_did(history: History) -> None:
    timed = _by_line(history)
    assert {line: [*parts_of(one)] for line, one in timed.items()} == {
        6: ["forward"], 7: ["else"], 8: ["backward"], 9: ["update"], 13: ["else"], 14: ["else"],
    }  # fmt: skip
    assert timed[8].passes == timed[9].steps == STEPS - 1
    assert timed[6].nodes
    assert not timed[14].nodes  # what a call does is counted where it is done


def test_a_line_that_builds_a_loss_and_goes_back_through_it_is_parted(tmp_path: Path, torch_as_it_was: None) -> None:
    source = PROGRAM.replace("    loss = layer(x).tanh().pow(2).mean()\n", "").replace(
        "    loss.backward()", "    layer(x).tanh().pow(2).mean().backward()"
    )
    one = _by_line(_history(source.format(steps=100), tmp_path))[7]  # of most of these passes no look was taken
    assert one.executions == 99
    assert 0 < one.forward < one.nanoseconds
    assert parts_of(one) == {"forward": one.forward, "backward": one.nanoseconds - one.forward}


def test_the_last_line_of_a_body_is_timed_with_the_next_item_of_its_loop(history: History) -> None:
    fetches = {line: one.fetches.line for line, one in _by_line(history).items() if one.fetches is not None}
    assert fetches == {14: 12}


def test_a_long_run_is_timed_at_its_beginning(tmp_path: Path, torch_as_it_was: None) -> None:
    timed = _by_line(_history(PROGRAM.format(steps=3000), tmp_path))
    assert 500 < timed[8].executions < 3000
    assert timed[8].passes


def test_the_largest_graph_is_known_line_by_line(history: History) -> None:
    assert [row.site.line for row in history.largest] == [6]
    assert sum(row.bytes for row in history.largest) == max(run.bytes for run in history.passes)
