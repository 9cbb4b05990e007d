"""Programs that do not fail: a silent fault is found where it is certain, and nothing is said where it is not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.interpret.checking import check_source

_MARK = re.compile(r"# warning: (AFT\d+)")

_START = """
import torch
net = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
"""

SCRIPTS = {
    "never cleared as shipped, where a flag is off": """
HALF = False
scaler = torch.amp.GradScaler("cpu", enabled=False)
for x in torch.randn(6, 4, 2):
    loss = net(x).pow(2).mean()
    if HALF:
        opt.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(opt)
    else:
        loss.backward()  # warning: AFT402
        opt.step()
""",
    "every second step, counted from 0, and cleared in each": """
for i, x in enumerate(torch.randn(8, 4, 2)):
    opt.zero_grad()  # warning: AFT405
    net(x).pow(2).mean().backward()
    if i % 2 == 0:
        opt.step()
""",
    "a meter two objects deep": """
class Meter:
    def __init__(self):
        self.total = 0.0
    def update(self, value):
        self.total += value  # warning: AFT301
class Log:
    def __init__(self):
        self.meter = Meter()
log = Log()
for x in torch.randn(6, 4, 2):
    opt.zero_grad()
    loss = net(x).pow(2).mean()
    loss.backward()
    opt.step()
    log.meter.update(loss)
""",
    "a meter of several sums, each with its count": """
class Meter:
    def __init__(self):
        self.values = {}
    def update(self, **given):
        for key, value in given.items():
            total, count = self.values.get(key, (0, 0))
            self.values[key] = (total + value, count + 1)  # warning: AFT301
meter = Meter()
for x in torch.randn(6, 4, 2):
    opt.zero_grad()
    out = net(x)
    loss, size = out.pow(2).mean(), out.abs().mean()
    (loss + size).backward()
    opt.step()
    meter.update(loss=loss, size=size)
""",
    "sums of several losses, swept at the end of each epoch": """
for epoch in range(4):
    sums = {"fit": 0.0, "size": 0.0}
    opt.zero_grad()
    for x in torch.randn(6, 4, 2):
        out = net(x)
        sums["fit"] = sums["fit"] + out.pow(2).mean()
        sums["size"] = sums["size"] + out.abs().mean()
    (sums["fit"] + sums["size"]).backward()
    opt.step()
""",
    "a dict that makes its meters, and meters that add in place": """
class Mean:
    def __init__(self):
        self.total, self.count = 0, 0
    def __iadd__(self, value):
        self.total, self.count = self.total + value, self.count + 1
        return self
class Means(dict):
    def __missing__(self, key):
        self[key] = Mean()
        return self[key]
means = Means()
for x in torch.randn(6, 4, 2):
    opt.zero_grad()
    loss = net(x).pow(2).mean()
    loss.backward()
    opt.step()
    means["loss"] += loss  # warning: AFT301
    means["size"] += len(x)
""",
    "the newest loss of each kind, under keys": """
import torch
net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh())
opt = torch.optim.SGD(net.parameters(), 0.01)
seldom = rare = torch.tensor(0.0)
last = {}
for i in range(1000):
    loss = net(torch.randn(3, 4)).square().mean()
    last["every"] = loss
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 16 == 0:
        seldom = net(torch.randn(3, 4)).exp().mean()
        opt.zero_grad()
        seldom.backward()
        opt.step()
    last["seldom"] = seldom
    if i % 4 == 0:
        rare = net(torch.randn(3, 4)).abs().mean()
        opt.zero_grad()
        rare.backward()
        opt.step()
    last["rare"] = rare
""",
    "a window of a fixed length": """
from collections import deque
recent = deque(maxlen=3)
for x in torch.randn(6, 4, 2):
    opt.zero_grad()
    loss = net(x).pow(2).mean()
    loss.backward()
    opt.step()
    recent.append(loss)
""",
    "losses that are collected and swept together": """
for epoch in range(3):
    losses = []
    for x in torch.randn(6, 4, 2):
        losses.append(net(x).pow(2).mean())
    opt.zero_grad()
    sum(losses).backward()
    opt.step()
