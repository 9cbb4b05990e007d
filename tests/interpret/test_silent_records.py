"""Records that keep graphs which no backward uses, and numbers that are read out of tensors."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.interpret.checking import check_source

EVALUATION = """\
import torch
net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
{decorator}
def validate(batches):
    total, seen = 0, []
    for x in batches:
        loss = net(x).pow(2).mean()
        {statement}
    {after}
for epoch in range(5):
    for x in torch.randn(20, 8, 4):
        optimizer.zero_grad()
        net(x).pow(2).mean().backward()
        optimizer.step()
    print(validate(torch.randn(10, 8, 4)))
"""


@pytest.mark.parametrize(
    ("decorator", "statement", "after", "expected"),
    [
        ("", "total += loss", "return total.item()", ["AFT301"]),
        ("", "seen.append(loss)", "return torch.stack(seen).mean().item()", ["AFT301"]),
        ("", "total += loss.item()", "return total", []),
        ("@torch.no_grad()", "total += loss", "return total.item()", []),
        ("", "seen.append(loss)", "torch.stack(seen).mean().backward()", []),
    ],
)
def test_what_an_evaluation_collects(
    decorator: str, statement: str, after: str, expected: list[str], tmp_path: Path
) -> None:
    source = EVALUATION.format(decorator=decorator, statement=statement, after=after)
    assert [found.code for found in check_source(source, tmp_path)] == expected


def test_what_a_network_collects_is_part_of_its_result(tmp_path: Path) -> None:
    source = """\
import torch
class Cells(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = torch.nn.Linear(4, 4)
    def forward(self, x, steps):
        seen = []
        for _ in range(steps):
            x = self.cell(x)
            seen.append(x)
        return torch.stack(seen)
net = Cells()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(20, 8, 4):
    optimizer.zero_grad()
    net(x, 2).pow(2).mean().backward()
    optimizer.step()
print(net(torch.randn(8, 4), 9).mean().item())
"""
    assert check_source(source, tmp_path) == []


def test_a_generator_that_waits_holds_what_it_has_collected(tmp_path: Path) -> None:
    source = """\
import torch
net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
def steps(batches):
    past = []
    for x in batches:
        loss = net(x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        past.append(loss)
        yield loss.item()
for value in steps(torch.randn(20, 8, 4)):
    print(value)
"""
    assert [(found.code, found.primary.site.line) for found in check_source(source, tmp_path)] == [("AFT301", 11)]


def test_numbers_of_a_tensor_have_no_graph(tmp_path: Path) -> None:
    source = """\
import torch
actor, critic = torch.nn.Linear(4, 2), torch.nn.Linear(4, 1)
for_actor, for_critic = (torch.optim.SGD(net.parameters(), lr=0.1) for net in (actor, critic))
for x in torch.randn(20, 8, 4):
    returns = torch.stack([r + critic(x)[-1].detach() for r in reversed(x.sum(1).tolist())])
    for_actor.zero_grad()
    actor(x).log_softmax(-1).mean().backward()
    for_critic.step()
    for_critic.zero_grad()
    (critic(x) - returns).pow(2).mean().backward()
    for_actor.step()
"""
    assert "AFT408" in [found.code for found in check_source(source, tmp_path)]


def test_a_method_of_tensors_called_as_a_function(tmp_path: Path) -> None:
    source = """\
import torch
cell = torch.nn.RNNCell(4, 4)
optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
state = torch.zeros(8, 4)
for x in torch.randn(20, 8, 4):
    state = cell(x, {value})
    optimizer.zero_grad()
    state.mean().backward()
    optimizer.step()
"""
    assert check_source(source.format(value="torch.Tensor.detach(state)"), tmp_path) == []
    assert [found.code for found in check_source(source.format(value="state"), tmp_path)] == ["AFT103"]


NESTED = """\
import torch
net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
history = []
for phase in range(2):
    for epoch in range(1000):
        total = 0
        for number, x in enumerate(torch.randn(500, 8, 4)):
            loss = net(x).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            {inside}
        {after}
"""


@pytest.mark.parametrize(
    ("inside", "after", "expected"),
    [
        ("total += loss", "print(total.item())", [13]),
        ("total += loss; total = 0 if number % 100 == 0 else total", "print(total)", [13]),
        ("pass", "history.append((loss, epoch))", [14]),
        ("total += loss.item()", "history.append(total)", []),
    ],
)
def test_records_of_loops_in_loops(inside: str, after: str, expected: list[int], tmp_path: Path) -> None:
    found = check_source(NESTED.format(inside=inside, after=after), tmp_path)
    assert [(one.code, one.primary.site.line) for one in found] == [("AFT301", line) for line in expected]


def test_an_iterator_of_the_program_does_not_use_up_the_run(tmp_path: Path) -> None:
    source = """\
import torch
class Batches:
    def __iter__(self):
        return self
    def __next__(self):
        return [torch.randn(4) for _ in range(30)], 1
net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
with torch.no_grad():
    for number, (xs, y) in enumerate(Batches()):
        for x in xs:
            net(x)
losses = []
for x in torch.randn(20, 8, 4):
    loss = net(x).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss)
"""
    assert [found.code for found in check_source(source, tmp_path)] == ["AFT301"]


def test_a_pass_that_cannot_come_to_a_kept_graph(tmp_path: Path) -> None:
    source = """\
import torch
from elsewhere import content
G, D = torch.nn.Linear(2, 4), torch.nn.Linear(4, 1)
opt_g, opt_d = torch.optim.SGD(G.parameters(), lr=0.1), torch.optim.SGD(D.parameters(), lr=0.1)
for x in torch.randn(20, 8, 4):
    opt_d.zero_grad()
    (D(G(torch.randn(8, 2)).detach()).mean() - D(x).mean()).backward(retain_graph=True)
    opt_d.step()
    opt_g.zero_grad()
    content(G(torch.randn(8, 2)), x).backward()
    opt_g.step()
"""
    assert [(found.code, found.primary.site.line) for found in check_source(source, tmp_path)] == [("AFT303", 7)]


@pytest.mark.parametrize(("statement", "expected"), [("total += loss * 0.1", ["AFT301"]), ("total += loss.item()", [])])
def test_an_evaluation_late_in_a_program(statement: str, expected: list[str], tmp_path: Path) -> None:
    """A program that has run long gets few iterations of each loop: of one that collects graphs, as many as tell."""
    layers = "\n".join(f"        x = torch.relu(self.layers[{number % 3}](x))" for number in range(300))
    source = f"""\
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(3))
    def forward(self, x):
{layers}
        return x
