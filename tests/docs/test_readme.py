"""The README's list of codes is that of the rules."""

from __future__ import annotations

from tests import tool


def test_the_list_of_codes_is_made_from_the_rules() -> None:
    codes = tool.load("readme_codes")
    text = codes.README.read_text(encoding="utf-8")
    assert codes.filled(text) == text, "run: python tools/readme_codes.py"
