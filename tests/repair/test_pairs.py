"""One pair a remedy: what `fix` makes of `x.before.py` is `x.after.py`, to the byte, and it is proven.

`pytest tests/repair --bless` rewrites the afters; that diff is read as code.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from afterward.tasks.fix import Fixer
from afterward.tasks.trial import Request
from afterward.tasks.trial_runner import TrialRunner

PAIRS = Path(__file__).parent / "pairs"
KINDS = {"retain_graph"}  # shown as what was also tried


@pytest.fixture(scope="module")
def runner() -> Iterator[TrialRunner]:
    with TrialRunner() as each:
        yield each


def _names() -> list[str]:
    return sorted(path.name.removesuffix(".before.py") for path in PAIRS.glob("*.before.py"))


@pytest.mark.parametrize("name", _names())
def test_before_becomes_after(
    name: str, runner: TrialRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "train.py"
    before = (PAIRS / f"{name}.before.py").read_bytes()
    file.write_bytes(before)
    fixed = Fixer(runner, Request("train.py", folder=str(tmp_path))).fix()
    assert file.read_bytes() == before, "a trial leaves the file alone"
    assert fixed.options, [(r.kind, r.proof) for f in fixed.report.findings for r in f.remedies]
    assert list(fixed.options[0]) == [os.path.abspath(file)]
    after = fixed.options[0][os.path.abspath(file)]
    golden = PAIRS / f"{name}.after.py"
    if request.config.getoption("--bless"):
        golden.write_bytes(after.encode())
    assert after.encode() == golden.read_bytes()
    remedy = next(f for f in fixed.report.findings if not f.caught).remedies[0]
    assert name.startswith(remedy.kind)
    assert remedy.proof is not None
    assert remedy.proof.status == "proven"


def test_every_kind_has_a_pair() -> None:
    from afterward import repair

    assert all(any(name.startswith(kind) for name in _names()) for kind in repair._KINDS if kind not in KINDS)
