"""No finding on correct code: one false alarm costs more than three misses."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.observe.correct_programs import PROGRAMS
from tests.watching import watch_source

from afterward.observe import aftermath, recorder, replay, session, tape


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_said_about_a_correct_program(name: str, tmp_path: Path, torch_as_it_was: None) -> None:
    seen = watch_source(PROGRAMS[name], tmp_path)
    assert seen.error is None, seen.error
    assert [(found.code, found.primary.site.line, found.primary.text) for found in seen.findings] == []


@pytest.mark.parametrize("name", PROGRAMS)
def test_nor_when_most_of_the_run_is_forgotten(name: str, tmp_path: Path, monkeypatch, torch_as_it_was: None) -> None:
    """As in a run of days, of which only the beginning and the end are still on record."""
    monkeypatch.setattr(recorder, "MARK_LIMIT", 120)
    monkeypatch.setattr(recorder, "OPENING", 40)
    monkeypatch.setattr(aftermath, "OPENING", 40)
    monkeypatch.setattr(recorder, "FIRST_EVENTS", 4)
    monkeypatch.setattr(recorder, "LAST_EVENTS", 6)
    monkeypatch.setattr(recorder, "EVENT_LIMIT", 12)
    monkeypatch.setattr(tape, "QuickTape", None)
    monkeypatch.setattr(tape, "MARKS", 30)
    monkeypatch.setattr(replay, "WORTH_SKIPPING", 0)
    monkeypatch.setattr(session, "FIRST_LOOKS", 3)
    seen = watch_source(PROGRAMS[name], tmp_path)
    assert seen.error is None, seen.error
    assert [(found.code, found.primary.site.line, found.primary.text) for found in seen.findings] == []
