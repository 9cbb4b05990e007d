"""Correct programs that were once reported, and their faulty neighbours, which still are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from tests.interpret.checking import check_source

from afterward.tasks.check import check
from afterward.tasks.check_file import Shared, check_bytes
from afterward.tasks.check_settings import Settings


def codes(source: str) -> list[str]:
    checked = check_bytes("train.py", source.encode(), Shared(), alone=True)
    assert checked.error is None
    return [found.code for found in checked.findings]


TWICE = """\
import torch
D = torch.nn.Linear(4, 1)
opt_d = torch.optim.Adam(D.parameters())
record = 0.0
def add_gradients(x):
    e = D(x).mean()
    e.backward()
    return e
for i in range(100):
    opt_d.zero_grad()
    e1 = add_gradients(torch.randn(8, 4))
    e2 = add_gradients(torch.randn(8, 4))
    {statement}
    opt_d.step()
"""


def test_a_helper_with_two_backward_calls_in_an_iteration_is_no_record() -> None:
    assert codes(TWICE.format(statement="err = e2 + e1")) == []
    assert codes(TWICE.format(statement="record = record + e2 + e1")) == ["AFT301"]


CELLS = """\
import torch
class PINN:
    def __init__(self):
        self.net = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
        self.opt = torch.optim.LBFGS(self.net.parameters())
        self.x = torch.rand(16, 1, requires_grad=True)
    def residual(self, x):
        u = self.net(x)
        return torch.autograd.grad(u.sum(), x, create_graph=True)[0] - u
    def closure(self):
        self.opt.zero_grad()
        loss = self.residual(self.x).pow(2).mean()
        loss.backward()
        return loss
    def train(self):
        self.opt.step(self.closure)
"""


def test_training_under_a_magic_is_training() -> None:
    cells = [CELLS, "model = PINN()", "%%time\nmodel.train()", "for i in range(3):\n    print(model.residual(model.x))"]
    book = {"cells": [{"cell_type": "code", "source": text} for text in cells]}
    checked = check_bytes("pinn.ipynb", json.dumps(book).encode(), Shared())
    assert (checked.error, checked.findings) == (None, ())


SCALED = """\
import torch
from torch.distributions import {kind}
net = torch.nn.Linear(3, 1)
scale = torch.tensor([10.0], requires_grad={needs})
m = {kind}(net(torch.randn(1, 3)), {given})
lp = m.log_prob(m.sample())
with torch.no_grad():
    scale /= 1.01
(-lp * 2).sum().backward()
"""


@pytest.mark.parametrize("kind", ["Normal", "Laplace", "Cauchy", "Gumbel"])
@pytest.mark.parametrize("needs", [True, False])
@pytest.mark.parametrize("given", ["scale", "scale=scale"])
def test_a_distribution_saves_what_it_saves_in_torch(kind: str, needs: bool, given: str) -> None:
    source = SCALED.format(kind=kind, needs=needs, given=given)
    try:
        exec(source, {})
        fails = False
    except RuntimeError as error:
        fails = "modified by an inplace operation" in str(error)
    assert [code in ("AFT201", "AFT202") for code in codes(source)] == [True] * fails
    assert torch.is_grad_enabled()


FORGOTTEN = """\
import torch
G, D = torch.nn.Linear(2, 4), torch.nn.Linear(4, 1)
opt_g = torch.optim.SGD(G.parameters(), lr=0.1)
opt_d = torch.optim.SGD(D.parameters(), lr=0.1)
for step in range(20):
    fake = G(torch.randn(8, 2))
    d_loss = D(fake).mean()
    opt_d.zero_grad()
    opt_g.zero_grad()
    d_loss.backward(retain_graph=True)
    {after}
    opt_d.step()
    opt_g.step()
"""
PENALTY = """\
import torch
D = torch.nn.Linear(4, 1)
opt = torch.optim.SGD(D.parameters(), lr=0.1)
def penalty(x):
    score = D(x).pow(2).sum()
    (slope,) = torch.autograd.grad(score, x, create_graph=True)
    return (slope.norm() - 1).pow(2).mean()
