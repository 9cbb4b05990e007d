"""`run` and `check` say the same of one fault, finding by finding; what must differ is listed with its reason."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.interpret.checking import check_source
from tests.watching import watch_source

from afterward.model.diagnosis import Diagnosis, Report, Severity
from afterward.render.json_report import as_data

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from enginelab.differences import DIFFERENCES, unexplained  # noqa: E402
from enginelab.programs import KINDS, named, names  # noqa: E402
from enginelab.reports import summary  # noqa: E402

CASES = [
    file.parent for file in sorted(ROOT.glob("tests/cases/*/buggy.py")) if len(list(file.parent.glob("*.py"))) == 2
]
SAMPLE = [*CASES[::11], *(case for case in CASES if case.name == "grad-norm-log-create-graph")]
LISTED = [case for case in CASES if case.name in ("class-level-history", "loss-rebuilt-from-list", "spike-retry-late")]


@pytest.fixture(autouse=True)
def gradients_on() -> Iterator[None]:
    """Some programs leave gradients switched off: that is their fault, not the next one's."""
    yield
    torch.set_grad_enabled(True)


PROGRAMS = {
    "a state in a dictionary": """
import torch
w = torch.ones(3, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
state = {"h": torch.zeros(3)}
for _ in range(3):
    state["h"] = torch.relu(w * (1 + state["h"]))
    opt.zero_grad()
    state["h"].sum().backward()
    opt.step()
""",
    "a recurrent layer that is given one step at a time": """
import torch
rnn = torch.nn.RNN(4, 4)
opt = torch.optim.SGD(rnn.parameters(), lr=0.1)
h = torch.zeros(1, 3, 4)
for x in torch.randn(3, 3, 4):
    out, h = rnn(x.unsqueeze(0), h)
    opt.zero_grad()
    out.sum().backward()
    opt.step()
""",
    "a row overwritten": """
import torch
h = torch.tanh(torch.ones(3, 4, requires_grad=True))
h[0] += 1.0
h.sum().backward()
""",
    "an activation of torch.nn.functional in place": """
import torch
import torch.nn.functional as F
h = torch.exp(torch.ones(3, requires_grad=True))
F.leaky_relu(h, 0.1, inplace=True)
h.sum().backward()
""",
    "a closure that an optimizer calls again": """
import torch
w = torch.ones(3, requires_grad=True)
opt = torch.optim.LBFGS([w], max_iter=4)
penalty = w.exp().sum()
def closure():
    opt.zero_grad()
    loss = (w - 1).pow(2).sum() + penalty
    loss.backward()
    return loss
opt.step(closure)
""",
    "a parameter moved by hand": """
import torch
w = torch.ones(3, requires_grad=True)
out = torch.sigmoid(w * w)
out.sum().backward()
with torch.no_grad():
    w.add_(0.1 * w.grad)
out.pow(2).sum().backward()
""",
    "a value overwritten after its backward": """
import torch
w = torch.ones(3, requires_grad=True)
y = torch.sigmoid(w)
total = y.sum()
total.backward()
y.mul_(2.0)
total.backward()
""",
    "a step after a product in place": """
import torch
w = torch.ones(3, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
w.sum().backward()
def forward(y):
    y.mul_(w)
    return y.sum()
loss = forward(w.exp())
opt.step()
loss.backward()
""",
    "a step without gradients": """
import torch
w, x = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
y = (w * x).sum()
for _ in range(2):
    opt.step()
    (g,) = torch.autograd.grad(y, [x])
""",
    "gradients of one input alone, cleared in between": """
import torch
w = torch.ones(3, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
loss = w.exp().sum()
loss.backward(inputs=[w])
opt.zero_grad()
loss.backward()
""",
    "a plain factor is saved": """
import torch
w = torch.ones(3, requires_grad=True)
loss = (w * 2.0).sum()
loss.backward()
loss.backward()
""",
    "the steps of a comprehension": """
import torch
w = torch.ones(3, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
def step(x):
    loss = (w * x).sum()
    loss.backward()
    opt.step()
    return loss.item()
print([step(x) for x in torch.randn(8, 3)])
""",
    "computed under a decorated function": """
import torch
net = torch.nn.Linear(2, 1)
@torch.no_grad()
def embed(x):
    return net(x)
for _ in range(2):
    score = embed(torch.randn(3, 2)) * 2
    score.sum().backward()
""",
    "a write into a part of a tensor, used twice": """
import torch
w = torch.ones(3, requires_grad=True)
x = torch.ones(2, 3)
x[0] = w
(g,) = torch.autograd.grad([x.sum()], [w])
(g,) = torch.autograd.grad([x], [w], [torch.ones(2, 3)])
""",
    "what a loop takes out of a dictionary": """
import torch
rate = torch.tensor(0.1, requires_grad=True)
opt = torch.optim.SGD([rate], lr=0.1)
params = {"a": torch.ones(3), "b": torch.ones(2)}
for _ in range(3):
    new = {}
    for name, p in params.items():
        new[name] = p - rate * p
    opt.zero_grad()
    sum(p.pow(2).sum() for p in new.values()).backward()
    opt.step()
    params = new
""",
    "gradients that are zeros": """
import torch
w = torch.ones(3, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
loss = torch.nn.functional.mse_loss(w, w)
loss.backward()
loss.backward()
""",
    "a function that gives no gradient": """
import torch
class Stops(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(y)
        return x * y
    @staticmethod
    def backward(ctx, grad):
        return None, None
w, x = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
y = torch.softmax(Stops.apply(x, w.exp()), 0)
y.backward(torch.ones(3))
y.sum().backward()
""",
    "a value that a write into a part of a tensor had saved": """
import torch
w, x = torch.ones(3, 3, requires_grad=True), torch.ones(3, 3, requires_grad=True)
y = torch.tanh(w)
y.clamp_(0.1, 0.9)
y = y.transpose(0, 1)
y[0] = y.diagonal()
y.addcmul_(x, y)
y.sum().backward()
""",
    "a write right after a backward": """
import torch
w = torch.ones(3, requires_grad=True)
y = torch.sigmoid(w * 1)
loss = torch.cos(y).sum()
loss.backward(retain_graph=True)
y.mul_(y)
loss.backward()
""",
    "an encoder that belongs to the critic": """
import torch
encoder, critic, actor = torch.nn.Linear(3, 3), torch.nn.Linear(3, 1), torch.nn.Linear(3, 3)
critic_opt = torch.optim.SGD([*encoder.parameters(), *critic.parameters()], lr=0.1)
actor_opt = torch.optim.SGD(actor.parameters(), lr=0.1)
class Agent:
    def update_critic(self, h):
        loss = critic(h).pow(2).mean()
        critic_opt.zero_grad()
        loss.backward()
        critic_opt.step()
    def update_actor(self, h):
        loss = -critic(actor(h)).mean()
        actor_opt.zero_grad()
        loss.backward()
        actor_opt.step()
agent = Agent()
for x in torch.randn(3, 2, 3):
    h = torch.tanh(encoder(x))
    agent.update_critic(h)
    agent.update_actor(h)
""",
    "two calls that freed a part each": """
import torch
w, z = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
opt = torch.optim.SGD([w, z], lr=0.1)
u, v = w.exp(), z.sigmoid()
u.sum().backward()
v.sum().backward()
(u * v).sum().backward()
""",
    "two optimizers of one name": """
import torch
class Branch:
    def __init__(self):
        self.net = torch.nn.Linear(3, 1)
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)
    def learn(self, z):
        loss = self.net(z).pow(2).mean()
        loss.backward()
        self.opt.step()
encoder, branches = torch.nn.Linear(2, 3), [Branch(), Branch()]
opt = torch.optim.SGD(encoder.parameters(), lr=0.1)
z = torch.tanh(encoder(torch.randn(4, 2)))
for branch in branches:
    branch.learn(z)
opt.step()
""",
}


