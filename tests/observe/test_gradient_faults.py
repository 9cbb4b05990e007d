"""Faults that the gradient ledger shows, in short programs; and what looks like one and is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.watching import watch_source

START = """
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
FAULTS = {
    "micro-batches that are never cleared": ("AFT402", """
for number, x in enumerate(torch.randn(24, 3, 4), 1):
    model(x).pow(2).mean().backward()
    if number % 4 == 0:
        optimizer.step()
"""),
    "cleared after the first of two micro-batches": ("AFT405", """
for number, x in enumerate(torch.randn(24, 3, 4), 1):
    model(x).pow(2).mean().backward()
    if number % 2:
        optimizer.zero_grad()
    else:
        optimizer.step()
        optimizer.zero_grad()
"""),
    "three steps, never cleared": ("AFT402", """
for x in torch.randn(3, 3, 4):
    model(x).pow(2).mean().backward()
    optimizer.step()
"""),
    "by hand, cleared too early": ("AFT405", """
for x in torch.randn(6, 3, 4):
    model(x).pow(2).mean().backward()
    with torch.no_grad():
        for p in model.parameters():
            p.grad.zero_()
            p -= 0.1 * p.grad
"""),
    "a target's parameters in the optimizer": ("AFT404", """
import copy
target = copy.deepcopy(model)
optimizer = torch.optim.SGD(target.parameters(), lr=0.1)
other = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.randn(6, 3, 4):
    other.zero_grad()
    model(x).pow(2).mean().backward()
    other.step()
    optimizer.step()
    target.load_state_dict(model.state_dict())
"""),
}  # fmt: skip
FINE = {
    "a target network whose gradients pile up unused": """
import copy
target = copy.deepcopy(model)
for x in torch.randn(10, 3, 4):
    optimizer.zero_grad()
    (model(x) - target(x + 1)).pow(2).mean().backward()
    optimizer.step()
    target.load_state_dict(model.state_dict())
""",
    "a step that a scaler skips": """
for number, x in enumerate(torch.randn(12, 3, 4)):
    optimizer.zero_grad()
    model(x).pow(2).mean().backward()
    if number not in (1, 2, 5):
        optimizer.step()
""",
}


@pytest.mark.parametrize(("code", "source"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_found(code: str, source: str, tmp_path: Path, torch_as_it_was: None) -> None:
    assert [found.code for found in watch_source(START + source, tmp_path).findings] == [code]


@pytest.mark.parametrize("source", FINE.values(), ids=FINE)
def test_nothing_is_said(source: str, tmp_path: Path, torch_as_it_was: None) -> None:
    assert watch_source(START + source, tmp_path).findings == []