for step in range(20):
    x = torch.randn(8, 4, requires_grad=True)
    gp = penalty(x)
    loss = D(x).mean(){more}
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


def test_a_graph_that_is_kept_for_a_forgotten_loss_is_not_called_needless() -> None:
    assert codes(FORGOTTEN.format(after="g_loss = -fake.pow(2).mean()")) == ["AFT304"]
    assert codes(FORGOTTEN.format(after="picture = fake.view(2, 16)")) == ["AFT303"]
    assert codes(FORGOTTEN.format(after="g_loss = -fake.pow(2).mean(); g_loss.backward()")) == []
    assert codes(PENALTY.format(more="")) == ["AFT304"]
    assert codes(PENALTY.format(more=" + gp")) == []


def test_a_penalty_that_is_returned_may_be_used_by_whoever_calls_it() -> None:
    helper = "import torch\ndef gradient_penalty(critic, real, fake):\n"
    helper += "    mixed = (real * 0.5 + fake * 0.5).requires_grad_(True)\n"
    helper += "    slope = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)[0]\n"
    helper += "    return ((slope.norm(2, dim=1) - 1) ** 2).mean()\n"
    assert codes(helper) == []


FROZEN = """\
import torch, torchvision
model = torchvision.models.vgg16(weights="DEFAULT")
for param in model.parameters():
    param.requires_grad = False
{replaced}
optimizer = torch.optim.Adam(model.parameters())
for x, y in torch.utils.data.DataLoader(torchvision.datasets.CIFAR10("data")):
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    "replaced", ["model.classifier = torch.nn.Linear(512, 10)", "model.classifier[6] = torch.nn.Linear(4096, 10)"]
)
def test_a_frozen_network_with_a_new_head_is_trained(replaced: str) -> None:
    assert codes(FROZEN.format(replaced=replaced)) == []


INTO_UNKNOWN = """\
import torch
actor, critic = torch.nn.Linear(2, 1), torch.nn.Linear(3, 1)
opt_a, opt_c = torch.optim.Adam(actor.parameters()), torch.optim.Adam(critic.parameters())
import replay
for state, actions in replay.batches():
    opt_c.zero_grad()
    critic(state).pow(2).mean().backward()
    opt_c.step()
    opt_a.zero_grad()
    both = actions.clone()
    both[:, 0] = actor(state)
    loss = -critic(both).mean()
    loss.backward()
    opt_a.step()
"""
STYLE = """\
import numpy as np, torch
x = torch.rand(3, requires_grad=True)
net = torch.nn.Linear(3, 3)
optimizer = torch.optim.Adam([x])
contents = [net(torch.ones(3))]
for step in range(20):
    optimizer.zero_grad()
    parts = np.array([(net(x) - one).pow(2).mean() for one in contents])
    loss = np.sum(parts) + x.abs().mean()
    loss.backward(retain_graph=True)
    optimizer.step()
"""


def test_what_is_put_into_something_unknown_may_come_back() -> None:
    assert codes(INTO_UNKNOWN) == []
    assert codes(STYLE) == []


ORDERS = """\
import torch
def meta_step(model, optimiser, loss_fn, batches, order, train):
    create_graph = (True if order == 2 else False) and train
    losses = []
    for x, y in batches:
        loss = loss_fn(model(x), y)
        gradients = torch.autograd.grad(loss, list(model.parameters()), create_graph=create_graph)
        losses.append(loss)
    if order == 1:
        return torch.stack(losses).mean()
    elif order == 2:
        optimiser.zero_grad()
        loss = torch.stack(losses).mean()
        if train:
            loss.backward()
            optimiser.step()
        return loss
"""


def test_an_argument_is_one_value_all_through_a_call() -> None:
    assert codes(ORDERS) == []
    assert codes(ORDERS.replace("create_graph=create_graph", "create_graph=False")) == ["AFT102"]


def test_an_image_that_is_trained_through_an_unknown_network() -> None:
    style = """\