def _first(findings: list[Diagnosis]) -> dict[str, Any] | None:
    data = as_data(Report((), tuple(one for one in findings if one.severity is not Severity.INFO)))["findings"]
    return summary(data[0]) if data else None


def _apart(source: str, folder: Path) -> dict[str, object] | None:
    """The fields in which the engines differ; None where one of them does not see the fault."""
    watched, read = _first(watch_source(source, folder).findings), _first(check_source(source, folder))
    if watched is None or read is None:
        return None
    return {key: (watched[key], read[key]) for key in watched if watched[key] != read[key]}


@pytest.mark.parametrize("name", PROGRAMS)
def test_both_engines_say_the_same(name: str, tmp_path: Path, torch_as_it_was: None) -> None:
    assert _apart(PROGRAMS[name], tmp_path) == {}


@pytest.mark.parametrize("case", SAMPLE, ids=lambda case: case.name)
def test_the_engines_agree_on_a_case(case: Path, tmp_path: Path, torch_as_it_was: None) -> None:
    apart = _apart((case / "buggy.py").read_text(encoding="utf-8"), tmp_path)
    assert not unexplained(case.name, apart or {})


@pytest.mark.parametrize("case", LISTED, ids=lambda case: case.name)
def test_what_is_listed_does_differ(case: Path, tmp_path: Path, torch_as_it_was: None) -> None:
    apart = _apart((case / "buggy.py").read_text(encoding="utf-8"), tmp_path)
    reason, fields = DIFFERENCES[case.name]
    assert reason
    assert set(apart or ()) == fields


def test_the_list_speaks_of_cases_that_are_there() -> None:
    assert DIFFERENCES.keys() <= {file.parent.name for file in ROOT.glob("tests/cases/*/buggy.py")}


def test_a_random_program_follows_from_its_name() -> None:
    found = [named(name) for name in names(KINDS, 4, 1)]
    assert found == [named(name) for name in names(KINDS, 4, 1)]
    assert len(set(found)) == 4


def test_the_flag_is_needed_on_each_call_that_freed_a_part(tmp_path: Path, torch_as_it_was: None) -> None:
    source = PROGRAMS["two calls that freed a part each"]
    for findings in (watch_source(source, tmp_path).findings, check_source(source, tmp_path)):
        (lines,) = (fact for fact in findings[0].retain.facts if fact.name == "lines")
        assert [site.line for site in lines.sites] == [6, 7]
    flagged = source.replace("sum().backward()", "sum().backward(retain_graph=True)", 2)
    assert watch_source(flagged, tmp_path).error is None
    assert watch_source(flagged.replace("retain_graph=True", "", 1), tmp_path).error is not None
