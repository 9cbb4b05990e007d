"""No finding on correct code: one false alarm costs more than three misses."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.observe.correct_programs import PROGRAMS
from tests.watching import watch_source

from afterward.observe.marks import tape
from afterward.observe.recording import events, looks, recorder
from afterward.observe.replay import ended_run, replay


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_said_about_a_correct_program(name: str, tmp_path: Path, torch_as_it_was: None) -> None:
    seen = watch_source(PROGRAMS[name], tmp_path)
    assert seen.error is None, seen.error
    assert [(found.code, found.primary.site.line, found.form) for found in seen.findings] == []


@pytest.fixture
def most_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a run of days, of which only the beginning and the end are still on record."""
    monkeypatch.setattr(recorder, "MARK_LIMIT", 120)
    monkeypatch.setattr(recorder, "OPENING", 40)
    monkeypatch.setattr(ended_run, "OPENING", 40)
    monkeypatch.setattr(events, "FIRST_EVENTS", 4)
    monkeypatch.setattr(events, "LAST_EVENTS", 6)
    monkeypatch.setattr(events, "EVENT_LIMIT", 12)
    monkeypatch.setattr(tape, "QuickTape", None)
    monkeypatch.setattr(tape, "MARKS", 30)
    monkeypatch.setattr(replay, "WORTH_SKIPPING", 0)
    monkeypatch.setattr(looks, "FIRST_LOOKS", 3)


@pytest.mark.parametrize("name", PROGRAMS)
def test_nor_when_most_of_the_run_is_forgotten(
    name: str, tmp_path: Path, most_forgotten: None, torch_as_it_was: None
) -> None:
    seen = watch_source(PROGRAMS[name], tmp_path)
    assert seen.error is None, seen.error
    assert [(found.code, found.primary.site.line, found.form) for found in seen.findings] == []


PLAIN = """
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(4, 2)
for step in range(300):
    optimizer.zero_grad()
    loss = model(x).pow(2).mean()
    loss.backward()
    optimizer.step()
"""


def test_passes_that_were_looked_at_are_not_neighbours_for_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, torch_as_it_was: None
) -> None:
    """Those between the 64th and the 128th are forgotten: no loss was overwritten for all that."""
    monkeypatch.setattr(events, "FIRST_EVENTS", 40)
    monkeypatch.setattr(events, "LAST_EVENTS", 40)
    monkeypatch.setattr(events, "EVENT_LIMIT", 120)
    assert watch_source(PLAIN, tmp_path).findings == []


ONE_OF_FOUR = """
weight = torch.ones(2, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.01)
for epoch in range(6):
    optimizer.zero_grad()
    for _ in range(4):
        x = torch.rand(2, requires_grad=True)
        (slope,) = torch.autograd.grad((weight * x).exp().sum(), x, create_graph=True)
        loss = slope.pow(2).sum()
    loss.backward()
    optimizer.step()
"""


def test_a_loss_is_dropped_though_other_passes_came_between(tmp_path: Path, torch_as_it_was: None) -> None:
    (finding,) = watch_source(ONE_OF_FOUR, tmp_path).findings
    assert (finding.code, finding.primary.site.line) == ("AFT304", 9)
