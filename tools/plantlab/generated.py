"""Correct training programs, put together from parts: a model, a way to train it, a way to write the loop."""

from __future__ import annotations

import itertools
import re
import textwrap
from pathlib import Path

HEAD = """\
import torch
from torch import nn

torch.manual_seed({seed})

"""

MODELS = {
    "perceptron": "net = nn.Sequential(nn.Linear(6, 12), nn.{act}(), nn.Linear(12, 1))",
    "normed": "net = nn.Sequential(nn.Linear(6, 12), nn.LayerNorm(12), nn.{act}(), nn.Linear(12, 1))",
}

# Each: what is made before the loop, and the body of one step. {opt} is the optimizer's class.
WAYS = {
    "regression": (
        "opt = torch.optim.{opt}(net.parameters(), lr=0.05)\nhistory = []",
        """\
        x = torch.randn(8, 6)
        loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        history.append(loss.item())
        """,
    ),
    "accumulation": (
        "opt = torch.optim.{opt}(net.parameters(), lr=0.05)\ntotal = 0.0",
        """\
        opt.zero_grad()
        for x in torch.randn(3, 4, 6):
            loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean() / 3
            loss.backward()
            total += loss.item()
        opt.step()
        """,
    ),
    "two-losses": (
        "head = nn.Linear(12, 3)\nopt = torch.optim.{opt}([*net.parameters(), *head.parameters()], lr=0.05)",
        """\
        x = torch.randn(8, 6)
        features = net[:-1](x)
        value = net[-1](features)
        fit = (value - x.sum(1, keepdim=True)).pow(2).mean()
        labels = x[:, :3].argmax(1)
        kinds = nn.functional.cross_entropy(head(features), labels)
        opt.zero_grad()
        fit.backward(retain_graph=True)
        kinds.backward()
        opt.step()
        """,
    ),
    "adversarial": (
        "judge = nn.Sequential(nn.Linear(1, 8), nn.{act}(), nn.Linear(8, 1))\n"
        "opt_g = torch.optim.{opt}(net.parameters(), lr=0.02)\nopt_d = torch.optim.{opt}(judge.parameters(), lr=0.02)",
        """\
        real = torch.randn(8, 1) + 2
        fake = net(torch.randn(8, 6))
        loss_d = (judge(real) - 1).pow(2).mean() + judge(fake.detach()).pow(2).mean()
        opt_d.zero_grad()
        loss_d.backward()
        opt_d.step()
        loss_g = (judge(fake) - 1).pow(2).mean()
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()
        """,
    ),
    "teacher": (
        "teacher = nn.Linear(6, 1)\nopt = torch.optim.{opt}(net.parameters(), lr=0.05)\naverage = 0.0",
        """\
        x = torch.randn(8, 6)
        with torch.no_grad():
            target = teacher(x)
        loss = (net(x) - target).abs().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            for mine, theirs in zip(teacher.parameters(), net[-1].parameters()):
                if mine.shape == theirs.shape:
                    mine.mul_(0.9).add_(theirs, alpha=0.1)
        average = 0.9 * average + 0.1 * loss.item()
        """,
    ),
    "recurrent": (
        "cell = nn.GRUCell(6, 6)\n"
        "opt = torch.optim.{opt}([*net.parameters(), *cell.parameters()], lr=0.05)\nhidden = torch.zeros(4, 6)",
        """\
        hidden = hidden.detach()
        loss = torch.zeros(())
        for x in torch.randn(3, 4, 6):
            hidden = cell(x, hidden)
            loss = loss + (net(hidden) - x.sum(1, keepdim=True)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        """,
    ),
    "actor-critic": (
        "critic = nn.Linear(6, 1)\n"
        "opt_a = torch.optim.{opt}(net.parameters(), lr=0.02)\nopt_c = torch.optim.{opt}(critic.parameters(), lr=0.05)",
        """\
        state = torch.randn(8, 6)
        policy = torch.distributions.Normal(net(state), 1.0)
        action = policy.sample()
        reward = -(action - state.sum(1, keepdim=True)).abs()
        value = critic(state)
        advantage = (reward - value).detach()
        loss_a = -(policy.log_prob(action) * advantage).mean()
        loss_c = (reward - value).pow(2).mean()
        opt_a.zero_grad()
        loss_a.backward()
        opt_a.step()
        opt_c.zero_grad()
        loss_c.backward()
        opt_c.step()
        """,
    ),
    "penalty": (
        "opt = torch.optim.{opt}(net.parameters(), lr=0.05)\nworst = 0.0",
        """\
        x = torch.randn(8, 6, requires_grad=True)
        out = net(x)
        (slope,) = torch.autograd.grad(out.sum(), x, create_graph=True)
        loss = out.pow(2).mean() + (slope.norm(dim=1) - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        worst = max(worst, loss.item())
        """,
    ),
}

LAYOUTS = ("script", "function", "class")
VARIANTS = (("SGD", "ReLU"), ("Adam", "Tanh"))
STEPS = 8


def written(folder: Path) -> Path:
    """Write every program into this folder, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    chosen = itertools.product(WAYS, LAYOUTS, MODELS)
    for number, (way, layout, model) in enumerate(chosen):
        optimizer, activation = VARIANTS[number % 2]
        text = program(way, layout, model, optimizer, activation, number)
        (folder / f"{way}-{layout}-{model}.py").write_text(text)
    return folder


def program(way: str, layout: str, model: str, optimizer: str, activation: str, seed: int) -> str:
    words = {"opt": optimizer, "act": activation}
    before, body = WAYS[way]
    made = f"{MODELS[model]}\n{before}".format(**words)
    step = textwrap.dedent(body)
    head = HEAD.format(seed=seed)
    if layout == "script":
        return f"{head}{made}\nfor step in range({STEPS}):\n{_in(step)}"
    if layout == "function":
        loop = f"{made}\nfor step in range({STEPS}):\n{_in(step)}"
        return f"{head}\ndef train():\n{_in(loop)}\n\ntrain()\n"
    names = sorted({line.split(" = ")[0] for line in made.splitlines()})
    for name in names:
        made, step = _owned(made, name), _owned(step, name)
    init = f"def __init__(self):\n{_in(made)}\n\ndef train_step(self):\n{_in(step)}"
    loop = f"trainer = Trainer()\nfor step in range({STEPS}):\n    trainer.train_step()\n"
    return f"{head}\nclass Trainer:\n{_in(init)}\n\n{loop}"


def _in(text: str) -> str:
    return textwrap.indent(text, "    ") + ("" if text.endswith("\n") else "\n")


def _owned(text: str, name: str) -> str:
    """Every use of a name as an attribute of `self`."""
    return re.sub(rf"(?<![\w.]){name}\b(?!=)", f"self.{name}", text)
