"""docs/life-of-a-graph.md: every block runs against PyTorch, and the pictures are what the model draws."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "life-of-a-graph.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks() -> list[tuple[int, str]]:
    text = PAGE.read_text()
    return [(text[: match.start()].count("\n") + 2, match.group(1)) for match in BLOCK.finditer(text)]


@pytest.mark.filterwarnings("ignore")
def test_every_block_runs() -> None:
    """In order and in one scope, as a reader would type them."""
    pytest.importorskip("torch")
    found = blocks()
    assert len(found) > 20
    scope: dict[str, object] = {}
    for line, code in found:
        exec(compile("\n" * (line - 1) + code, str(PAGE), "exec"), scope)


def test_every_block_but_the_first_claims_something() -> None:
    silent = [line for line, code in blocks()[1:] if "assert" not in code and "backward()" not in code]
    assert silent == []


def test_every_picture_is_there_and_up_to_date() -> None:
    named = re.findall(r"\(images/(life-[\w-]+)\.svg\)", PAGE.read_text())
    drawn = {path.stem for path in (ROOT / "docs" / "images").glob("life-*.svg")}
    assert set(named) == drawn
    check = [sys.executable, str(ROOT / "tools" / "draw_life.py"), "--check"]
    assert subprocess.run(check, check=False).returncode == 0