import torch, features
x = torch.rand(3, requires_grad=True)
optimizer = torch.optim.Adam([x])
wanted = features.of(torch.ones(3))
for step in range(20):
    optimizer.zero_grad()
    loss = (features.of(x) - wanted) + x.abs().mean()
    loss.backward(retain_graph=True)
    optimizer.step()
"""
    assert codes(style) == []
    assert codes(style.replace("(features.of(x) - wanted) + ", "")) == ["AFT303"]


def test_a_method_of_a_network_that_is_not_shown_is_no_forward_pass(tmp_path: Path) -> None:
    def codes(source: str) -> list[str]:
        return [found.code for found in check_source(source, tmp_path)]

    given = """\
def train(net, optimizer, states, rewards):
    returns = net.discount(net(states).detach(), rewards)
    for epoch in range(4):
        loss = (net(states) * returns).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
    shown = """\
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)
    def forward(self, x):
        return self.layer(x)
    def discount(self, values, rewards):
        return {returned}
"""
    assert codes(given) == []
    assert codes(shown.format(returned="rewards - values") + given) == []
    assert codes(shown.format(returned="self.layer(rewards).exp()") + given) == ["AFT104"]


def test_gradients_that_are_handed_to_the_network_that_is_trained() -> None:
    source = """\
import torch
shared, local = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(shared.parameters(), lr=0.1)
for x in torch.randn(6, 4, 2):
    local.load_state_dict(shared.state_dict())
    optimizer.zero_grad()
    local(x).pow(2).mean().backward()
    for mine, theirs in zip(local.parameters(), shared.parameters()):
        theirs._grad = mine.grad
    optimizer.step()
"""
    assert "AFT404" not in codes(source)


def test_an_image_whose_features_went_out_of_sight() -> None:
    source = """\
import numpy as np, torch, features
x = features.load().requires_grad_()
optimizer = torch.optim.Adam([x])
wanted = features.of(x)
for step in range(20):
    optimizer.zero_grad()
    loss = np.sum(np.array([(one - other) for one, other in zip(features.of(x), wanted)])) + x.abs().mean()
    loss.backward(retain_graph=True)
    optimizer.step()
"""
    assert codes(source) == []


def test_a_derivative_for_parameters_that_its_graph_is_not_seen_to_reach(tmp_path: Path) -> None:
    source = """\
import torch
def step(model, get_loss, get_kl):
    def product(v):
        grads = torch.autograd.grad(get_kl().mean(), model.parameters(), create_graph=True)
        flat = torch.cat([one.view(-1) for one in grads])
        return torch.cat([one.view(-1) for one in torch.autograd.grad((flat * v).sum(), model.parameters())])
    v = torch.cat([one.view(-1) for one in torch.autograd.grad(get_loss(), model.parameters())])
    for _ in range(10):
        v = v - product(v)
        if v.norm() < 1e-5:
            break
    return v
"""
    assert check_source(source, tmp_path) == []


META = """\
import torch
net = torch.nn.Linear(2, 1)
weights = list(net.parameters())
optimizer = torch.optim.Adam(weights)
def inner(x, y):
    fast = [w.clone() for w in weights]
    loss = (torch.nn.functional.linear(x, *fast) - y).pow(2).mean()
    fast = [w - 0.1 * g for w, g in zip(fast, torch.autograd.grad(loss, fast))]
    return (torch.nn.functional.linear(x, *fast) - y).pow(2).mean()
for step in range(100):
    total = 0
    for _ in range(8):
        loss = inner(torch.randn(4, 2), torch.randn(4, 1))
        {statement}
    for w, g in zip(weights, torch.autograd.grad(total, weights)):
        w.grad = g
    optimizer.step()
"""


def test_losses_that_autograd_grad_uses_for_the_parameters() -> None:
    assert codes(META.format(statement="total += loss")) == []
    assert codes(META.format(statement="total = loss if not total or loss > total else total")) == []
    assert codes(META.format(statement="if loss > total: total = loss")) == []
    assert codes(META.format(statement="total = loss")) == ["AFT304"]


