"""What the interpreter knows about libraries: the expectation is written on the line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.interpret.checking import check_source

_MARK = re.compile(r"# (?:error|warning): (AFT\d+)")

SCRIPTS = {
    "compiled: two outputs of one region": """
import torch
a, b = torch.nn.Linear(3, 4), torch.nn.Linear(3, 4)
@torch.compile
def both(x, y):
    return torch.tanh(a(x)), torch.tanh(b(y))
u, v = both(torch.randn(2, 3), torch.randn(2, 3))
u.sum().backward()
v.sum().backward()  # error: AFT109
""",
    "compiled: a region of one output shares nothing else": """
import torch
G, D = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
opt_g, opt_d = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
make = torch.compile(G)
fake = make(torch.randn(5, 3))
opt_d.zero_grad()
D(fake).pow(2).mean().backward()
opt_d.step()
opt_g.zero_grad()
D(fake).mean().backward()  # error: AFT105
opt_g.step()
""",
    "compiled: the module itself is still called as it is": """
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(3, 4), torch.nn.Linear(3, 4)
    def forward(self, x):
        return {"u": torch.tanh(self.a(x)), "v": torch.tanh(self.b(x))}
net = Net()
fast = torch.compile(net, mode="reduce-overhead")
(fast(torch.randn(2, 3))["u"].sum()).backward()
out = net(torch.randn(2, 3))
out["u"].sum().backward()
out["v"].sum().backward()
out = fast(torch.randn(2, 3))
out["u"].sum().backward()
out["v"].sum().backward()  # error: AFT109
""",
    "compiled: the region is left on the way, or runs as it is": """
import torch
a, b = torch.nn.Linear(3, 4), torch.nn.Linear(3, 4)
@torch.compile
def broken_up(x, y):
    u = torch.tanh(a(x))
    print(u.mean().item())
    return u, torch.tanh(b(y))
@torch.compile(backend="eager")
def as_it_is(x, y):
    return torch.tanh(a(x)), torch.tanh(b(y))
for function in (broken_up, as_it_is):
    u, v = function(torch.randn(2, 3), torch.randn(2, 3))
    u.sum().backward()
    v.sum().backward()
""",
    "a transform that keeps its last pair": """
import torch
from torch.distributions import AffineTransform, Normal, TransformedDistribution
scale, data = torch.ones(1, requires_grad=True), torch.randn(9)
affine = AffineTransform(torch.zeros(1), scale, cache_size=1)
for step in range(3):
    flow = TransformedDistribution(Normal(torch.zeros(1), torch.ones(1)), [affine])
    likelihood = flow.log_prob(data)
    loss = -likelihood.mean()
    loss.backward()  # error: AFT103
""",
    "a transform that keeps nothing": """
import torch
from torch.distributions import AffineTransform, Normal, TransformedDistribution
scale, data = torch.ones(1, requires_grad=True), torch.randn(9)
affine = AffineTransform(torch.zeros(1), scale)
for step in range(3):
    flow = TransformedDistribution(Normal(torch.zeros(1), torch.ones(1)), [affine])
    (-flow.log_prob(data).mean()).backward()
    scale.grad = None
""",
    "a squashed policy samples anew each time": """
import torch
from torch.distributions import Normal, TransformedDistribution
from torch.distributions.transforms import TanhTransform
net = torch.nn.Linear(3, 2)
opt = torch.optim.Adam(net.parameters())
squash = TanhTransform(cache_size=1)
for step in range(3):
    mean, spread = net(torch.randn(4, 3)).chunk(2, -1)
    policy = TransformedDistribution(Normal(mean, spread.exp()), [squash])
    action = policy.rsample()
    opt.zero_grad()
    (policy.log_prob(action).mean() - action.mean()).backward()
    opt.step()
""",
    "modules that are added by name to a list": """
import torch
class Critics(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.all = torch.nn.ModuleList()
        for number in range(2):
            self.all.add_module(f"critic_{number}", torch.nn.Linear(3, 1))
    def loss(self, x):
        return sum(critic(x).pow(2).mean() for critic in self.all)
critics = Critics()
opt = torch.optim.Adam(critics.parameters())
loss = critics.loss(torch.randn(4, 3))
loss.backward()
opt.step()
loss.backward()  # error: AFT101
""",
    "states are reset in a branch on something unknown": """
import torch
from settings import options
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.h = torch.nn.RNNCell(3, 4), torch.zeros(2, 4)
    def reset(self):
        self.h = torch.zeros(2, 4)
    def forward(self, x):
        self.h = self.cell(x, self.h)
        return self.h
net = Net()
for x in torch.randn(3, 2, 3):
    if options.stateless:
        net.reset()
    net(x).sum().backward()
""",
    "a saved value is read off the node": """
import torch
weight = torch.ones(3, requires_grad=True)
out = torch.tanh(weight)
before = out.grad_fn._saved_result
out.sum().backward()
after = out.grad_fn._saved_result  # error: AFT108
""",
}


@pytest.mark.parametrize("source", SCRIPTS.values(), ids=SCRIPTS.keys())
def test_a_script(source: str, tmp_path: Path) -> None:
    expected = [(number, mark[1]) for number, line in enumerate(source.splitlines(), 1) if (mark := _MARK.search(line))]
    assert [(f.primary.site.line, f.code) for f in check_source(source, tmp_path)] == expected
