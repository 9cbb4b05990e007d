"""Two runs of one seeded program give the same report to the letter, whatever Python's hashes are."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests import warm

from afterward import gallery

ROOT = Path(__file__).parents[2]
NAMES = ("gan", "multi-agent", "lightgcn", "running-loss")
PROGRAMS = [Path(gallery.__file__).parent / name / "wrong.py" for name in NAMES]
PROGRAMS += [
    ROOT / "tests/cases" / name / "buggy.py"
    for name in ("heads-from-generator", "regulariser-only-logged", "replay-keeps-outputs")
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.parent.name)
def test_two_runs_give_one_report(program: Path, tmp_path: Path) -> None:
    text, again = (_report(program, tmp_path / "report.json", hashes) for hashes in ("1", "2"))
    assert "AFT" in text
    assert text == again


def _report(program: Path, report: Path, hashes: str) -> str:
    words = ("-m", "afterward", "run", "--format", "json", "--out", str(report), program.name)
    done = warm.python(*words, cwd=program.parent, hashes=hashes)
    return report.read_text(encoding="utf-8") + done.stdout.decode() + done.stderr.decode()
