"""A field of the history that one rule alone reads is a verdict in the wrong room; those that are left are listed."""

from __future__ import annotations

import ast
from dataclasses import fields
from pathlib import Path

from afterward.model.history import History

SOURCE = Path(__file__).parents[2] / "src" / "afterward"
# Worked out by the writers of a history, and read by one rule: to be turned into facts. The list may only get shorter.
VERDICTS = {"kept", "unused_losses", "left_out", "singles"}

# Facts that most rules ask for by a question of the history.
FACTS = {"cuts", "writes", "values", "links", "repeats", "steps", "leaves", "raised", "unused"}


def _read_by(rule: Path) -> set[str]:
    tree = ast.parse(rule.read_text(encoding="utf-8"))
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "history"
    }


def test_no_new_field_is_read_by_one_rule_alone() -> None:
    readers: dict[str, int] = {}
    for rule in (SOURCE / "rules").glob("*.py"):
        for name in _read_by(rule):
            readers[name] = readers.get(name, 0) + 1
    names = {each.name for each in fields(History)} - {"observed", "gaps"}
    assert {name for name in names if readers.get(name, 0) == 1} <= VERDICTS | FACTS