TARGET = """\
import torch
class Critic(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.norm, self.head = torch.nn.Linear(4, 4), torch.nn.LayerNorm(4), torch.nn.Linear(4, 1)
    def forward(self, x):
        return self.head(self.body(x).relu())
net, target = Critic(), Critic()
optimizer = torch.optim.Adam(net.parameters())
for i in range(100):
    x = torch.randn(8, 4)
    with torch.no_grad():
        y = target(x)
    optimizer.zero_grad()
    (net(x) - y).pow(2).mean().backward()
    optimizer.step()
    for theirs, mine in zip(target.parameters(), net.parameters()):
        {statement}
"""


@pytest.mark.parametrize(
    "statement",
    [
        "theirs.data.copy_(theirs.data * 0.9 + mine.data * 0.1)",
        "with torch.no_grad(): theirs.mul_(0.9).add_(0.1 * mine)",
    ],
)
def test_a_layer_that_is_not_used_is_copied_to_a_target_network(statement: str) -> None:
    assert codes(TARGET.format(statement=statement)) == []


def test_a_method_that_is_given_a_network_and_its_input(tmp_path: Path) -> None:
    source = """\
import torch
class Critic(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(4, 1)
    def forward(self, state, action):
        return self.head(state + action)
class Actor(torch.nn.Module):
    def __init__(self, inputs):
        super().__init__()
        self.body = torch.nn.Linear(inputs, 4)
        self.optimizer = torch.optim.Adam(self.parameters())
    def train_step(self, critic, states, actions, said):
        loss = -critic(states, actions).mean()
        loss += said.pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
"""
    assert check_source(source, tmp_path) == []


OUTPUTS = """\
import torch
net = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
def outputs(x):
    y = net(x)
    return y, y.softmax(-1).log().mean()
def train(batches):
    for x in batches:
        {statement}
        optimizer.zero_grad()
        y.pow(2).mean().backward()
        optimizer.step()
train(torch.randn(20, 8, 4))
"""


def test_an_output_that_is_not_needed() -> None:
    assert codes(OUTPUTS.format(statement="y, entropy = outputs(x)")) == []
    assert codes(OUTPUTS.format(statement="y = net(x); entropy = y.softmax(-1).log().mean()")) == ["AFT304"]


def test_what_one_program_keeps_in_vain_another_needs(tmp_path: Path) -> None:
    (tmp_path / "inner.py").write_text("""\
import torch
def adapt(net, x, steps):
    weights = list(net.parameters())
    for _ in range(steps):
        loss = torch.nn.functional.linear(x, *weights).pow(2).mean()
        grads = torch.autograd.grad(loss, weights, create_graph=True)
        weights = [one - 0.1 * grad for one, grad in zip(weights, grads)]
    return torch.nn.functional.linear(x, *weights).pow(2).mean()
""")
    begin = "import torch\nfrom inner import adapt\nnet = torch.nn.Linear(4, 1)\n"
    (tmp_path / "evaluate.py").write_text(
        begin + "for x in torch.randn(9, 8, 4):\n    print(adapt(net, x, 1).item(), net.weight.grad)\n"
    )
    settings = Settings(cache=False, jobs=1)
    alone = check([str(tmp_path / "evaluate.py")], settings).report
    assert [one.code for one in alone.findings] == ["AFT303"]
    (tmp_path / "train.py").write_text(
        begin + "optimizer = torch.optim.SGD(net.parameters(), lr=0.1)\nfor x in torch.randn(9, 8, 4):\n"
        "    optimizer.zero_grad()\n    adapt(net, x, 1).backward()\n    optimizer.step()\n"
    )
    assert check([str(tmp_path)], settings).report.findings == ()


def test_an_object_with_several_optimizers_is_not_one_network(tmp_path: Path) -> None:
    source = """\
import torch
class Updater:
    def __init__(self, model, batches):
        self.model, self.batches = model, batches
    def update(self):
        for batch in self.batches:
            losses = self.model(batch)
            self.model.optimizer_g.zero_grad()
            losses["g"].backward()
            self.model.optimizer_g.step()
            self.model.optimizer_d.zero_grad()
            losses["d"].backward()
            self.model.optimizer_d.step()
"""
    assert check_source(source, tmp_path) == []


