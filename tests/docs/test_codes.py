"""Every rule has its words in its own file."""

from __future__ import annotations

from afterward.rules import all_rules, words_of


def test_every_rule_has_its_words_in_its_own_file() -> None:
    for rule in all_rules():
        words = words_of(rule.code)
        assert words.fault, rule.code
        assert words.headline, rule.code
        assert not words.fault.endswith("."), rule.code
