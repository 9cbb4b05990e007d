"""Records that keep graphs which no backward uses, and numbers that are read out of tensors."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.interpret.checking import check_source

EVALUATION = """\
import torch
net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
{decorator}
def validate(batches):
    total, seen = 0, []
    for x in batches:
        loss = net(x).pow(2).mean()
        {statement}
    {after}
for epoch in range(5):
    for x in torch.randn(20, 8, 4):
        optimizer.zero_grad()
        net(x).pow(2).mean().backward()
        optimizer.step()
    print(validate(torch.randn(10, 8, 4)))
"""


@pytest.mark.parametrize(
    ("decorator", "statement", "after", "expected"),
    [
        ("", "total += loss", "return total.item()", ["AFT301"]),
        ("", "seen.append(loss)", "return torch.stack(seen).mean().item()", ["AFT301"]),
        ("", "total += loss.item()", "return total", []),
        ("@torch.no_grad()", "total += loss", "return total.item()", []),
        ("", "seen.append(loss)", "torch.stack(seen).mean().backward()", []),
    ],
)
def test_what_an_evaluation_collects(
    decorator: str, statement: str, after: str, expected: list[str], tmp_path: Path
) -> None:
    source = EVALUATION.format(decorator=decorator, statement=statement, after=after)
    assert [found.code for found in check_source(source, tmp_path)] == expected


def test_what_a_network_collects_is_part_of_its_result(tmp_path: Path) -> None:
    source = """\
import torch
class Cells(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = torch.nn.Linear(4, 4)
    def forward(self, x, steps):
        seen = []
        for _ in range(steps):
            x = self.cell(x)
            seen.append(x)
        return torch.stack(seen)
net = Cells()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(20, 8, 4):
    optimizer.zero_grad()
    net(x, 2).pow(2).mean().backward()
    optimizer.step()
print(net(torch.randn(8, 4), 9).mean().item())
"""
    assert check_source(source, tmp_path) == []


def test_a_generator_that_waits_holds_what_it_has_collected(tmp_path: Path) -> None:
    source = """\
import torch
net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
def steps(batches):
    past = []
    for x in batches:
        loss = net(x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        past.append(loss)
        yield loss.item()
for value in steps(torch.randn(20, 8, 4)):
    print(value)
"""
    assert [(found.code, found.primary.site.line) for found in check_source(source, tmp_path)] == [("AFT301", 11)]


def test_numbers_of_a_tensor_have_no_graph(tmp_path: Path) -> None:
    source = """\
import torch
actor, critic = torch.nn.Linear(4, 2), torch.nn.Linear(4, 1)
for_actor, for_critic = (torch.optim.SGD(net.parameters(), lr=0.1) for net in (actor, critic))
for x in torch.randn(20, 8, 4):
    returns = torch.stack([r + critic(x)[-1].detach() for r in reversed(x.sum(1).tolist())])
    for_actor.zero_grad()
    actor(x).log_softmax(-1).mean().backward()
    for_critic.step()
    for_critic.zero_grad()
    (critic(x) - returns).pow(2).mean().backward()
    for_actor.step()
"""
    assert "AFT408" in [found.code for found in check_source(source, tmp_path)]


def test_a_method_of_tensors_called_as_a_function(tmp_path: Path) -> None:
    source = """\
import torch
cell = torch.nn.RNNCell(4, 4)
optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
state = torch.zeros(8, 4)
for x in torch.randn(20, 8, 4):
    state = cell(x, {value})
    optimizer.zero_grad()
    state.mean().backward()
    optimizer.step()
"""
    assert check_source(source.format(value="torch.Tensor.detach(state)"), tmp_path) == []
    assert [found.code for found in check_source(source.format(value="state"), tmp_path)] == ["AFT103"]
