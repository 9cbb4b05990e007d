"""Records what a terminal shows of `afterward run` as a picture: docs/images/terminal.svg. Nothing in it is fetched."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "images" / "terminal.svg"
COMMAND = ("run", "examples/carried_state.py")
WIDTH = 84
_FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
_TRACEBACK = re.compile(r"^Traceback .*?(?=^\w+Error)", re.DOTALL | re.MULTILINE)


def recorded() -> str:
    """The output of the command, in colour; of the traceback only what it ends with."""
    env = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(WIDTH - 4), "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-m", "afterward", *COMMAND]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    return done.stdout + _TRACEBACK.sub("Traceback (most recent call last): ...\n", done.stderr)


def as_svg(output: str) -> str:
    console = Console(record=True, width=WIDTH, file=open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    console.print(Text.assemble(("$ ", "bold green"), ("afterward " + " ".join(COMMAND), "bold")))
    console.print(Text.from_ansi(output.rstrip()))
    return _FONT.sub("", console.export_svg(title="afterward", unique_id="terminal")).replace("Fira Code, ", "")


if __name__ == "__main__":
    PICTURE.write_text(as_svg(recorded()), encoding="utf-8")
    print(PICTURE.relative_to(ROOT))
