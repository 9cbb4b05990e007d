"""No finding on correct code: one false alarm costs more than three misses."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.observe.correct_programs import PROGRAMS
from tests.watching import watch_source


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_said_about_a_correct_program(name: str, tmp_path: Path, torch_as_it_was: None) -> None:
    seen = watch_source(PROGRAMS[name], tmp_path)
    assert seen.error is None, seen.error
    assert [(found.code, found.primary.site.line, found.primary.text) for found in seen.findings] == []
