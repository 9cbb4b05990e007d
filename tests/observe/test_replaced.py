"""A part of the model that is replaced after the optimizer was made is not trained."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.watching import watch_source

from afterward.render.wording import said

PROGRAM = """
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = torch.nn.Linear(4, 8), torch.nn.Linear(8, 100)
    def forward(self, x):
        return self.head(torch.tanh(self.body(x)))

def train():
    net = Net()
    opt = torch.optim.SGD(net.parameters(), 0.1)
    BEFORE
    for i in range(12):
        loss = net(torch.randn(3, 4)).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()

train()
"""


def test_a_layer_that_is_replaced_after_the_optimizer_was_made(tmp_path: Path) -> None:
    (found,) = watch_source(PROGRAM.replace("BEFORE", "net.head = torch.nn.Linear(8, 2)"), tmp_path).findings
    assert found.code == "AFT404"
    assert found.built is not None
    assert found.built.line == 12
    assert "2 of its 4 parameters got no gradient" in said(found).primary.text
    assert "`net.head.bias` and `net.head.weight`" in said(found).why
    assert found.remedies[0].kind == "rebuild_optimizer"


def test_all_layers_replaced_by_smaller_ones(tmp_path: Path) -> None:
    """As a pruner does: no parameter that is used has the shape of one that the optimizer holds."""
    swap = "net.body, net.head = torch.nn.Linear(4, 5), torch.nn.Linear(5, 100)"
    (found,) = watch_source(PROGRAM.replace("BEFORE", swap), tmp_path).findings
    assert found.code == "AFT404"
    assert found.built is not None
    assert found.built.line == 12
    assert found.remedies[0].kind == "rebuild_optimizer"


@pytest.mark.parametrize(
    "before",
    [
        "net.head = torch.nn.Linear(8, 2); opt.add_param_group({'params': net.head.parameters()})",
        "net.head = torch.nn.Linear(8, 2); opt = torch.optim.SGD(net.parameters(), 0.1)",
        "net.unused = torch.nn.Linear(8, 2)",
        "net.head.requires_grad_(False)",
    ],
)
def test_one_that_an_optimizer_holds_or_nobody_trains_is_all_right(tmp_path: Path, before: str) -> None:
    assert watch_source(PROGRAM.replace("BEFORE", before), tmp_path).findings == []


def test_a_layer_whose_old_copy_something_else_still_writes_to(tmp_path: Path) -> None:
    """A constraint keeps the old layer, and changes it: no step does."""
    program = PROGRAM.replace("BEFORE", "old, net.head = net.head, torch.nn.Linear(8, 100)").replace(
        "        opt.step()\n", "        opt.step()\n        with torch.no_grad():\n            old.weight.mul_(0.9)\n"
    )
    (found,) = watch_source(program, tmp_path).findings
    assert found.code == "AFT404"
    assert "2 of its 4 parameters got no gradient" in said(found).primary.text
