"""`fix` puts what is recorded for nothing under `no_grad`: all of it, and nothing that trains."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from afterward.tasks.fix import Fixer
from afterward.tasks.trial import Request
from afterward.tasks.trial_runner import TrialRunner

EVALUATED = """import torch
torch.manual_seed(0)
enc, dec = torch.nn.Linear(4, 4), torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.1))
opt = torch.optim.SGD([*enc.parameters(), *dec.parameters()], lr=0.1)
for epoch in range(3):
    for x in torch.randn(4, 8, 4):
        loss = (dec(enc(x)) - x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    enc.eval(), dec.eval()
    code = enc(x)
    print(dec(code).mean().item())
    enc.train(), dec.train()
"""
TARGETS = """import torch
torch.manual_seed(0)
net, target = torch.nn.Linear(4, 3), torch.nn.Linear(4, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(12):
    x, after = torch.randn(8, 4), torch.randn(8, 4)
    best = net(after).argmax(1, keepdim=True)
    wanted = target(after).gather(1, best) * 0.9
    loss = (net(x).gather(1, best) - wanted).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 3 == 2:
        target.load_state_dict(net.state_dict())
"""
UNDER = {
    EVALUATED: ("    code = enc(x)", "    print(dec(code).mean().item())"),
    TARGETS: ("    wanted = target(after).gather(1, best) * 0.9",),
}


@pytest.fixture(scope="module")
def runner() -> Iterator[TrialRunner]:
    with TrialRunner() as each:
        yield each


@pytest.mark.parametrize("program", UNDER, ids=("evaluated", "targets"))
def test_all_that_is_recorded_for_nothing(runner: TrialRunner, tmp_path: Path, program: str) -> None:
    (tmp_path / "train.py").write_text(program)
    done = Fixer(runner, Request("train.py", folder=str(tmp_path))).fix()
    assert done.proven, [(f.code, r.kind, r.proof) for f in done.report.findings for r in f.remedies]
    text = done.options[0][str(tmp_path / "train.py")]
    assert all(f"    {line}" in text and f"\n{line}" not in text for line in UNDER[program])
    assert text.replace("    with torch.no_grad():\n", "").replace("        ", "    ").split() == program.split()
