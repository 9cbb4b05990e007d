"""The tape in C is built for each version of Python apart: it compiles for every one that is on this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

MARKS = Path(__file__).resolve().parents[2] / "src" / "afterward" / "observe" / "marks"
INCLUDE = "import sysconfig; print(sysconfig.get_path('include'))"


def _headers(version: str) -> Iterator[Path]:
    installed = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for python in (shutil.which(f"python{version}"), *installed.glob(f"{version}.*/bin/python")):
        asked = subprocess.run([python, "-c", INCLUDE], capture_output=True, text=True) if python else None
        if asked and asked.returncode == 0 and (Path(asked.stdout.strip()) / "Python.h").is_file():
            yield Path(asked.stdout.strip())


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a compiler")
@pytest.mark.parametrize("version", ["3.10", "3.11", "3.12", "3.13"])
def test_it_compiles(version: str) -> None:
    headers = next(_headers(version), None)
    if headers is None:
        pytest.skip(f"no Python {version} with its headers here")
    for source in sorted(MARKS.glob("*.c")):
        done = subprocess.run(
            ["gcc", "-fsyntax-only", f"-I{headers}", str(source)], capture_output=True, text=True, errors="replace"
        )
        assert done.returncode == 0, done.stderr