def test_a_figure_made_of_losses_that_had_their_own_backward(tmp_path: Path) -> None:
    source = """\
import torch
net, opt = (one := torch.nn.Linear(4, 1)), torch.optim.SGD(one.parameters(), lr=0.1)
def train(batches):
    for x in batches:
        out = net(x)
        opt.zero_grad()
        real = out.pow(2).mean()
        real.backward(retain_graph=True)
        fake = {fake}
        {use}
        total = real + fake
        opt.step()
train(torch.randn(20, 8, 4))
"""
    used = source.format(fake="out.abs().mean()", use="fake.backward()")
    assert check_source(used, tmp_path) == []
    forgotten = source.format(fake="out.abs().mean()", use="pass")
    assert {found.code for found in check_source(forgotten, tmp_path)} == {"AFT304"}


def test_a_gradient_that_is_looked_at_before_the_step() -> None:
    """Put back where they were, if they have a gradient: that uses none of it."""
    source = """\
import torch
net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(20, 8, 4):
    net(x).pow(2).mean().backward()
    with torch.no_grad():
        moved = {p: 0.05 * p.grad for p in net.parameters()}
        for p in net.parameters():
            p.add_(moved[p])
    optimizer.zero_grad()
    net(x).pow(2).mean().backward()
    with torch.no_grad():
        for p in net.parameters():
            if p.grad is not None:
                p.sub_(moved[p])
    optimizer.step()
    optimizer.zero_grad()
"""
    assert codes(source) == []


def test_an_evaluation_that_adapts_as_the_training_does() -> None:
    """The graphs of its adaptation are kept for nothing, by a statement that the training needs as it is."""
    source = """\
import torch
model = torch.nn.Linear(4, 1)
opt = torch.optim.Adam(model.parameters())
def adapt(x, y):
    weight = model.weight
    for _ in range(2):
        inner = (x @ weight.t() - y).pow(2).mean()
        (grad,) = torch.autograd.grad(inner, [weight], create_graph=True)
        weight = weight - 0.1 * grad
    return weight
def step(weight, x, y, is_training):
    opt.zero_grad()
    loss = (x @ weight.t() - y).abs().mean()
    if is_training:
        loss.backward()
        opt.step()
    return loss
def test(data):
    total = 0.0
    for x, y in data:
        error = step(adapt(x, y), x, y, is_training=0)
        total += error.cpu().data
    return total / len(data)
data = [(torch.randn(8, 4), torch.randn(8, 1)) for _ in range(6)]
for epoch in range(5):
    for x, y in data:
        step(adapt(x, y), x, y, is_training=True)
    print(test(data))
"""
    assert codes(source) == []
    exec(compile(source, "train.py", "exec"), {})


def test_a_list_of_a_tensor_repeated_an_unknown_number_of_times() -> None:
    source = """\
import pickle
import torch
enc, dec = torch.nn.Linear(2, 4), torch.nn.Linear(5, 1)
optimizer = torch.optim.Adam([*enc.parameters(), *dec.parameters()])
batches = pickle.load(open("data.p", "rb"))
for context, target, y in batches:
    h = enc(context).sum(1)
    h = {repeated}
    out = dec(torch.cat((h, target), dim=2))
    optimizer.zero_grad()
    (out - y).pow(2).mean().backward()
    optimizer.step()
found = []
for context, target, y in batches:
    found.extend(enc(context).sum(1).detach().cpu().numpy())
"""
    assert codes(source.format(repeated="torch.stack([h] * target.shape[1], dim=1)")) == []
    assert codes(source.format(repeated="torch.stack([h] + list(target), dim=1)")) == []
    assert codes(source.format(repeated="torch.stack([h.detach()] * target.shape[1], dim=1)")) == ["AFT404"]


