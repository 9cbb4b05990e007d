"""A sentence is never read by a program: with every sentence replaced by nonsense, nothing but text changes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from tests.watching import watch_source

from afterward.model.diagnosis import Diagnosis, Report
from afterward.render.json_report import as_data
from afterward.render.text import as_text
from afterward.tasks.check_file import Shared, check_file
from afterward.tasks.editor import suggestions

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import nonsense as tool  # noqa: E402

CASES = sorted(ROOT.glob("tests/cases/*/buggy.py"))[::12]


def _facts(findings: tuple[Diagnosis, ...], file: Path) -> list[Any]:
    """All but text: the report, and what each remedy would change."""
    texts = {str(file): file.read_text(encoding="utf-8")}
    patches = [sorted(one.changes.items()) for found in findings for one in suggestions(found, texts)]
    return [tool.without_texts(as_data(Report((), findings))), patches]


@pytest.mark.parametrize("file", CASES, ids=lambda file: file.parent.name)
def test_check_reads_no_sentence(file: Path) -> None:
    plain = check_file(str(file), Shared()).findings
    with tool.nonsense():
        found = check_file(str(file), Shared()).findings
        assert all("blah" in as_text(one) for one in found)
        assert _facts(found, file) == _facts(plain, file)


@pytest.mark.parametrize("file", CASES[::4], ids=lambda file: file.parent.name)
def test_run_reads_no_sentence(file: Path, tmp_path: Path, torch_as_it_was: None) -> None:
    source = file.read_text(encoding="utf-8")
    plain = tuple(watch_source(source, tmp_path).findings)
    with tool.nonsense():
        found = tuple(watch_source(source, tmp_path).findings)
        program = next(tmp_path.glob("*.py"))
        assert _facts(found, program) == _facts(plain, program)
