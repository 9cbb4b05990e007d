"""Every block of every rule's page says what really happens: marked lines are found, unmarked blocks stay silent."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from tests.watching import watch_source

from afterward.rules import all_rules

_BLOCK = re.compile(r"^## (?P<title>.+?)$.*?```python\n(?P<code>.*?)```", re.MULTILINE | re.DOTALL)
_MARK = re.compile(r"# (?:error|warning|info): (AFT\d+)")


def _blocks() -> list[object]:
    return [
        pytest.param(rule.code, match["code"], id=f"{rule.code}: {match['title']}")
        for rule in all_rules()
        for match in _BLOCK.finditer(rule.page())
    ]


@pytest.mark.parametrize(("code", "block"), _blocks())
def test_a_page_tells_the_truth(code: str, block: str, tmp_path: Path, torch_as_it_was: None) -> None:
    expected = [(number, mark[1]) for number, line in enumerate(block.splitlines(), 1) if (mark := _MARK.search(line))]
    seen = watch_source(block, tmp_path)
    found = [(f.primary.site.line, f.code) for f in seen.findings]
    assert found == expected
    if not any("error:" in line for line in block.splitlines()):
        assert seen.error is None, f"a block without a mark must run: {seen.error!r}"


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_a_page_belongs_to_its_rule(rule) -> None:
    assert rule.page().startswith(f"# {rule.code} {rule.name}\n")
    assert _BLOCK.search(rule.page()), "a page has at least one block that runs"


def test_no_two_rules_share_a_headline() -> None:
    """An editor shows nothing else."""
    owners: dict[str, set[str]] = {}
    for rule in all_rules():
        words = sys.modules[rule.check.__module__].WORDS
        for form in words.values() if isinstance(words, dict) else (words,):
            owners.setdefault(form.headline, set()).add(rule.code)
    assert [headline for headline, codes in owners.items() if len(codes) > 1] == []


def test_codes_and_names_are_unique() -> None:
    rules = all_rules()
    assert len({rule.code for rule in rules}) == len({rule.name for rule in rules}) == len(rules)
