"""Code that is not reached as shipped: functions that nothing calls, flags that are off, guards before a pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from afterward.model.diagnosis import Severity
from afterward.tasks.check_file import Shared, check_bytes, check_file

START = "import random\nimport torch\nm = torch.nn.Linear(2, 1)\nlosses = []\n"
START += "opt = torch.optim.SGD(m.parameters(), lr=0.1)\n"
STEP = "loss = m(torch.randn(4, 2)).pow(2).mean(); opt.zero_grad(); loss.backward(); opt.step(); losses.append(loss)"


def codes(source: str, folder: Path, **others: str) -> list[str]:
    for name, text in others.items():
        (folder / f"{name}.py").write_text(text)
    file = folder / "program.py"
    file.write_text(source)
    done = check_file(str(file), Shared())
    assert done.error is None
    return sorted(found.code for found in done.findings if found.severity is not Severity.INFO)


def test_a_class_that_nothing_builds(tmp_path: Path) -> None:
    source = """
import torch
import torch.nn as nn
class Trainer:
    def __init__(self, dim, lr=1e-3):
        self.net = nn.Linear(dim, 1)
        self.opt = torch.optim.Adam(self.net.parameters(), lr=lr)
        self.losses = []
    def fit(self, loader):
        for x in loader:
            loss = self.net(x).pow(2).mean()
            self.opt.zero_grad()
            loss.backward(retain_graph=True)
            self.opt.step()
            self.losses.append(loss)
"""
    assert codes(source, tmp_path) == ["AFT301", "AFT303"]


def test_a_method_without_a_loop_is_called_again_and_again(tmp_path: Path) -> None:
    source = """
import torch
class Agent:
    def __init__(self, net):
        self.net = torch.nn.GRUCell(4, 8)
        self.opt = torch.optim.Adam(self.net.parameters())
        self.h = torch.zeros(1, 8)
    def update(self, obs):
        self.h = self.net(obs, self.h)
        loss = self.h.pow(2).sum()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
"""
    assert codes(source, tmp_path) in (["AFT103"], ["AFT107"])


@pytest.mark.parametrize("kept", ["total += loss", "total += loss.item()"])
def test_a_function_whose_model_is_an_argument(tmp_path: Path, kept: str) -> None:
    source = f"""
import torch
def train(model, optimizer, loader):
    total = 0.0
    for x, y in loader:
        loss = torch.nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {kept}
    return total
"""
    assert codes(source, tmp_path) == (["AFT301"] if kept == "total += loss" else [])


@pytest.mark.parametrize(
    "program",
    [
        f"EVAL = True\nif EVAL:\n    print(m(torch.randn(4, 2)))\nelse:\n    for i in range(100):\n        {STEP}\n",
        "memory = []\ndef learn(size=64):\n    if len(memory) < size:\n        return\n"
        f"    {STEP}\nfor t in range(100000):\n    memory.append(torch.randn(2))\n    learn()\n",
        f"for step in range(100000):\n    if step > 5000:\n        {STEP}\n",
        f"n = 0\nfor line in open('train.txt'):\n    n += len(line)\nfor i in range(n // 1024 + 1):\n    {STEP}\n",
        f"memory = []\nfor t in range(90000):\n    memory.append((torch.randn(2), random.random()))\n"
        f"for t in range(1000):\n    x = random.sample(memory, 8)\n    {STEP}\n",
        f"for x, y in torch.utils.data.DataLoader(unknown()):\n    if x.size(0) == 32:\n        {STEP}\n",
    ],
)
def test_a_test_that_keeps_the_run_from_its_passes(tmp_path: Path, program: str) -> None:
    assert codes("from somewhere import unknown\n" + START + program, tmp_path) == ["AFT301"]
    assert not codes("from somewhere import unknown\n" + START + program.replace("(loss)", "(loss.item())"), tmp_path)


def test_a_setting_is_the_same_in_all_tests_on_it(tmp_path: Path) -> None:
    source = START + (
        "TWO = False\nfor i in range(100):\n    out = m(torch.randn(4, 2))\n    opt.zero_grad()\n"
        "    out.pow(2).mean().backward(retain_graph=TWO)\n"
        "    if TWO:\n        out.exp().mean().backward()\n    opt.step()\n"
    )
    assert codes(source, tmp_path) == []


def test_the_main_block_of_an_imported_module_does_not_run(tmp_path: Path) -> None:
    other = "import torch\ndef train():\n    torch.nn.Linear(2, 1)(torch.randn(4, 2)).mean().backward()\n"
    other += "if __name__ == '__main__':\n    train()\n"
    source = "import other\n" + START + f"for i in range(100):\n    {STEP}\n"
    assert codes(source, tmp_path, other=other) == ["AFT301"]


@pytest.mark.parametrize("guard", ["memory.size() < 64", "not memory.is_ready(64)"])
def test_a_guard_that_asks_a_memory_is_opened(guard: str) -> None:
    source = f"""\
import torch
class Memory:
    def __init__(self):
        self.items = []
    def size(self):
        return len(self.items)
    def is_ready(self, wanted):
        return len(self.items) >= wanted
