"""AFT306 on loops with a backward per sample: reported by shapes and source, never where iterations hang together."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.watching import watch_source

HEAD = """
torch.manual_seed(0)
nn = torch.nn
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
inputs, targets = torch.randn(20, 4), torch.randn(20, 1)
"""
STEP = "optimizer.zero_grad(); loss.backward(); optimizer.step()".replace("; ", "\n        ")

FOUND = {
    "zipped": f"""
for epoch in range(2):
    for sample, target in zip(inputs, targets):
        loss = (model(sample) - target).pow(2).mean()
        {STEP}
""",
    "by index, as a batch of one": f"""
total = 0.0
for epoch in range(2):
    for i in range(len(inputs)):
        output = model(inputs[i : i + 1])
        loss = nn.functional.mse_loss(output, targets[i].unsqueeze(0))
        {STEP}
        total += loss.item()
        if i % 10 == 0:
            print(i, loss.item())
""",
    "one step after all": """
for epoch in range(3):
    optimizer.zero_grad()
    for sample, target in zip(inputs, targets):
        loss = (model(sample) - target).pow(2).mean() / len(inputs)
        loss.backward()
    optimizer.step()
""",
}
SILENT = {
    "batches": f"""
for epoch in range(2):
    for sample, target in zip(inputs.view(-1, 1, 4).expand(20, 5, 4), targets):
        loss = (model(sample) - target).pow(2).mean()
        {STEP}
""",
    "once through: it may be a stream": """
for sample, target in zip(inputs, targets):
    loss = (model(sample) - target).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "a state that is cut from turn to turn": f"""
cell = nn.RNNCell(4, 8)
optimizer = torch.optim.SGD(cell.parameters(), lr=0.01)
for epoch in range(2):
    state = torch.zeros(1, 8)
    for sample in inputs:
        state = cell(sample.unsqueeze(0), state.detach())
        loss = state.pow(2).mean()
        {STEP}
""",
    "a state beside the model": f"""
for epoch in range(2):
    level = torch.zeros(1)
    for sample, target in zip(inputs, targets):
        output = model(sample) + level
        loss = (output - target).pow(2).mean()
        {STEP}
        level = output.detach()
""",
    "a state inside the model": f"""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.last = nn.Linear(4, 1), torch.zeros(1)

    def forward(self, x):
        out = self.linear(x) + self.last
        self.last = out.detach()
        return out

model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(2):
    for sample, target in zip(inputs, targets):
        loss = (model(sample) - target).pow(2).mean()
        {STEP}
""",
    "an environment": f"""
class World:
    def __init__(self):
        self.state = torch.randn(20, 4)
        self.turn = 0

    def step(self, action):
        self.turn = (self.turn + 1) % 20
        return self.state[self.turn]

world, seen = World(), inputs[0]
for episode in range(2):
    for turn in range(20):
        seen = world.step(model(seen).detach())
        loss = model(seen).pow(2).mean()
        {STEP}
""",
    "each from the last": f"""
model = nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(2):
    now = inputs[0]
    for target in inputs[1:].repeat(1, 1):
        now = model(now.detach())
        loss = (now - target).pow(2).mean()
        {STEP}
""",
    "a memory of past samples": f"""
for epoch in range(2):
    memory = [torch.zeros(1)]
    for sample, target in zip(inputs, targets):
        output = model(sample)
        loss = (output - target - memory[-1]).pow(2).mean()
        {STEP}
        memory.append(output.detach())
""",
    "gradients of single samples": """
for epoch in range(2):
    fisher = [torch.zeros_like(p) for p in model.parameters()]
    for sample, target in zip(inputs, targets):
        loss = (model(sample) - target).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        fisher = [f + p.grad ** 2 for f, p in zip(fisher, model.parameters())]
        optimizer.step()
""",
    "gradients of single samples, clipped": """
for epoch in range(2):
    for sample, target in zip(inputs, targets):
        loss = (model(sample) - target).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
""",
    "samples of different lengths": f"""
model = nn.Conv1d(1, 1, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
long = torch.randn(20, 1, 12)
for epoch in range(2):
    for i in range(20):
        loss = model(long[i, :, : 4 + i % 8].unsqueeze(0)).pow(2).mean()
        {STEP}
""",
    "derivatives of the output by the sample": f"""
for epoch in range(2):
    for sample in inputs:
        point = sample.clone().requires_grad_()
        slope = torch.autograd.grad(model(point).sum(), point, create_graph=True)[0]
        loss = slope.pow(2).mean()
        {STEP}
""",
    "tasks with an inner loop": f"""
for epoch in range(2):
    for task in inputs:
        weight = [p.clone() for p in model.parameters()]
        for inner in range(2):
            loss = model(task).pow(2).mean()
            {STEP.replace("        ", "            ")}
""",
    "random masks in the forward": f"""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 1)

    def forward(self, x):
        return self.linear(x * torch.bernoulli(torch.full_like(x, 0.5)))

model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(2):
    for sample, target in zip(inputs, targets):
        loss = (model(sample) - target).pow(2).mean()
        {STEP}
""",
    "a method that reads what it has changed": """
class Trainer:
    def __init__(self):
        self.net, self.last = model, torch.zeros(1)

    def learn(self, sample, target):
        output = self.net(sample)
        loss = self.loss(output, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        self.last = output.detach()

    def loss(self, output, target):
        return (output - target - self.last).pow(2).mean()

trainer = Trainer()
for epoch in range(2):
    for sample, target in zip(inputs, targets):
        trainer.learn(sample, target)
""",
    "a function that is given the state": """
def learn(sample, state):
    output = model(sample) + state
    loss = output.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return output.detach()

for epoch in range(2):
    state = torch.zeros(1)
    for sample in inputs:
        state = learn(sample, state)
""",
    "a function that keeps the state in a list": """
states = [torch.zeros(1)]

def learn(sample):
    output = model(sample) + states[-1]
    loss = output.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    states.append(output.detach())

for epoch in range(2):
    for sample in inputs:
        learn(sample)
""",
    "gradients of single samples, looked at elsewhere": """
class Watch:
    def __init__(self):
        self.norms = []

    def look(self):
        self.norms.append([p.grad.norm().item() for p in model.parameters()])

watch = Watch()
for epoch in range(2):
    for sample, target in zip(inputs, targets):
        loss = (model(sample) - target).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        watch.look()
        optimizer.step()
""",
    "a state that a helper writes": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 1)
        self.register_buffer("memory", torch.zeros(1))

    def forward(self, x):
        return self.linear(x) + self.memory