""",
    "a sum that is swept in a turn nobody comes to": """
total = 0
for i, x in enumerate(unknown_loader):
    loss = net(x).pow(2).mean()
    total += loss
    (loss * 0.5).backward(retain_graph=True)
    if (i + 1) % 50 == 0:
        total.backward()
        total = 0
""",
    "a second pass over the same loss in every tenth turn": """
for i, x in enumerate(unknown_loader):
    opt.zero_grad()
    loss = net(x).pow(2).mean()
    loss.backward(retain_graph=True)
    if i % 10 == 9:
        loss.backward()  # warning: AFT403
    opt.step()
""",
    "cleared in each micro-batch of a loader": """
for i, (x, y) in enumerate(torch.utils.data.DataLoader(unknown_dataset)):
    opt.zero_grad()  # warning: AFT405
    (net(x) - y).pow(2).mean().backward()
    if (i + 1) % 4 == 0:
        opt.step()
""",
    "cleared in each micro-batch of a loader that a comprehension goes over": """
def micro_batch(i, x, y):
    opt.zero_grad()  # warning: AFT405
    (net(x) - y).pow(2).mean().backward()
    if (i + 1) % 4 == 0:
        opt.step()
loader = torch.utils.data.DataLoader(unknown_dataset)
[micro_batch(i, x, y) for i, (x, y) in enumerate(loader)]
""",
    "the newest of each under keys that are not known": """
store = {}
for x, ids in unknown_loader:
    for key in store:
        store[key] = store[key].detach()
    opt.zero_grad()
    loss = 0
    for key in ids.tolist():
        old = store.get(key, torch.zeros(2))
        store[key] = torch.tanh(net(x).sum() + old)
        loss = loss + store[key].sum()
    loss.backward()
    opt.step()
""",
    "a state under keys that are not known": """
store = {}
for x, ids in unknown_loader:
    opt.zero_grad()
    loss = 0
    for key in ids.tolist():
        old = store.get(key, torch.zeros(2))
        store[key] = torch.tanh(net(x).sum() + old)
        loss = loss + store[key].sum()
    loss.backward()  # warning: AFT107
    opt.step()
""",
    "a value for each of several unknown names, in one step": """
values = {}
for x in torch.randn(4, 3, 4):
    for name in unknown_names:
        values[name] = net(x).sum()
    opt.zero_grad()
    for name in unknown_names:
        values[name].backward()
    opt.step()
""",
    "cleared after each window of micro-batches of a loader": """
for i, (x, y) in enumerate(torch.utils.data.DataLoader(unknown_dataset)):
    (net(x) - y).pow(2).mean().backward()
    if (i + 1) % 4 == 0:
        opt.step()
        opt.zero_grad()
""",
    "norms of gradients with their graphs, of new inputs each time": """
