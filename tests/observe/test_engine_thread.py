"""Backward passes in a thread of the engine's own, as they run for tensors on a GPU: the same is found as without."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

ENGINE = Path(__file__).parents[2] / "tools" / "gpulab" / "engine_thread.py"
CASES = Path(__file__).parents[1] / "cases"

PENALTY = """\
import torch
from torch import nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
for _ in range(40):
    optimizer.zero_grad()
    for _ in range(2):
        x = torch.randn(16, 4, requires_grad=True)
        (slope,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
        loss = critic(x).mean() + (slope.norm(dim=1) - 1).pow(2).mean()
        loss.backward()
    optimizer.step()
"""


def findings(folder: Path, *, in_a_thread: bool) -> list[object]:
    program, out = folder / "train.py", folder / "report.json"
    extra = "; import sys; sys.path.append('site-packages'); import engine_thread" if in_a_thread else ""
    text = program.read_text().replace("import torch\n", f"import torch{extra}\n", 1)
    (folder / "site-packages").mkdir(exist_ok=True)
    (folder / "site-packages" / ENGINE.name).write_text(ENGINE.read_text())
    (folder / "run.py").write_text(text)
    command = [sys.executable, "-m", "afterward", "run", "--format", "json", "--out", str(out), "run.py"]
    subprocess.run(command, cwd=folder, capture_output=True, timeout=120)
    found = json.loads(out.read_text())["findings"]
    places = ("built", "freed", "reused", "bridge")
    return [[one["code"], one["name"], *(one.get(name) for name in places)] for one in found]


# What a pass made and a later one needs; a pass inside a hook; a correct program that once got a false alarm.
@pytest.mark.parametrize("case", ["fast-weights-adapted-once", "deq-hook-solver", "penalty"])
def test_the_same_is_found_where_the_engine_has_a_thread(tmp_path: Path, case: str) -> None:
    text = PENALTY if case == "penalty" else (CASES / case / "buggy.py").read_text()
    (tmp_path / "train.py").write_text(text)
    plain = findings(tmp_path, in_a_thread=False)
    assert bool(plain) == (case != "penalty")
    assert findings(tmp_path, in_a_thread=True) == plain
