"""What the README shows is what the tool prints."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_example_in_the_readme_is_real() -> None:
    command = [sys.executable, "-m", "afterward", "run", "examples/carried_state.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    printed = done.stderr[done.stderr.index("error[AFT103]") :].rstrip()
    shown = (ROOT / "README.md").read_text()
    block = shown[shown.index("    error[AFT103]") : shown.index("\nYour program is left alone")]
    assert "\n".join(line.removeprefix("    ") for line in block.rstrip().splitlines()) == printed