memory, net, losses = Memory(), torch.nn.Linear(2, 1), []
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
def fit(x):
    if {guard}:
        return None
    loss = net(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss
for x in torch.randn(1000, 4, 2):
    memory.items.append(x)
    losses.append(fit(x))
"""
    checked = check_bytes("train.py", source.encode(), Shared(), alone=True)
    assert [(found.code, found.primary.site.line) for found in checked.findings] == [("AFT301", 21)]


EARLY_END = """
import torch
import torch.nn as nn
class Judge(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.args = args
        self.net = nn.Linear(args.dim, 1)
        self.optimizer = torch.optim.Adam(self.parameters(), lr=args.lr)
    def train_network(self, ours, theirs):
        {before}
        for i in range(self.args.epoch):
            right, wrong = self.net(theirs), self.net(ours)
            loss = (right - 1).pow(2).mean() + wrong.pow(2).mean() {more}
            if (right < 0.5).float().mean() > 0.8 and (wrong > 0.5).float().mean() > 0.8:
                return
            self.optimizer.zero_grad()
            loss.backward(retain_graph=True)
            self.optimizer.step()
"""


def test_a_run_with_few_passes_says_nothing_against_the_others(tmp_path: Path) -> None:
    """Training that may end at once: only some ways to go come to as many passes as AFT303 asks for."""
    assert codes(EARLY_END.format(before="pass", more=""), tmp_path) == ["AFT303"]
    shared = EARLY_END.format(before="scale = torch.nn.Parameter(torch.ones(1)).exp()", more="* scale")
    assert codes(shared, tmp_path) == []


RENEWED = """
import torch
class Inner:
    def __init__(self, sizes):
        self.sizes = sizes
        self.weights = []
        for n in sizes:
            self.weights.append(torch.nn.Parameter(torch.randn(4, 4)))
        self.weights.append(torch.nn.Parameter(torch.randn(4, 4)))
    def inner(self, x):
        for i in range({count}):
            self.weights[i] = self.weights[i].detach()
            self.weights[i].requires_grad = True
        for _ in range(3):
            h = x
            for w in self.weights:
                h = torch.spmm(h, w)
            grads = torch.autograd.grad(h.pow(2).mean(), self.weights, create_graph=True)
            self.weights = [w - 0.1 * g for w, g in zip(self.weights, grads)]
    def forward(self, x, steps):
        a = torch.nn.Parameter(torch.randn(8, 4))
        for s in range(steps):
            y = x * a
            self.inner(y)
            h = y
            for w in self.weights:
                h = torch.spmm(h, w)
            a.data += torch.autograd.grad(h.mean(), a{keep})[0]
"""


def test_a_loop_that_replaces_items_one_by_one_comes_to_the_last(tmp_path: Path) -> None:
    """How many there are is not known here; what the loop does to the first, it does to all."""
    assert codes(RENEWED.format(count="len(self.sizes) + 1", keep=""), tmp_path) == []
    assert codes(RENEWED.format(count="len(self.sizes) + 1", keep=", retain_graph=True"), tmp_path) == ["AFT303"]


def test_what_an_object_holds_is_called_as_inside_of_it(tmp_path: Path) -> None:
    source = """
import torch
class Trainer:
    def __init__(self, dim):
        self.net = torch.nn.Linear(dim, 1)
        self.opt = torch.optim.Adam(self.net.parameters())
        self.losses = []
    def step(self, x):
        loss = self.net(x).pow(2).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.losses.append(loss)
"""
    file = tmp_path / "program.py"
    file.write_text(source)
    (found,) = check_file(str(file), Shared()).findings
    assert found.code == "AFT301"
    assert found.bridge is not None
    assert found.bridge.name == "self.losses"


def test_the_run_that_comes_to_the_passes_looks_closely(tmp_path: Path) -> None:
    """The first one may end before: with an empty table, say, where the program is given one."""
    begin = "from somewhere import table\nwords = {} if table is None else table\nfirst = words['a']\n"
    fill = "for i in range(2):\n" + "    i += 1\n" * 1_200
    assert codes(START + begin + fill + f"for x in range(9):\n    {STEP}\n", tmp_path) == ["AFT301"]


def test_the_mode_of_a_module_is_no_setting(tmp_path: Path) -> None:
    source = """
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)
    def forward(self, x):
        training = self.training
        if training:
            self.layer(x).sum().backward()
        return self.layer(x)
net = Net()
net.train(False)
with torch.no_grad():
    net(torch.randn(4, 2))
"""
    assert codes(source, tmp_path) == []


def test_what_a_graph_says_is_no_setting(tmp_path: Path) -> None:
    source = """
import torch
critic = torch.nn.Linear(2, 1)
with torch.no_grad():
    loss = critic(torch.randn(4, 2)).sum()
if loss.requires_grad:
    loss.backward()
if not loss.is_leaf:
    loss.backward()
"""
    assert codes(source, tmp_path) == []


EVERY_SO_MANY = """
import random, torch
class Agent:
    def __init__(self):
        self.net = torch.nn.Linear(4, 2)
        self.opt = torch.optim.Adam(self.net.parameters())
        self.memory, self.steps, self.losses = [], 0, []
    def store(self, item):
        self.memory.append(item)
        self.steps += 1
    def learn(self):
        {guard}
        batch = torch.stack(random.sample(self.memory, 32))
        loss = self.net(batch).pow(2).mean()
        self.opt.zero_grad(); loss.backward(); self.opt.step()
        self.losses.append(loss)
agent = Agent()
for number in range(100_000):
    agent.store(torch.randn(4))
    agent.learn()
"""


@pytest.mark.parametrize(
    "guard",
    ["if self.steps < 1000 or self.steps % 100 != 0: return", "if self.steps % 500 or len(self.memory) < 64: return"],
)
def test_a_counter_that_lets_training_begin(guard: str, tmp_path: Path) -> None:
    assert codes(EVERY_SO_MANY.format(guard=guard), tmp_path) == ["AFT301"]
