"""Short programs, the expectation written on the line: `# error: AFT...` where a pass fails."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.interpret.checking import check_source

_MARK = re.compile(r"# error: (AFT\d+)")

SCRIPTS = {
    "a tuple of states, only one of them detached": """
import torch
cell, x = torch.nn.LSTMCell(3, 4), torch.randn(2, 3)
h, c = torch.zeros(2, 4), torch.zeros(2, 4)
for step in range(3):
    h, c = cell(x, (h.detach(), c))
    h.sum().backward()  # error: AFT103
""",
    "layers replaced by name, all but the new parameters frozen": """
import torch
class Adapter(torch.nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base, self.extra = base, torch.nn.Parameter(torch.zeros(1))
    def forward(self, x):
        return self.base(x) + self.extra
first, second = (torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU()) for _ in range(2))
for name, child in list(first.named_children()):
    setattr(first, name, Adapter(child))
for name, child in list(second.named_children()):
    second._modules[name] = Adapter(child)
for net in (first, second):
    for name, p in net.named_parameters():
        p.requires_grad = name.endswith("extra")
    net(torch.ones(2, 3)).sum().backward()
""",
    "a moving average by name, of `dict.fromkeys`": """
import torch
net, average = torch.nn.Linear(3, 2), dict.fromkeys(["one", "two"])
for x in torch.randn(4, 5, 3):
    losses, total = dict(zip(average, net(x).mean(0))), 0
    for name, loss in losses.items():
        old = average[name]
        average[name] = loss if old is None else 0.9 * old + 0.1 * loss
        total = total + loss / average[name]
    total.backward()  # error: AFT103
""",
    "both of them detached": """
import torch
cell, x = torch.nn.LSTMCell(3, 4), torch.randn(2, 3)
h, c = torch.zeros(2, 4), torch.zeros(2, 4)
for step in range(3):
    h, c = cell(x, (h.detach(), c.detach()))
    h.sum().backward()
""",
    "a generator that keeps its state": """
import torch
def smooth(weight):
    level = torch.zeros(3)
    while True:
        value = yield level
        level = torch.tanh(level + weight * value)
weight = torch.ones(3, requires_grad=True)
stream = smooth(weight)
next(stream)
for value in torch.randn(4, 3):
    stream.send(value).sum().backward()  # error: AFT103
""",
    "a step only every other turn": """
import torch
net = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i, x in enumerate(torch.randn(6, 4, 2)):
    loss = net(x).pow(2).mean() / 2
    loss.backward()
    if (i + 1) % 2 == 0:
        opt.step()
        opt.zero_grad()
""",
    "accumulated over a window and swept at its end": """
import torch
net, window = torch.nn.Linear(2, 1), 0
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i, x in enumerate(torch.randn(9, 4, 2)):
    window = window + net(x).pow(2).mean()
    if i % 3 == 2:
        opt.zero_grad()
        window.backward()
        opt.step()
        window = 0
""",
    "the same, and never reset": """
import torch
net, window = torch.nn.Linear(2, 1), 0
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i, x in enumerate(torch.randn(9, 4, 2)):
    window = window + net(x).pow(2).mean()
    if i % 3 == 2:
        opt.zero_grad()
        window.backward()  # error: AFT106
        opt.step()
""",
    "two tests on one unknown flag go the same way": """
import torch
from settings import options
net = torch.nn.Linear(2, 1)
loss = net(torch.randn(3, 2)).pow(2).mean()
if options.early:
    loss.backward()
if not options.early:
    loss.backward()
""",
    "something unknown may have cut the state": """
import torch
from elsewhere import cut
cell, h = torch.nn.RNNCell(3, 4), torch.zeros(2, 4)
for x in torch.randn(3, 2, 3):
    h = cell(x, cut(h))
    h.sum().backward()
""",
    "an object given to something unknown may have changed": """
import torch
from elsewhere import reset
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.h = torch.nn.RNNCell(3, 4), torch.zeros(2, 4)
    def forward(self, x):
        self.h = self.cell(x, self.h)
        return self.h
net = Net()
for x in torch.randn(3, 2, 3):
    reset(net)
    net(x).sum().backward()
""",
    "a method inherited and extended": """
import torch
class Base(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)
    def encode(self, x):
        return torch.tanh(self.layer(x))
class Child(Base):
    def encode(self, x):
        return super().encode(x) * 2
model = Child()
code = model.encode(torch.randn(2, 3))
code.sum().backward()
code.mean().backward()  # error: AFT102
""",
    "an exception that the program raises": """
import torch
def attempt(loss):
    for _ in range(2):
        try:
            loss.backward()  # error: AFT101
            raise ValueError
        except ValueError:
            continue
weight = torch.ones(2, requires_grad=True)
attempt((weight * weight).sum())
""",
    "values under no_grad are data": """
import torch
net, target = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)
@torch.no_grad()
def goal(x):
    return target(x)
