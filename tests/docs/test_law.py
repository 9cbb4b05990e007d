"""The page about the law names every rule, and no rule that there is not."""

from __future__ import annotations

import re
from pathlib import Path

from afterward.rules import all_rules

PAGE = Path(__file__).parents[2] / "docs" / "the-law.md"
OTHERS = "5"  # errors of autograd that are no part of the two life cycles: AFT501 and on


def test_each_rule_has_its_sentence() -> None:
    named = set(re.findall(r"AFT\d+", PAGE.read_text(encoding="utf-8")))
    assert named == {rule.code for rule in all_rules() if rule.code[3] != OTHERS}
