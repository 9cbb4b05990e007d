"""Processes that a program starts are watched as well: real processes, each way of starting them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import afterward

OURS = str(Path(afterward.__file__).parent)  # the folder of a clone may have any name, so frames are told by this
COMMAND = [sys.executable, "-m", "afterward", "run", "--format", "json", "--out", "report.json"]
WORK = """
import torch

def work(rank, steps):
    cell = torch.nn.RNNCell(4, 8)
    hidden = torch.zeros(1, 8)
    for _ in range(steps):
        hidden = cell(torch.randn(1, 4), hidden)
        hidden.sum().backward()
    return steps
"""
WAYS = {
    "process": """
import multiprocessing as mp, sys
from work import work
if __name__ == "__main__":
    child = mp.get_context(sys.argv[1]).Process(target=work, args=(0, int(sys.argv[2])))
    child.start(); child.join()
    sys.exit(child.exitcode)
""",
    "pool": """
import multiprocessing as mp, sys
from concurrent.futures import ProcessPoolExecutor
from work import work
if __name__ == "__main__":
    with ProcessPoolExecutor(1, mp_context=mp.get_context(sys.argv[1])) as pool:
        print(list(pool.map(work, [0, 1], [int(sys.argv[2])] * 2)))
""",
    "torch": WORK
    + """
import sys, torch.multiprocessing as mp
if __name__ == "__main__":
    mp.start_processes(work, args=(int(sys.argv[2]),), nprocs=2, start_method=sys.argv[1])
""",
}


def _run(folder: Path, way: str, method: str, steps: int) -> tuple[Any, Any]:
    (folder / "work.py").write_text(WORK)
    (folder / "program.py").write_text(WAYS[way])
    temporary = folder / "temporary"
    temporary.mkdir(exist_ok=True)
    done = subprocess.run(
        [*COMMAND, "program.py", method, str(steps)],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert not list(temporary.glob("afterward-*"))
    return done, json.loads((folder / "report.json").read_text())


@pytest.mark.parametrize(("way", "method"), [("torch", "spawn"), ("process", "spawn"), ("pool", "fork")])
def test_an_error_in_a_child_is_explained(tmp_path: Path, way: str, method: str) -> None:
    done, report = _run(tmp_path, way, method, 3)
    assert done.returncode == report["program"]["exit"] == 1
    assert report["program"]["error"] == "second_backward"
    (found,) = report["findings"]
    file = "program.py" if way == "torch" else "work.py"
    assert (found["code"], found["caught"], found["bridge"]["name"]) == ("AFT103", False, "hidden")
    assert found["built"] == {"file": file, "line": 8, "end_line": 8, "step": 1}
    assert found["reused"] == {"file": file, "line": 9, "end_line": 9, "step": 2}
    assert any("which the program started" in note for note in found["notes"])
    assert done.stderr.count("error[AFT103]") == 1  # once, however many processes met it
    program_s_own, _, _ = done.stderr.partition("error[AFT103]")
    assert "Trying to backward" in program_s_own
    assert OURS not in program_s_own
    assert "AFT" not in program_s_own


def test_children_that_fare_well_leave_no_word(tmp_path: Path) -> None:
    done, report = _run(tmp_path, "pool", "spawn", 1)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[1, 1]\n", "")
    assert report["findings"] == report["gaps"] == []