x = torch.randn(3, 2)
y = goal(x)
for _ in range(3):
    (net(x) - y).pow(2).mean().backward()
""",
    "an optimizer that holds nothing of it writes nothing": """
import torch
one, other = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
opt = torch.optim.SGD(other.parameters(), lr=0.1)
out = one(torch.randn(3, 2)).tanh()
first, second = out.sum(), out.pow(2).sum()
first.backward(retain_graph=True)
opt.step()
second.backward()
""",
    "a loss from a dict, by a helper of another name": """
import torch
def losses(net, x):
    out = torch.relu(net(x))
    return {"a": out.mean(), "b": out.pow(2).mean()}
net = torch.nn.Linear(2, 2)
for x in torch.randn(2, 3, 2):
    parts = losses(net, x)
    for name, part in parts.items():
        part.backward()  # error: AFT102
""",
    "a property made by a call": """
import torch
class Pair:
    both = property(lambda self: (self.a, self.b))
    def __init__(self):
        self.a, self.b = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
pair = Pair()
a, b = pair.both
loss = b(torch.tanh(a(torch.randn(3, 2)))).sum()
loss.backward()
loss.backward()  # error: AFT101
""",
    "a history that ends in numpy": """
import numpy as np
import torch
def reward(prediction):
    return np.tanh(prediction.detach().numpy()).mean()
net = torch.nn.Linear(2, 1)
loss = -torch.as_tensor(reward(net(torch.randn(3, 2))))
loss.backward()  # error: AFT401
""",
    "an optimizer of the program's own keeps something for each parameter": """
import torch
class Climb(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, dict(rho=0.1))
    @torch.no_grad()
    def climb(self):
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["move"] = group["rho"] * p.grad
                p.add_(self.state[p]["move"])
        self.zero_grad()
net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
climb, out = Climb(net.parameters()), None
out = net(torch.randn(4, 2))
out.mean().backward()
climb.climb()
out.pow(2).mean().backward()  # error: AFT102
""",
    "retained for all but the last": """
import torch
net = torch.nn.Linear(2, 2)
out = torch.relu(net(torch.randn(3, 2)))
parts = [out.mean(), out.sum(), out.pow(2).sum()]
for number, part in enumerate(parts):
    part.backward(retain_graph=number < len(parts) - 1)
""",
}


SAMPLES = """
import torch
from torch.utils.data import DataLoader, Dataset
table = torch.nn.Embedding(9, 4)
class Words(Dataset):
    def __init__(self):
        self.vectors = [torch.tanh(table(torch.tensor(n))) for n in range(4)]
    def __len__(self):
        return len(self.vectors)
    def __getitem__(self, index):
        return self.vectors[index]
loader, head = DataLoader(Words(), batch_size=2), torch.nn.Linear(4, 1)
for epoch in range(2):
    for x in loader:
        head(x).sum().backward()
"""


@pytest.mark.parametrize("source", SCRIPTS.values(), ids=SCRIPTS.keys())
def test_a_script(source: str, tmp_path: Path) -> None:
    expected = [(number, mark[1]) for number, line in enumerate(source.splitlines(), 1) if (mark := _MARK.search(line))]
    found = check_source(source, tmp_path)
    assert [(f.primary.site.line, f.code) for f in found] == expected


def test_imports_are_followed_on_disk(tmp_path: Path) -> None:
    package = tmp_path / "parts"
    package.mkdir()
    (package / "__init__.py").write_text("from .net import Net\n")
    (package / "net.py").write_text(
        "import torch\nfrom . import helper\n\n\nclass Net(torch.nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.w = torch.nn.Parameter(torch.ones(3))\n"
        "        self.kept = helper.make(self.w)\n"
    )
    (package / "helper.py").write_text("def make(w):\n    return w.exp()\n")
    found = check_source(
        "from parts import Net\nnet = Net()\nfor _ in range(2):\n    net.kept.sum().backward()\n", tmp_path
    )
    assert [(f.primary.site.line, f.name) for f in found] == [(4, "history-cached")]
    assert found[0].built is not None
    assert Path(found[0].built.file).name == "net.py"  # where it gets the name that leads to it


def test_modules_that_import_each_other_come_to_an_end(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("import two\n\n\ndef f():\n    return two.g()\n")
    (tmp_path / "two.py").write_text("import one\n\n\ndef g():\n    return one.f()\n")
    assert check_source("import one\none.f()\n", tmp_path) == []


def test_code_that_never_ends_is_left_after_a_while(tmp_path: Path) -> None:
    source = "import torch\ndef f(n):\n    return f(n + 1) + f(n + 2)\nwhile True:\n    f(1)\n"
    assert check_source(source, tmp_path) == []


def test_samples_of_a_dataset_that_were_computed_once(tmp_path: Path) -> None:
    found = check_source(SAMPLES, tmp_path)
    assert [(f.primary.site.line, f.severity.value) for f in found] == [(15, "error")]
