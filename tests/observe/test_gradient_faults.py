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
    "two steps in all, never cleared": ("AFT402", """
for x in torch.randn(2, 3, 4):
    model(x).pow(2).mean().backward()
    optimizer.step()
"""),
    "two steps for one loss, none for the other": ("AFT402", """
head = torch.nn.Linear(1, 1)
other = torch.optim.SGD(head.parameters(), lr=0.1)
for x in torch.randn(6, 3, 4):
    other.zero_grad()
    head(model(x).detach()).pow(2).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    head(model(x)).abs().mean().backward()
    print(head.weight.grad.norm())
    optimizer.step()
"""),
    "two steps, each before its backward": ("AFT408", """
for x in torch.randn(2, 3, 4):
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    optimizer.step()
    loss.backward()
"""),
    "by hand, with momentum, never cleared": ("AFT402", """
velocity = {name: torch.zeros_like(p) for name, p in model.named_parameters()}
for x in torch.randn(6, 3, 4):
    model(x).pow(2).mean().backward()
    with torch.no_grad():
        for name, p in model.named_parameters():
            velocity[name].mul_(0.9).add_(p.grad)
            p.sub_(0.1 * velocity[name])
"""),
    "a derivative in a sum that is averaged": ("AFT407", """
for x in torch.randn(6, 3, 4):
    x.requires_grad_()
    y = model(x).pow(2)
    (one,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (two,) = torch.autograd.grad(y.sum(), x, retain_graph=True)
    two = two.pow(2).sum(1)
    penalty = torch.mean(one.pow(2).sum(1) + two) * 2 / 3
    optimizer.zero_grad()
    (y.mean() + penalty).backward()
    optimizer.step()
"""),
    "another phase, whose optimizer holds the old copy": ("AFT404", """
import copy
def train(net, optimizer):
    for x in torch.randn(6, 3, 4):
        optimizer.zero_grad()
        net(x).pow(2).mean().backward()
        optimizer.step()
train(model, optimizer)
tuned = copy.deepcopy(model)
train(tuned, torch.optim.SGD(model.parameters(), lr=0.01))
"""),
    "a new copy in each of several phases": ("AFT404", """
import copy
for phase in range(4):
    for x in torch.randn(8, 3, 4):
        optimizer.zero_grad()
        model(x).pow(2).mean().backward()
        optimizer.step()
    model = copy.deepcopy(model)
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
    "micro-batches, and one of two optimizers is never cleared": ("AFT402", """
head = torch.nn.Linear(1, 1)
other = torch.optim.SGD(head.parameters(), lr=0.1)
for number, x in enumerate(torch.randn(40, 3, 4), 1):
    head(model(x)).pow(2).mean().backward()
    if number % 4 == 0:
        optimizer.step()
        other.step()
        optimizer.zero_grad()
"""),
    "an optimizer for each task, two steps each": ("AFT402", """
import copy
for _ in range(6):
    learner = copy.deepcopy(model)
    inner = torch.optim.SGD(learner.parameters(), lr=0.1)
    for x in torch.randn(2, 3, 4):
        learner(x).pow(2).mean().backward()
        inner.step()
"""),
    "each network's loss is followed by the step of the first": ("AFT410", """
models = [torch.nn.Linear(4, 1) for _ in range(3)]
optimizers = [torch.optim.SGD(one.parameters(), lr=0.1) for one in models]
for x in torch.randn(12, 3, 4):
    for one, opt in zip(models, optimizers):
        opt.zero_grad()
        one(x).pow(2).mean().backward()
        optimizers[0].step()
"""),
    "a look around with the gradients of the last step": ("AFT402", """
for x in torch.randn(12, 3, 4):
    model(x).pow(2).mean().backward()
    around = {}
    with torch.no_grad():
        for p in model.parameters():
            e = p.grad * 0.05
            p.add_(e)
            around[p] = e
    optimizer.zero_grad()
    model(x).pow(2).mean().backward()
    with torch.no_grad():
        for p in model.parameters():
            p.sub_(around[p])
    optimizer.step()
"""),
    "a parameter of the module itself is cut off": ("AFT404", """
class Shifted(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
        self.shift = torch.nn.Parameter(torch.randn(4))

    def forward(self, x):
        return self.layer(x + self.shift.detach())

net = Shifted()
opt = torch.optim.Adam(net.parameters())
for x in torch.randn(12, 3, 4):
    loss = net(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""),
    "frozen for the other network's loss, and never thawed": ("AFT404", """
critic = torch.nn.Linear(1, 1)
other = torch.optim.SGD(critic.parameters(), lr=0.1)
for x in torch.randn(12, 3, 4):
    optimizer.zero_grad()
    critic(model(x)).pow(2).mean().backward()
    optimizer.step()
    model.requires_grad_(False)
    other.zero_grad()
    critic(model(x)).abs().mean().backward()
    other.step()
"""),
    "a layer is replaced by a copy that no optimizer holds": ("AFT404", """
import copy

def train():
    net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    name, module = next(net.named_children())
    setattr(net, name, copy.deepcopy(module))
    for x in torch.randn(8, 3, 4):
        opt.zero_grad()
        net(x).pow(2).mean().backward()
        opt.step()
        optimizer.zero_grad()
        model(x).pow(2).mean().backward()
        optimizer.step()

train()
"""),
    "each of two networks is stepped after the other's loss": ("AFT408", """
maker = torch.nn.Linear(2, 4)
other = torch.optim.SGD(maker.parameters(), lr=0.1)
for x in torch.randn(12, 3, 4):
    made = maker(torch.randn(3, 2))
    loss = model(made).mean()
    other.zero_grad()
    loss.backward()
    optimizer.step()
    judged = (model(x) - model(made.detach())).mean().pow(2)
    optimizer.zero_grad()
    judged.backward()
    other.step()
"""),
    "a derivative inside a square": ("AFT407", """
t = torch.linspace(0, 1, 5).reshape(-1, 1).requires_grad_()
net = torch.nn.Sequential(torch.nn.Linear(1, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
opt = torch.optim.Adam(net.parameters())

def residual():
    u = net(t)
    du = torch.autograd.grad(u.sum(), t, retain_graph=True)[0]
    return du + u

for _ in range(12):
    opt.zero_grad()
    loss = residual().pow(2).mean() + net(torch.zeros(1, 1)).sub(1).pow(2).sum()
    loss.backward()
    opt.step()
"""),
    "a list keeps every graph, of inputs with gradients": ("AFT301", """
past = []
for x in torch.randn(8, 3, 4):
    x = x.clone().requires_grad_()
    (slope,) = torch.autograd.grad(model(x).pow(2).sum(), x, create_graph=True)
    loss = model(x).pow(2).mean() + (slope.norm(dim=1) - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    past.append(loss)
    optimizer.step()
"""),
    "three iterations, and one optimizer never steps": ("AFT410", """
other_model = torch.nn.Linear(4, 1)
other = torch.optim.SGD(other_model.parameters(), lr=0.1)
for x in torch.randn(3, 3, 4):
    optimizer.zero_grad()
    model(x).pow(2).mean().backward()
    optimizer.step()
    other.zero_grad()
    other_model(x).pow(2).mean().backward()
    optimizer.step()
"""),
    "a bias whose gradient is zero, and one loss twice": ("AFT403", """
for x in torch.randn(6, 3, 4):
    optimizer.zero_grad()
    loss = (model(x) - model(x + 1)).pow(2).mean()
    loss.backward(retain_graph=True)
    loss.backward()
    optimizer.step()
"""),
    "a critic that is never cleared, and not stepped too early": ("AFT402", """
critic = torch.nn.Linear(1, 1)
other = torch.optim.SGD(critic.parameters(), lr=0.1)
for x in torch.randn(12, 3, 4):
    fake = model(x)
    critic(fake.detach()).pow(2).mean().backward()
    other.step()
    optimizer.zero_grad()
    critic(fake).mean().backward()
    optimizer.step()
"""),
    "one of two optimizers steps between clear and backward": ("AFT408", """
scale = torch.ones(1, requires_grad=True)
other = torch.optim.SGD([scale], lr=0.1)
for x in torch.randn(12, 3, 4):
    loss = (model(x) * scale).pow(2).mean()
    optimizer.zero_grad()
    other.zero_grad()
    other.step()
    loss.backward()
    optimizer.step()
"""),
    "a target network whose gradients pile up unused": ("AFT411", """
import copy
target = copy.deepcopy(model)
for x in torch.randn(10, 3, 4):
    optimizer.zero_grad()
    (model(x) - target(x + 1)).pow(2).mean().backward()
    optimizer.step()
    target.load_state_dict(model.state_dict())
"""),
    "a tensor of sums keeps every graph": ("AFT301", """
sums = torch.zeros(2)
for epoch in range(2):
    for x in torch.randn(8, 3, 4):
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        sums[epoch] += loss
"""),
}  # fmt: skip
FINE = {
    "a step that is tried again with another learning rate": """
for x in torch.randn(12, 3, 4):
    optimizer.zero_grad()
    loss = model(x).pow(2).mean()
    loss.backward()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    for rate in (1.0, 0.1):
        model.load_state_dict(before)
        optimizer.param_groups[0]["lr"] = rate
        optimizer.step()
""",
    "by hand, with momentum": """
velocity = {name: torch.zeros_like(p) for name, p in model.named_parameters()}
for x in torch.randn(6, 3, 4):
    model.zero_grad()
    model(x).pow(2).mean().backward()
    with torch.no_grad():
        for name, p in model.named_parameters():
            velocity[name].mul_(0.9).add_(p.grad)
            p.sub_(0.1 * velocity[name])
""",
    "all optimizers step after each loss, and all are cleared": """
head = torch.nn.Linear(4, 1)
other = torch.optim.SGD(head.parameters(), lr=0.1)
for x in torch.randn(12, 3, 4):
    for net in (model, head):
        net(x).pow(2).mean().backward()
        for each in (optimizer, other):
            each.step()
            each.zero_grad()
""",
    "an attack on the parameters, whose loss is added": """
for x in torch.randn(12, 3, 4):
    model(x).pow(2).mean().backward()
    backup = model.weight.data.clone()
    r = model.weight.grad / model.weight.grad.norm()
    model.weight.data.add_(r)
    model(x).pow(2).mean().backward()
    model.weight.data = backup
    optimizer.step()
    optimizer.zero_grad()
""",
    "frozen for the other network's loss, and thawed": """
critic = torch.nn.Linear(1, 1)
other = torch.optim.SGD(critic.parameters(), lr=0.1)
for x in torch.randn(12, 3, 4):
    model.requires_grad_(True)
    optimizer.zero_grad()
    critic(model(x)).pow(2).mean().backward()
    optimizer.step()
    model.requires_grad_(False)
    other.zero_grad()
    critic(model(x)).abs().mean().backward()
    other.step()
""",
    "an encoder is stepped for two losses, one of them of the iteration before": """
head = torch.nn.Linear(1, 1)
other = torch.optim.SGD(head.parameters(), lr=0.1)
for number, x in enumerate(torch.randn(12, 3, 4)):
    head(model(x)).pow(2).mean().backward()
    model(x).abs().mean().backward()
    optimizer.step()
    other.step()
    optimizer.zero_grad()
    other.zero_grad()
""",
    "the derivative of another forward pass is a target": """
for x in torch.randn(12, 3, 4):
    x.requires_grad_()
    target = torch.autograd.grad(model(x).pow(2).sum(), x)[0]
    optimizer.zero_grad()
    loss = (model(x) - target).pow(2).mean()
    loss.backward()
    optimizer.step()
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