def train(net, loader):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(30):
        for x in loader:
            loss = net(x).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
def evaluate(net, loader):
    total = 0
    for x in loader:
        loss = net(x).pow(2).mean()
        {statement}
    return float(total)
loader = torch.utils.data.DataLoader(torch.randn(64, 4), batch_size=8)
net = Net()
train(net, loader)
train(net, loader)
train(net, loader)
print(evaluate(net, loader))
"""
    assert [found.code for found in check_source(source, tmp_path)] == expected


DELAYED = """\
import torch
class Agent:
    def __init__(self):
        self.actor, self.critic = torch.nn.Linear(3, 1), torch.nn.Linear(4, 1)
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters())
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters())
        self.updates = 0
    def train(self, state, action, target):
        self.updates += 1
        critic_loss = (self.critic(torch.cat([state, action], 1)) - target).pow(2).mean()
        self.critic_optimizer.zero_grad()
        critic_loss.backward()
        self.critic_optimizer.step()
        actor_loss = None
        if self.updates % 2 == 0:
            actor_loss = -self.critic(torch.cat([state, self.actor(state)], 1)).mean()
            self.actor_optimizer.zero_grad()
            actor_loss.backward()
            self.actor_optimizer.step()
        return critic_loss.item(), actor_loss
agent = Agent()
critic_losses, actor_losses = [], []
for t in range(1000):
    critic_loss, actor_loss = agent.train(torch.randn(8, 3), torch.randn(8, 1), torch.randn(8, 1))
    critic_losses.append(critic_loss)
    if actor_loss:
        actor_losses.append({kept})
