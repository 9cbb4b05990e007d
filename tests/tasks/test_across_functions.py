"""Faults whose places lie in several functions: `backward()` in one, the step and the clearing in its caller."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import warm

from afterward.tasks.fix import Fixer
from afterward.tasks.trial import Request
from afterward.tasks.trial_runner import TrialRunner

RIGHT = """import torch
from torch import nn


class Gan:
    def __init__(self):
        self.g, self.d, self.e = nn.Linear(2, 3), nn.Linear(3, 1), nn.Linear(3, 1)
        self.opt_g = torch.optim.Adam(self.g.parameters(), lr=0.01)
        self.opt_d = torch.optim.Adam([*self.d.parameters(), *self.e.parameters()], lr=0.01)
        self.log = []

    def backward_d(self, net, real, fake):
        loss = net(fake.detach()).pow(2).mean() + (net(real) - 1).pow(2).mean()
        loss.backward()
        return loss.detach()

    def backward_g(self):
        hidden = self.g(self.z)
        fake = hidden.tanh()
        loss = (self.d(fake) + self.e(fake) - 2).pow(2).mean()
        loss.backward()
        self.loss = loss
        return fake, loss.detach()

    def train_step(self, real):
        self.z = torch.randn(len(real), 2)
        self.d.requires_grad_(False), self.e.requires_grad_(False)
        self.opt_g.zero_grad()
        fake, g_loss = self.backward_g()
        self.opt_g.step()
        self.d.requires_grad_(True), self.e.requires_grad_(True)
        self.opt_d.zero_grad()
        d_loss = self.backward_d(self.d, real, fake) + self.backward_d(self.e, real, fake)
        self.opt_d.step()
        return g_loss.item(), d_loss.item()

    def fit(self, batches):
        for real in batches:
            self.log.append(self.train_step(real))


torch.manual_seed(0)
gan = Gan()
gan.fit(torch.randn(6, 4, 3))
print([[round(number, 5) for number in pair] for pair in gan.log])
"""
FAULTS = {
    "the clearing is missing in the caller": ("        self.opt_d.zero_grad()\n", ""),
    "another optimizer steps": ("self.opt_g.step()", "self.opt_d.step()"),
    "a log gets what the call returns": ("return g_loss.item(), d_loss.item()", "return self.loss, d_loss.item()"),
    "cut within what the backward calls": ("fake = hidden.tanh()", "fake = hidden.tanh().data"),
}


@pytest.fixture(scope="module")
def runner() -> Iterator[TrialRunner]:
    with TrialRunner() as each:
        yield each


@pytest.mark.parametrize("name", FAULTS)
def test_it_trains_as_without_the_fault(runner: TrialRunner, tmp_path: Path, name: str) -> None:
    program = tmp_path / "train.py"
    program.write_text(RIGHT.replace(*FAULTS[name]))
    assert program.read_text() != RIGHT
    done = Fixer(runner, Request("train.py", folder=str(tmp_path))).fix()
    assert done.proven, [(f.code, r.kind, r.proof) for f in done.report.findings for r in f.remedies]
    program.write_text(done.options[0][str(program)])
    (tmp_path / "right.py").write_text(RIGHT)
    outputs = [warm.python(file, cwd=tmp_path).stdout for file in ("train.py", "right.py")]
    assert outputs[0] == outputs[1]