model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

def remember(output):
    model.memory.copy_(output.detach())

for epoch in range(2):
    for sample in inputs:
        output = model(sample)
        loss = output.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        remember(output)
""",
    "a number that a scheduler of the program's writes": """
class Schedule:
    def __init__(self):
        self.weight, self.turn = 1.0, 0

    def tick(self):
        self.turn += 1
        self.weight = 1.0 / self.turn

schedule = Schedule()

def after():
    schedule.tick()

for epoch in range(2):
    for sample, target in zip(inputs, targets):
        loss = schedule.weight * (model(sample) - target).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        after()
""",
    "two passes a turn": f"""
for epoch in range(2):
    for sample, target in zip(inputs, targets):
        model(sample).abs().sum().backward()
        loss = (model(sample) - target).pow(2).mean()
        {STEP}
""",
}


def _found(source: str, folder: Path) -> list[str]:
    seen = watch_source(HEAD + source, folder)
    assert seen.error is None, seen.error
    return [f"{one.code} {one.primary.site.line}" for one in seen.findings if one.code == "AFT306"]


@pytest.mark.parametrize("source", FOUND.values(), ids=FOUND)
def test_single_samples_are_reported(source: str, tmp_path: Path, torch_as_it_was: None) -> None:
    assert len(_found(source, tmp_path)) == 1


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT)
def test_iterations_that_are_single_for_a_reason_are_left_in_peace(
    source: str, tmp_path: Path, torch_as_it_was: None
) -> None:
    assert _found(source, tmp_path) == []