def test_a_loss_whose_network_is_cut_off_is_not_for_the_other_one(tmp_path: Path) -> None:
    """The maker gets nothing of its loss (AFT404); that the critic's part of it is cleared is as in every GAN."""
    source = """\
import torch
main, head, maker = torch.nn.Linear(8, 8), torch.nn.Linear(8, 1), torch.nn.Linear(4, 8)
optimizer_d = torch.optim.Adam([*main.parameters(), *head.parameters()])
optimizer_g = torch.optim.Adam(maker.parameters())
def critic(x):
    return head({main})
for step in range(20):
    optimizer_d.zero_grad()
    critic(torch.randn(16, 8)).pow(2).mean().backward()
    fake = maker(torch.randn(16, 4))
    critic(fake.detach()).abs().mean().backward()
    optimizer_d.step()
    optimizer_g.zero_grad()
    critic(fake).exp().mean().backward()
    optimizer_g.step()
"""
    cut = check_source(source.format(main="main(x).data"), tmp_path)
    assert [found.code for found in cut] == ["AFT404", "AFT404"]
    assert check_source(source.format(main="main(x)"), tmp_path) == []


SHAPED = """\
import torch
def limits(layer):
    size = layer.weight.data.size()[0]
    return -1 / size, 1 / size
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head, self.spare = (torch.nn.Linear(4, 4) for _ in range(3))
        self.spare.weight.data.uniform_(*limits(self.spare))
    def forward(self, x):
        return self.head(torch.relu({body}))
net = Net()
opt = torch.optim.Adam(net.parameters())
for _ in range(10):
    loss = net(torch.randn(3, 4)).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
"""


def test_a_parameter_is_not_cut_off_where_only_its_shape_is_asked(tmp_path: Path) -> None:
    assert check_source(SHAPED.format(body="self.body(x)"), tmp_path) == []
    cut = SHAPED.format(body="torch.nn.functional.linear(x, self.body.weight.data, self.body.bias)")
    assert [one.code for one in check_source(cut, tmp_path)] == ["AFT404"]


FIRST_VALUE = """\
import torch
net = torch.nn.Linear(2, 1)
opt = torch.optim.Adam(net.parameters())
record, loss = [], 0.0
for number in range(20):
    if number % 5 == 0:
        loss = net(torch.randn(4, 2)).pow(2).mean()
        opt.zero_grad(); loss.backward(); opt.step()
    if type(loss) == {kind}:
        record.append(loss)
    else:
        record.append(loss.item())
"""


def test_a_tensor_is_of_no_class_of_pythons_own(tmp_path: Path) -> None:
    assert check_source(FIRST_VALUE.format(kind="float"), tmp_path) == []
    assert [one.code for one in check_source(FIRST_VALUE.format(kind="torch.Tensor"), tmp_path)] == ["AFT301"]


GENERATED = """\
import torch
net = torch.nn.Linear(4, 2)
opt = torch.optim.Adam(net.parameters())
def rollout(env):
    with torch.no_grad():
        while not env.done():
            yield env.step(net(env.observe()))
def train(env):
    for _ in range(20):
        {collect}
        loss = net(torch.stack(seen)).pow(2).mean()
        opt.zero_grad(); loss.backward(); opt.step()
class Env:
    def reset(self): self.left = 5
    def done(self):
        self.left -= 1
        return self.left == 0
    def observe(self): return torch.randn(4)
    def step(self, action): return torch.cat([action, action])
"""


def test_a_generator_that_is_left_leaves_its_grad_mode(tmp_path: Path) -> None:
    """What nothing holds any more is closed; what is held open keeps recording off, as PyTorch does."""
    source = GENERATED.format(collect="seen = []\n        for one in rollout(env):\n            seen.append(one)")
    assert check_source(source, tmp_path) == []
    left = source.replace("seen.append(one)", "seen.append(one)\n            if len(seen) == 2: break")
    names: dict[str, object] = {}
    exec(left.replace("range(20)", "range(2)") + "\nenv = Env(); env.reset(); env.left = 99; train(env)", names)
    assert check_source(left, tmp_path) == []
