"""What the README shows is what the tool prints."""

from __future__ import annotations

from pathlib import Path

from tests import warm

from afterward.gallery import examples

ROOT = Path(__file__).parents[2]


def test_the_example_in_the_readme_is_real() -> None:
    done = warm.afterward("run", "examples/carried_state.py", cwd=ROOT)
    printed = done.stderr[done.stderr.index("error[AFT103]") :].rstrip()
    shown = (ROOT / "README.md").read_text()
    block = shown[shown.index("    error[AFT103]") : shown.index("\nYour program is left alone")]
    assert "\n".join(line.removeprefix("    ") for line in block.rstrip().splitlines()) == printed


def test_what_the_readme_says_of_the_articles_is_what_the_examples_say() -> None:
    told = {(program.read, program.happens) for example in examples() for program in example.programs}
    shown = (ROOT / "README.md").read_text()
    table = shown[shown.index("| you may have read |") : shown.index("[All of them]")]
    rows = [tuple(cell.strip() for cell in line.strip("|").split(" | ")) for line in table.strip().splitlines()[2:]]
    assert len(rows) >= 5
    assert set(rows) <= told