norms = []
for _ in range(20):
    x = torch.randn(4, 2).requires_grad_(True)
    (slope,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
    norms.append(slope.norm())  # warning: AFT301
    loss = (slope.norm() - 1).pow(2)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    "retained for a pass that comes every tenth turn": """
for i, x in enumerate(unknown_loader):
    opt.zero_grad()
    loss = net(x).pow(2).mean()
    loss.backward(retain_graph=True)
    if i % 10 == 9:
        torch.autograd.grad(loss, list(net.parameters()))
    opt.step()
""",
    "something unknown may have zeroed the gradients": """
from elsewhere import prepare
for x in torch.randn(6, 4, 2):
    prepare(opt)
    net(x).pow(2).mean().backward()
    opt.step()
""",
    "zeroed by hand, one parameter after the other": """
for x in torch.randn(6, 4, 2):
    net(x).pow(2).mean().backward()
    with torch.no_grad():
        for p in net.parameters():
            p -= 0.1 * p.grad
            p.grad.data.zero_()
""",
    "the critic's gradients are polluted, then zeroed": """
critic = torch.nn.Linear(1, 1)
opt_critic = torch.optim.SGD(critic.parameters(), lr=0.1)
for x in torch.randn(6, 4, 2):
    opt_critic.zero_grad()
    critic(net(x).detach()).mean().backward()
    opt_critic.step()
    opt.zero_grad()
    (-critic(net(x)).mean()).backward()
    opt.step()
""",
    "a recurrent network's last output": """
cell, out = torch.nn.RNNCell(2, 3), torch.nn.Linear(3, 1)
opt = torch.optim.SGD([*cell.parameters(), *out.parameters()], lr=0.1)
for sequence in torch.randn(4, 5, 1, 2):
    h = torch.zeros(1, 3)
    opt.zero_grad()
    for x in sequence:
        h = cell(x, h)
        y = out(h)
    y.pow(2).mean().backward()
    opt.step()
""",
    "a loss overwritten, swept by a helper": """
def update(value):
    opt.zero_grad()
    value.backward()
    opt.step()
for epoch in range(3):
    for x in torch.randn(5, 4, 2):
        loss = net(x).pow(2).mean()  # warning: AFT304
    update(loss)
""",
    "a loss overwritten in a function that returns the last": """
def judge(data):
    for x in data:
        loss = net(x).pow(2).mean()  # warning: AFT304
    return loss
for epoch in range(3):
    opt.zero_grad()
    judge(torch.randn(5, 4, 2)).backward()
    opt.step()
""",
    "an optimizer whose parameters something unknown may reach": """
from elsewhere import criterion
other = torch.nn.Linear(2, 1)
opt_other = torch.optim.SGD(other.parameters(), lr=0.1)
for x in torch.randn(5, 4, 2):
    loss = net(x).pow(2).mean() + criterion(other(x))
    opt.zero_grad()
    loss.backward()
    opt.step()
    opt_other.step()
""",
    "a pass from something unknown may reach anything": """
from elsewhere import total
other = torch.nn.Linear(2, 1)
opt_other = torch.optim.SGD(other.parameters(), lr=0.1)
for x in torch.randn(5, 4, 2):
    opt.zero_grad()
    net(x).pow(2).mean().backward()
    opt.step()
    total.backward()
    opt_other.step()
""",
    "features that are put on something unknown": """
from elsewhere import graph
head = torch.nn.Linear(1, 1)
opt = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
for x in torch.randn(5, 4, 2):
    graph.ndata["h"] = net(x)
    graph.update()
    loss = head(graph.ndata["h"]).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        net(x)
""",
    "a penalty on gradients reaches the critic's parameters": """
critic = torch.nn.Sequential(torch.nn.Linear(1, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
opt_critic = torch.optim.SGD(critic.parameters(), lr=0.1)
for x in torch.randn(6, 4, 2):
    opt.zero_grad()
    fake = net(x)
    (-critic(fake).mean()).backward()
    opt.step()
    opt_critic.zero_grad()
    point = torch.randn(4, 1, requires_grad=True)
    (slope,) = torch.autograd.grad(critic(point).sum(), point, create_graph=True)
    slope.norm().backward()
    opt_critic.step()
""",
    "a record of one epoch, in a program that goes another way in another run": """
from somewhere import loader, score
def train_epoch():
    outputs = []
    for _ in loader:
        opt.zero_grad()
        output = net(torch.randn(4, 2))
        output.mean().backward()
        opt.step()
        outputs.append(output)  # warning: AFT301
    return score(len(outputs))
best = 0
for epoch in range(10):
    now = train_epoch()
    if now > best:
        best = now
        net = net.float()
""",
    "calls inside each other that each have a loss": """
def update(x):
    loss = net(x).mean().sqrt()
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss
def updates(x):
    loss = None
    for _ in range(2):
        loss = update(x)
    return loss
def epoch(x):
    for _ in range(2):
        loss = updates(x)
    return loss
loss = None
for x in torch.randn(6, 4, 2):
    loss = epoch(x)
""",
    "a state that grows in a method": """
class Track:
    def __init__(self):
        self.level = torch.zeros(1)
    def step(self, x):
        self.level = 0.9 * self.level + net(x).mean()
        return self.level.sum()
track = Track()
for x in torch.randn(8, 4, 2):
    opt.zero_grad()
    track.step(x).backward(retain_graph=True)  # warning: AFT302
    opt.step()
""",
    "gradients with a graph that nothing uses": """
for x in torch.randn(6, 4, 2):
    opt.zero_grad()
    net(x).pow(2).mean().backward(create_graph=True)  # warning: AFT303
    opt.step()
""",
    "gradients with a graph that a penalty uses": """
for x in torch.randn(6, 4, 2):
    opt.zero_grad()
    net(x).pow(2).mean().backward(create_graph=True)
    net.weight.grad.pow(2).sum().backward()
    opt.step()
""",
    "an optimizer that another one is stepped for": """
head = torch.nn.Linear(2, 1)
other = torch.optim.SGD(head.parameters(), lr=0.1)
for x in torch.randn(6, 4, 2):
    opt.zero_grad()
    net(x).pow(2).mean().backward()  # warning: AFT410
    other.step()
    other.zero_grad()
    head(x).pow(2).mean().backward()
    other.step()
    other.zero_grad()
""",
    "an optimizer that steps every so often": """
head = torch.nn.Linear(2, 1)
other = torch.optim.SGD(head.parameters(), lr=0.1)
for number, x in enumerate(torch.randn(90, 4, 2)):
    net(x).pow(2).mean().backward()
    if number % 30 == 29:
        opt.step()
        opt.zero_grad()
    other.zero_grad()
    head(x).pow(2).mean().backward()
    other.step()
""",
    "a layer put in another's place after the optimizer was made": """
import copy
deep = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
trains = torch.optim.SGD(deep.parameters(), lr=0.1)
deep[0] = copy.deepcopy(deep[0])
for x in torch.randn(6, 4, 2):
    trains.zero_grad()
    deep(x).pow(2).mean().backward()
    trains.step()  # warning: AFT404
""",
    "a sum over an episode that something unknown ends": """
import gym
env = gym.make("CartPole-v1")
for episode in range(100):
    total, state = 0, env.reset()
    while True:
        state, reward, done, info = env.step(env.action_space.sample())
        opt.zero_grad()
        loss = net(torch.randn(4, 2)).pow(2).mean()
        loss.backward()
        opt.step()
        total += loss  # warning: AFT301
        if done:
            break
""",
    "a part of the loss that is computed and forgotten": """
def both(x):
    out = net(x)
    fit = out.pow(2).mean()
    size = out.abs().mean()  # warning: AFT304
    return fit
for x in torch.randn(6, 4, 2):
    loss = both(x)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    "a part of the loss that is only shown": """
def both(x):
    out = net(x)
    fit = out.pow(2).mean()
    size = out.abs().mean()
    print(size.item())
    return fit
for x in torch.randn(6, 4, 2):
    loss = both(x)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    "a loss that is not computed from what the network says": """
scale = torch.nn.Parameter(torch.ones(1))
both = torch.optim.SGD([*net.parameters(), scale], lr=0.1)
for x in torch.randn(6, 4, 2):
    said = net(x)
    loss = (x * scale).pow(2).mean()
    both.zero_grad()
    loss.backward()
    both.step()  # warning: AFT404
""",
    "a head that this loss does not use": """
class Two(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.one, self.other = (torch.nn.Linear(2, 2) for _ in range(3))
    def forward(self, x):
        x = self.body(x)
        return self.one(x), self.other(x)
two = Two()
trains = torch.optim.SGD(two.parameters(), lr=0.1)
for x in torch.randn(6, 4, 2):
    one, _ = two(x)
    trains.zero_grad()
    one.pow(2).mean().backward()
    trains.step()
""",
    "an optimizer for each of several networks of one name": """
for fold in range(3):
    deep = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
    trains = torch.optim.SGD(deep.parameters(), lr=0.1)
    for x in torch.randn(6, 4, 2):
        trains.zero_grad()
        deep(x).pow(2).mean().backward()
        trains.step()
""",
    "a model that is copied after the optimizer, and a loss that is divided by a size": """
train = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.rand(40, 2)), batch_size=8)
def run_epoch(model, optimizer):
    for (x,) in train:
        loss = model(x).pow(2).sum() / x.size(0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()  # warning: AFT404
net = __import__("copy").deepcopy(net)
for epoch in range(4):
    run_epoch(net, opt)
""",
    "a critic that is frozen for the generator's step, and stays so": """
critic = torch.nn.Linear(1, 1)
critic_opt = torch.optim.SGD(critic.parameters(), lr=0.1)
for x in torch.randn(6, 4, 2):
    critic_opt.zero_grad()
    gap = (critic(net(x).detach()) - critic(x[:, :1])).mean() + x.sum().requires_grad_()
    gap.backward()
    critic_opt.step()  # warning: AFT404
    for p in critic.parameters():
        p.requires_grad_(False)
    opt.zero_grad()
    (-critic(net(x))).mean().backward()
    opt.step()
""",
    "a critic that is frozen for the generator's step, and thawed after it": """
critic = torch.nn.Linear(1, 1)
critic_opt = torch.optim.SGD(critic.parameters(), lr=0.1)
for x in torch.randn(6, 4, 2):
    critic_opt.zero_grad()
    gap = (critic(net(x).detach()) - critic(x[:, :1])).mean()
    gap.backward()
    critic_opt.step()
    critic.requires_grad_(False)
    opt.zero_grad()
    (-critic(net(x))).mean().backward()
    opt.step()
    critic.requires_grad_(True)
""",
    "a network that a setting may freeze": """
import sys
other = torch.nn.Linear(2, 1)
both = torch.optim.SGD(other.parameters(), lr=0.1)
for x in torch.randn(6, 4, 2):
    opt.zero_grad()
    both.zero_grad()
    (net(x) + other(x)).pow(2).mean().backward()
    opt.step()
    both.step()
    other.requires_grad_(len(sys.argv) > 1)
""",
}


