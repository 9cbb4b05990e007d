"""The interpreter says of every block of every rule's page what the observer says of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.interpret.checking import check_source

from afterward.rules import all_rules

_BLOCK = re.compile(r"^## (?P<title>.+?)$.*?```python\n(?P<code>.*?)```", re.MULTILINE | re.DOTALL)
_MARK = re.compile(r"# (error|warning): (AFT\d+)")
PREDICTED = (
    "AFT1",
    "AFT2",
    "AFT3",
    "AFT4",
    "AFT501",
    "AFT502",
    "AFT503",
    "AFT508",
)  # other errors end a run and are explained there


def _blocks() -> list[object]:
    return [
        pytest.param(match["code"], id=f"{rule.code}: {match['title']}")
        for rule in all_rules()
        for match in _BLOCK.finditer(rule.page())
    ]


@pytest.mark.parametrize("block", _blocks())
def test_a_page_is_read_as_it_runs(block: str, tmp_path: Path) -> None:
    marks = {
        (number, mark[2]): mark[1] for number, line in enumerate(block.splitlines(), 1) if (mark := _MARK.search(line))
    }
    found = {(f.primary.site.line, f.code): f.severity.value for f in check_source(block, tmp_path)}
    found = {key: severity for key, severity in found.items() if severity != "info"}
    marks = {key: kind for key, kind in marks.items() if key[1].startswith(PREDICTED)}
    # What raises is found. Of what raises nothing some needs numbers or memory to be seen, which no reading shows.
    assert {key for key, kind in marks.items() if kind == "error"} <= found.keys()
    assert found.items() <= marks.items()
