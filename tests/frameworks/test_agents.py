"""Two nodes, as far as one machine has them: two agents of torchrun, whose ranks leave word in one folder."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.frameworks.reading import read

import afterward


@pytest.mark.skipif(not os.environ.get("AFTERWARD_FRAMEWORKS"), reason="`make frameworks` runs it")
def test_merge_makes_one_report_of_two_agents(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(read("fsdp2_two_losses").wrong)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    hook = str(Path(afterward.__file__).parent / "startup")
    told = {"PYTHONPATH": hook, "AFTERWARD": "1", "AFTERWARD_FOLDER": str(tmp_path / "job"), "OMP_NUM_THREADS": "1"}
    torchrun = (sys.executable, "-m", "torch.distributed.run", "--nnodes=2", "--nproc-per-node=1")
    meet = ("--master-addr=127.0.0.1", f"--master-port={port}")
    agents = [
        subprocess.Popen(
            [*torchrun, *meet, f"--node-rank={node}", "train.py"],
            cwd=tmp_path,
            env={**os.environ, **told},
            stderr=subprocess.DEVNULL,
        )
        for node in range(2)
    ]
    assert [agent.wait(timeout=200) for agent in agents] == [1, 1]
    merged = subprocess.run(
        [sys.executable, "-m", "afterward", "merge", "job"], cwd=tmp_path, capture_output=True, text=True
    )
    assert merged.stderr.count("error[AFT102]") == 1, merged.stderr
    assert "on ranks 0-1" in merged.stderr
