"""Histories of real runs, for tests of what is made of them: every block of every rule's page that is a fault."""

from __future__ import annotations

import re
import tempfile
from functools import lru_cache
from pathlib import Path

from tests.watching import watch_source

from afterward.model.saved import SavedRun, as_saved, read_saved
from afterward.rules import all_rules

_BLOCK = re.compile(r"^## (?P<title>.+?)$.*?```python\n(?P<code>.*?)```", re.MULTILINE | re.DOTALL)


def run_of(source: str, name: str = "train.py") -> SavedRun:
    """The run of a piece of source as it would be saved; its files are named as seen from their folder."""
    with tempfile.TemporaryDirectory() as folder:
        seen = watch_source(source, Path(folder), name)
        report = seen.watched.report([name], seen.error, 1 if seen.error is not None else 0)
        return read_saved(as_saved(seen.watched.saved(report), folder))


@lru_cache(maxsize=1)
def runs_of_all_rules() -> dict[str, SavedRun]:
    """By code and title, the faulty blocks of the rules' pages."""
    runs = {}
    for rule in all_rules():
        for match in _BLOCK.finditer(rule.page()):
            if re.search(r"# (error|warning): AFT", match["code"]):
                runs[f"{rule.code}: {match['title']}"] = run_of(match["code"])
    return runs