"""


@pytest.mark.parametrize(("kept", "expected"), [("actor_loss", ["AFT301"]), ("actor_loss.item()", [])])
def test_what_every_second_step_collects(kept: str, expected: list[str], tmp_path: Path) -> None:
    """A pass that comes every second iteration is waited for; a loss is true, so the test asks whether there is one."""
    source = DELAYED.format(kept=kept)
    assert [found.code for found in check_source(source, tmp_path)] == expected


@pytest.mark.parametrize(
    ("begin", "inside", "expected"),
    [
        ("seen = torch.zeros(0)", "seen = torch.cat([seen, out])", [13]),
        ("seen = torch.zeros(0)", "for row in out:\n            seen = torch.cat((seen, row))", [14]),
        ("total = 0", "total = total + out.mean()", [13]),
        (
            "seen = None",
            "seen = torch.zeros(0)\n        for row in out:\n            seen = torch.cat((seen, row))",
            [],
        ),
        ("seen = torch.zeros(0)", "seen = torch.cat([seen, out.detach()])", []),
    ],
)
def test_an_evaluation_that_joins_its_outputs(begin: str, inside: str, expected: list[int], tmp_path: Path) -> None:
    source = f"""import torch
net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(20, 8, 4):
    optimizer.zero_grad()
    net(x).pow(2).mean().backward()
    optimizer.step()
def evaluate(batches):
    {begin}
    rows = 0
    for x in batches:
        out = net(x)
        {inside}
        rows += 1
    return rows
evaluate(torch.randn(10, 8, 4))
"""
    assert [one.primary.site.line for one in check_source(source, tmp_path)] == expected


def test_a_record_that_is_joined_is_reported_by_its_own_name(tmp_path: Path) -> None:
    source = """import torch
net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
def train(batches):
    outputs = []
    for x in batches:
        out = net(x)
        optimizer.zero_grad()
        out.pow(2).mean().backward()
        optimizer.step()
        outputs.append(out)
    return net, torch.cat(outputs)
for epoch in range(5):
    _, every = train(torch.randn(20, 8, 4))
"""
    assert [(one.code, one.primary.site.line) for one in check_source(source, tmp_path)] == [("AFT301", 11)]


@pytest.mark.parametrize(("start", "later"), [("b.weight.data.fill_(0)", ""), ("", "b.weight.data.mul_(2)")])
def test_what_is_filled_before_the_training_is_not_trained_by_hand(start: str, later: str, tmp_path: Path) -> None:
    source = f"""import torch
a, b = torch.nn.Linear(4, 1), torch.nn.Linear(4, 1, bias=False)
{start}
optimizer = torch.optim.SGD([*a.parameters(), *b.parameters()], lr=0.1)
for x in torch.randn(20, 8, 4):
    loss = (a(x) + b(x).detach()).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    {later}
"""
    assert [one.code for one in check_source(source, tmp_path)] == (["AFT404"] if start else [])


ONE_AFTER_THE_OTHER = """\
import torch
x = torch.randn(8, 4)
losses, others = [], []
net = torch.nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range({first}):
    loss = net(x).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    losses.append(loss{item})
other = torch.nn.Linear(4, 1)
second = torch.optim.SGD(other.parameters(), lr=0.1)
for step in range(500):
    error = other(x).abs().mean()
    second.zero_grad(); error.backward(); second.step()
    others.append(error)
"""


@pytest.mark.parametrize(("first", "item", "expected"), [(900, "", 2), (900, ".item()", 1), (2, ".item()", 1)])
def test_a_program_that_trains_twice(first: int, item: str, expected: int, tmp_path: Path) -> None:
    found = check_source(ONE_AFTER_THE_OTHER.format(first=first, item=item), tmp_path)
    assert [one.code for one in found] == ["AFT301"] * expected


NAMED_BY_NUMBER = """import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.stage_1, self.stage_2 = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)
    def forward(self, x):
        for number in range(2):
            x = getattr(self, "stage_{:d}".format(number + 1))(x)
        return x
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
total = 0
for step in range(100):
    loss = net(torch.randn(8, 4)).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    total += loss
"""


def test_layers_whose_names_are_formatted(tmp_path: Path) -> None:
    assert [one.code for one in check_source(NAMED_BY_NUMBER, tmp_path)] == ["AFT301"]