@pytest.mark.parametrize("source", SCRIPTS.values(), ids=SCRIPTS.keys())
def test_a_script(source: str, tmp_path: Path) -> None:
    text = _START + source
    expected = [(number, mark[1]) for number, line in enumerate(text.splitlines(), 1) if (mark := _MARK.search(line))]
    assert [(f.primary.site.line, f.code) for f in check_source(text, tmp_path)] == expected


TWO_OPTIMIZERS = """\
import torch
encoder, decoder = torch.nn.Linear(4, 2), torch.nn.Linear(2, 4)
for_encoder = torch.optim.SGD(encoder.parameters(), lr=0.1)
for_decoder = torch.optim.SGD({held}, lr=0.1)
for x in torch.randn(10, 8, 4):
    code = encoder(x)
    loss = (decoder({code}) - x).pow(2).mean()
    for_decoder.zero_grad()
    loss.backward()
    for_decoder.step()
    code.pow(2).mean().backward()
    {also}
"""


@pytest.mark.parametrize(
    ("held", "also", "expected"),
    [
        ("decoder.parameters()", "pass", ["AFT410"]),
        ("decoder.parameters()", "for_encoder.step(); for_encoder.zero_grad()", []),
        ("decoder.parameters()", "print(for_encoder)", []),
    ],
)
def test_an_optimizer_that_nothing_uses(held: str, also: str, expected: list[str], tmp_path: Path) -> None:
    found = check_source(TWO_OPTIMIZERS.format(held=held, also=also, code="code.detach()"), tmp_path)
    assert [one.code for one in found] == expected


@pytest.mark.parametrize("held", ["decoder.parameters()", "[*encoder.parameters(), *decoder.parameters()]"])
def test_what_a_step_of_another_optimizer_uses_may_go_through_a_network_that_stays_as_it_is(
    held: str, tmp_path: Path
) -> None:
    text = TWO_OPTIMIZERS.format(held=held, also="pass", code="code")
    assert check_source(text.replace("    code.pow(2).mean().backward()\n", ""), tmp_path) == []
