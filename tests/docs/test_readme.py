"""The README's list of codes is that of the rules."""

from __future__ import annotations

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_list_of_codes_is_made_from_the_rules() -> None:
    spec = importlib.util.spec_from_file_location("readme_codes", ROOT / "tools" / "readme_codes.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    text = tool.README.read_text(encoding="utf-8")
    assert tool.filled(text) == text, "run: python tools/readme_codes.py"
