"""The interpreter says of every block of every rule's page what the observer says of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.interpret.checking import check_source

from afterward.rules import all_rules

_BLOCK = re.compile(r"^## (?P<title>.+?)$.*?```python\n(?P<code>.*?)```", re.MULTILINE | re.DOTALL)
_MARK = re.compile(r"# error: (AFT\d+)")


def _blocks() -> list[object]:
    return [
        pytest.param(match["code"], id=f"{rule.code}: {match['title']}")
        for rule in all_rules()
        for match in _BLOCK.finditer(rule.page())
    ]


@pytest.mark.parametrize("block", _blocks())
def test_a_page_is_read_as_it_runs(block: str, tmp_path: Path) -> None:
    expected = [(number, mark[1]) for number, line in enumerate(block.splitlines(), 1) if (mark := _MARK.search(line))]
    found = check_source(block, tmp_path)
    assert [(f.primary.site.line, f.code) for f in found if f.severity.value != "info"] == expected
