"""Compiled code: a state that is carried is one, and a compiled training step is compiled as without a watch."""

from __future__ import annotations

from pathlib import Path

import torch
from tests.watching import watch_source

CARRIED = """
torch.manual_seed(0)
cell, head = torch.nn.GRUCell(4, 8), torch.nn.Linear(8, 1)
opt = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
compiled = torch.compile(cell, backend="aot_eager")
hidden = torch.zeros(2, 8)
for step in range(3):
    hidden = compiled(torch.randn(2, 4), hidden{cut})
    loss = head(hidden).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


def test_a_state_that_a_compiled_cell_carries(tmp_path: Path, torch_as_it_was: None) -> None:
    (finding,) = watch_source(CARRIED.format(cut=""), tmp_path).findings
    assert (finding.code, finding.bridge.name, finding.remedies[0].kind) == ("AFT103", "hidden", "detach_state")
    assert watch_source(CARRIED.format(cut=".detach()"), tmp_path, "fine.py").findings == []


OUTSIDE = """
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh())
out = torch.compile(net, backend="aot_eager")(torch.randn(3, 4))
for step in range(3):
    (out * step).sum().backward()
"""


def test_a_compiled_forward_outside_of_the_loop(tmp_path: Path, torch_as_it_was: None) -> None:
    (finding,) = watch_source(OUTSIDE, tmp_path).findings
    assert (finding.code, finding.bridge.name) == ("AFT104", "out")


STEP = """
from torch._dynamo.utils import counters
torch._dynamo.reset()
counters.clear()
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.01)

def train_step(x):
    loss = model(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss

step = torch.compile(train_step, backend="eager")
for i in range(3):
    step(torch.ones(2, 4))
breaks = {reason: count for reason, count in counters["graph_break"].items()}
"""


def test_a_compiled_step_has_no_more_graph_breaks(tmp_path: Path, torch_as_it_was: None) -> None:
    alone: dict[str, object] = {"torch": torch}
    exec(compile(STEP, str(tmp_path / "alone.py"), "exec"), alone)
    watched = watch_source(STEP, tmp_path).names
    assert alone["breaks"]
    assert watched["breaks"] == alone["breaks"]
