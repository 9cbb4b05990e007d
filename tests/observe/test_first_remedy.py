"""Which remedy comes first for a value that was computed once: it is data where the pass computes the same anew."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.watching import watch_source

PROGRAMS = {
    "an output after the weights were moved by hand": (
        """
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
opt = torch.optim.SGD(net.parameters(), 0.1)
out = net(torch.randn(6, 4))
out.square().mean().backward()
with torch.no_grad():
    for p in net.parameters():
        p.add_(0.05 * p.grad)
out.square().mean().backward()
opt.step()
""",
        ["recompute_forward"],
    ),
    "predictions in a memory, all that is trained": (
        """
critic = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
opt = torch.optim.SGD(critic.parameters(), 0.1)
memory = []
for step in range(4):
    memory.append((critic(torch.randn(4)), 1.0))
    if step < 2:
        continue
    loss = torch.stack([(value - reward) for value, reward in memory[:2]]).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
        ["recompute_forward", "detach_state"],
    ),
    "predictions in a memory, beside one that is trained": (
        """
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
opt = torch.optim.SGD(net.parameters(), 0.1)
memory = []
for step in range(4):
    now = net(torch.randn(4))
    loss = (torch.stack([now, *memory])).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    memory.append(now)
""",
        ["detach_state", "recompute_forward"],
    ),
    "a rollout's log-probabilities": (
        """
policy = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
opt = torch.optim.SGD(policy.parameters(), 0.1)
states, actions = torch.randn(6, 4), torch.randint(2, (6, 1))
old = policy(states).log_softmax(-1).gather(1, actions)
for epoch in range(3):
    new = policy(states).log_softmax(-1).gather(1, actions)
    loss = -((new - old).exp() * torch.randn(6, 1)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
        ["detach_input", "recompute_forward"],
    ),
    "an advantage by values that are trained elsewhere in the loss": (
        """
actor, critic = torch.nn.Linear(4, 2), torch.nn.Linear(4, 1)
opt = torch.optim.SGD([*actor.parameters(), *critic.parameters()], 0.1)
states, returns = torch.randn(6, 4), torch.randn(6, 1)
advantage = returns - critic(states)
for epoch in range(3):
    loss = -(actor(states).log_softmax(-1) * advantage).mean() + (critic(states) - returns).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
        ["detach_input", "recompute_forward"],
    ),
    "prototypes of the network that the queries go through too": (
        """
body = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
opt = torch.optim.SGD(body.parameters(), 0.1)
support, queries = torch.randn(3, 5, 4), torch.randn(6, 4)
prototypes = torch.stack([body(samples).mean(0) for samples in support])
for epoch in range(3):
    distances = (body(queries).unsqueeze(1) - prototypes.unsqueeze(0)).square().sum(-1)
    loss = torch.nn.functional.cross_entropy(-distances, torch.tensor([0, 1, 2, 0, 1, 2]))
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
        ["recompute_forward", "detach_input"],
    ),
    "features, with a penalty on all parameters": (
        """
body, head = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh()), torch.nn.Linear(8, 1)
parameters = [*body.parameters(), *head.parameters()]
opt = torch.optim.SGD(parameters, 0.1)
features = body(torch.randn(6, 4))
for epoch in range(3):
    loss = head(features).square().mean() + sum(p.pow(2).sum() for p in parameters)
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
        ["recompute_forward", "detach_input"],
    ),
    "weights that this very pass trains, between others that it does not": (
        """
alphas, cell = torch.nn.Parameter(torch.zeros(3)), torch.nn.Linear(4, 4)
architect, trainer = torch.optim.SGD([alphas], 0.1), torch.optim.SGD(cell.parameters(), 0.1)
weights = alphas.softmax(0)
for step in range(3):
    loss = (weights[0] * cell(torch.randn(2, 4))).square().mean()
    architect.zero_grad()
    loss.backward()
    architect.step()
""",
        ["recompute_forward", "detach_input"],
    ),
    "the rows of a Jacobian": (
        """
x = torch.randn(3, requires_grad=True)
y = torch.tanh(x)
rows = []
for i in range(3):
    rows.append(torch.autograd.grad(y[i], x)[0])
""",
        ["retain_graph", "recompute_forward"],
    ),
    "a penalty computed once": (
        """
net = torch.nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), 0.1)
penalty = net.weight.pow(2).sum() + net.bias.pow(2).sum()
for epoch in range(3):
    loss = net(torch.randn(6, 4)).square().mean() + 0.1 * penalty
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
        ["recompute_forward", "detach_input"],
    ),
}


@pytest.mark.parametrize("what", PROGRAMS)
def test_data_is_detached_and_what_is_trained_is_computed_anew(tmp_path: Path, what: str) -> None:
    source, kinds = PROGRAMS[what]
    (found,) = watch_source(source, tmp_path).findings
    assert found.code in ("AFT102", "AFT104", "AFT107")
    assert [remedy.kind for remedy in found.remedies] == kinds
