"""What a library or a factory returns, taken for what its use says it is; and correct code that must stay silent."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.interpret.test_not_reached import codes

from afterward.model.diagnosis import Severity
from afterward.tasks.check_file import Shared, check_bytes

MADE = "from somewhere import make_model\nimport torch\nmodel = make_model()\n"
OPT = "opt = torch.optim.SGD(model.parameters(), lr=0.1)\n"
LOOP = (
    "for x, y in make_model('data'):\n    out = model(x)\n    loss = torch.nn.functional.cross_entropy(out, y)\n"
    "    opt.zero_grad()\n    loss.backward()\n    opt.step()\n"
)


def test_a_model_of_a_factory(tmp_path: Path) -> None:
    assert codes(MADE + OPT + "total = 0\n" + LOOP + "    total += loss\n", tmp_path) == ["AFT301"]
    assert codes(MADE + OPT + "total = 0\n" + LOOP + "    total += loss.item()\n", tmp_path) == []


@pytest.mark.parametrize(
    "program",
    [
        # frozen, but for the layer that is put into it
        "for p in model.parameters():\n    p.requires_grad = False\nmodel.fc = torch.nn.Linear(2, 2)\n" + OPT + LOOP,
        # each part of a state that it returns is detached where it lies
        OPT
        + "state = model.begin()\nfor x in make_model('data'):\n    for s in state:\n        s.detach_()\n"
        + "    out, state = model(x, state)\n    opt.zero_grad()\n    out.sum().backward()\n    opt.step()\n",
    ],
)
def test_correct_code(tmp_path: Path, program: str) -> None:
    assert codes(MADE + program, tmp_path) == []


def test_something_that_only_writes_down_does_not_hide_a_fault(tmp_path: Path) -> None:
    kept = LOOP.replace("backward()", "backward(retain_graph=True)") + "    writer.add_scalar('loss', loss)\n"
    assert codes(MADE + OPT + "writer = make_model('writer')\n" + kept, tmp_path) == ["AFT303"]


PENALTY = """
import torch
def penalty(critic, real, fake):
    mixed = torch.lerp(real, fake, 0.5).requires_grad_(True)
    scores = critic(mixed)
    slope = torch.autograd.grad(scores, mixed, torch.ones_like(scores), create_graph=True, retain_graph=True)[0]
    return ((slope.norm(2, dim=1) - 1) ** 2).mean()
"""


def test_what_a_function_returns_may_be_used_by_its_caller(tmp_path: Path) -> None:
    assert codes(PENALTY, tmp_path) == []


def test_filling_parameters_is_no_cut(tmp_path: Path) -> None:
    source = """
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.spare = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)
    def forward(self, x):
        return self.used(x)
def fill(module):
    if type(module) == torch.nn.Linear:
        torch.nn.init.normal_(module.weight.data, 0.0, 0.02)
net = Net()
net.apply(fill)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(100):
    loss = net(torch.randn(4, 2)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
    assert codes(source, tmp_path) == []


@pytest.mark.parametrize(
    ("update", "expected"),
    [("first_step(zero_grad=True)", []), ("add_param_group({})", ["AFT410"])],
)
def test_an_optimizer_of_its_own_kind(update: str, expected: list[str], tmp_path: Path) -> None:
    """What its other methods do to its parameters is not known."""
    source = f"""
import torch
def train(model, criterion, optimizer, loader):
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.{update}
        optimizer.zero_grad()
"""
    assert codes(source, tmp_path) == expected


def pasted(source: str) -> list[str]:
    done = check_bytes("<stdin>", source.encode(), Shared(), alone=True)
    return [found.code for found in done.findings if found.severity is not Severity.INFO]


@pytest.mark.parametrize(("state", "expected"), [("self.state", ["AFT103"]), ("_", [])])
def test_the_model_that_a_pasted_function_is_given_is_the_class_above(state: str, expected: list[str]) -> None:
    """It is not built anywhere: `nn.LSTM` is another one, though it has the same name."""
    source = f"""
class LSTM(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.lstm = nn.LSTM(size, size)
        self.state = (torch.zeros(1, 1, size), torch.zeros(1, 1, size))
    def forward(self, x):
        out, {state} = self.lstm(x, self.state)
        return out

def train(loader, model, criterion, optimizer):
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
    assert pasted(source) == expected


@pytest.mark.parametrize(("update", "expected"), [("batch -= lr * batch.grad", ["AFT501"]), ("batch.grad.zero_()", [])])
def test_what_was_detached_is_a_leaf_whatever_it_was(update: str, expected: list[str]) -> None:
    source = f"""
batch = scores[:, chunk].clone().detach().requires_grad_(True)
for _ in range(n_iter):
    loss = ((W @ batch - z) ** 2).mean()
    loss.backward()
    {update}
"""
    assert pasted(source) == expected
