"""Writes the list of codes in the README from the rules themselves: a new rule needs no edit there."""

from __future__ import annotations

from pathlib import Path

from afterward.rules import all_rules

README = Path(__file__).parent.parent / "README.md"
BEGIN, END = "<!-- codes: made by tools/readme_codes.py -->\n", "<!-- end of codes -->"


def table() -> str:
    """A row for each rule, with the first sentence that it says of itself."""
    rows = [f"| {rule.code} | {rule.name} | {rule.summary.rstrip('.')} |" for rule in all_rules()]
    return "\n".join(["| code | name | fault |", "| --- | --- | --- |", *rows]) + "\n"


def filled(text: str) -> str:
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + "\n" + table() + "\n" + END + rest.partition(END)[2]


if __name__ == "__main__":
    README.write_text(filled(README.read_text(encoding="utf-8")), encoding="utf-8")
