"""The lists of codes, in the README and in the page about the law, are those of the rules."""

from __future__ import annotations

from tests import tool

from afterward.model.diagnosis import Severity
from afterward.rules import all_rules

OTHERS = "AFT5"  # errors of autograd that are no part of the two life cycles


def test_the_lists_of_codes_are_made_from_the_rules() -> None:
    lists = tool.load("rule_lists")
    for name, filled in lists.PAGES.items():
        text = (lists.ROOT / name).read_text(encoding="utf-8")
        assert filled(text) == text, "run: python tools/rule_lists.py"


def test_each_fault_breaks_a_sentence_of_the_law() -> None:
    faults = [rule for rule in all_rules() if rule.severity is not Severity.INFO and not rule.code.startswith(OTHERS)]
    assert [rule.code for rule in faults if not rule.breaks] == []
