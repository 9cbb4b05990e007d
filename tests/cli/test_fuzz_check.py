"""A small sample of `make fuzz-check`: mutated programs of this checkout neither crash the check nor cost too much."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_mutated_programs_are_survived() -> None:
    command = [
        sys.executable,
        str(ROOT / "tools" / "fuzz_check.py"),
        "150",
        str(ROOT / "tests" / "cases"),
        "--jobs",
        "1",
    ]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 wrong" in done.stdout
