"""Two runs of one seeded program give the same report to the letter, whatever the order of sets."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

NETWORKS = """
import torch
torch.manual_seed(0)
G = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
D = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
opt_g, opt_d = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
losses = []
for step in range(10):
    fake = G(torch.randn(4, 2))
    d_loss = D(torch.randn(4, 2)).mean() - D(fake.detach()).mean()
    d_loss.backward({retain})
    opt_d.step()
    g_loss = D(fake).mean()
    {clear}
    g_loss.backward()
    opt_g.step()
    losses.append({kept})
"""
FAULTS = {
    "never cleared": {"retain": "", "clear": "pass", "kept": "g_loss.item()"},
    "kept and retained": {"retain": "retain_graph=True", "clear": "G.zero_grad(); D.zero_grad()", "kept": "g_loss"},
}


def _report(file: Path, seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": seed, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "afterward", "run", file.name]
    done = subprocess.run(command, cwd=file.parent, env=environment, capture_output=True, text=True, check=True)
    return done.stderr


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_report_is_the_same_again(fault: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(NETWORKS.format(**fault), encoding="utf-8")
    first = _report(file, "1")
    assert "warning[" in first
    assert first == _report(file, "2")
