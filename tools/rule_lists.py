"""Writes the lists of codes in the README and in the page about the law: a new rule needs no edit there."""

from __future__ import annotations

import re
from pathlib import Path

from afterward.rules import all_rules

ROOT = Path(__file__).parent.parent
BEGIN, END = "<!-- codes: made by tools/rule_lists.py -->\n", "<!-- end of codes -->"


def table() -> str:
    """A row for each rule, with the first sentence that it says of itself."""
    rows = [f"| {rule.code} | {rule.name} | {rule.summary.rstrip('.')} |" for rule in all_rules()]
    return "\n".join(["| code | name | fault |", "| --- | --- | --- |", *rows]) + "\n"


def readme(text: str) -> str:
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + "\n" + table() + "\n" + END + rest.partition(END)[2]


def law(text: str) -> str:
    """Each sentence with the rules that report when it is broken."""

    def row(match: re.Match[str]) -> str:
        codes = ", ".join(rule.code for rule in all_rules() if rule.breaks == int(match[2]))
        return f"{match[1]}| {codes} |"

    return re.sub(r"^(\| (\d)\. [^|]*)\|.*\|$", row, text, flags=re.MULTILINE)


PAGES = {"README.md": readme, "docs/the-law.md": law}

if __name__ == "__main__":
    for name, filled in PAGES.items():
        (ROOT / name).write_text(filled((ROOT / name).read_text(encoding="utf-8")), encoding="utf-8")
