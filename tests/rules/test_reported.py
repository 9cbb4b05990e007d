"""Reported programs in which a fault was missed once, or cured wrongly: both engines name it, and accept the cure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.interpret.checking import check_source
from tests.watching import watch_source

CASES = Path(__file__).parents[1] / "cases"
NAMES = [
    "grad-norm-log-create-graph",  # each step's input is a leaf of its own
    "loss-balance-by-ema",  # averages in a `dict.fromkeys`
    "meta-loss-of-last-task",  # `zero_grad()` stands between the loop and its backward
    "prototypes-before-episodes",  # the queries go through the network of the prototypes
    "zero-grad-each-micro-batch",  # every fourth batch of a loader steps
]


@pytest.mark.parametrize("name", NAMES)
def test_the_fault_is_named_and_its_cure_is_left_alone(name: str, tmp_path: Path) -> None:
    truth = json.loads((CASES / name / "truth.json").read_text())
    buggy, fixed = ((CASES / name / file).read_text() for file in ("buggy.py", "fixed.py"))
    for findings in (watch_source(buggy, tmp_path).findings, check_source(buggy, tmp_path)):
        assert findings
        assert findings[0].name in truth["names"]
        assert findings[0].remedies[0].kind in (truth["fix_kind"], *truth["also_ok"])
    assert watch_source(fixed, tmp_path).findings == []
    assert check_source(fixed, tmp_path) == []
