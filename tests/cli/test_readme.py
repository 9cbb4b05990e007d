"""What the README shows is what the tool prints."""

from __future__ import annotations

import html
import re
from pathlib import Path

from tests import warm

from afterward.gallery import examples

ROOT = Path(__file__).parents[2]


def test_the_recorded_terminal_is_real() -> None:
    """Every line that is printed stands in the picture at the top of the README."""
    done = warm.afterward("run", "examples/carried_state.py", cwd=ROOT)
    printed = done.stderr[done.stderr.index("error[AFT103]") :].rstrip()
    assert "docs/images/terminal.svg" in (ROOT / "README.md").read_text()
    picture = re.sub(r"<[^>]+>", "", (ROOT / "docs" / "images" / "terminal.svg").read_text())
    drawn = "".join(html.unescape(picture).split())
    for line in printed.splitlines():
        assert "".join(line.split()) in drawn, f"python tools/record_terminal.py draws it again: {line}"


def test_what_the_readme_says_of_the_articles_is_what_the_examples_say() -> None:
    told = {(program.read, program.happens) for example in examples() for program in example.programs}
    shown = (ROOT / "README.md").read_text()
    table = shown[shown.index("| you may have read |") : shown.index("[All of them]")]
    rows = [tuple(cell.strip() for cell in line.strip("|").split(" | ")) for line in table.strip().splitlines()[2:]]
    assert len(rows) >= 5
    assert set(rows) <= told
