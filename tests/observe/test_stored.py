"""AFT301 on containers of graphs that nobody sweeps; rollouts, windows and what is swept in the end are none."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.watching import watch_source

HEAD = """
import collections, random
torch.manual_seed(0)
random.seed(0)
policy, critic = torch.nn.Linear(3, 3), torch.nn.Linear(3, 1)
actor, learner = (torch.optim.SGD(one.parameters(), lr=0.01) for one in (policy, critic))

def learn(state, wanted=0.0):
    learner.zero_grad()
    (critic(state) - wanted).pow(2).mean().backward()
    learner.step()
"""
FOUND = {
    "a list of the script": """
memory = []
for state in torch.randn(12, 4, 3):
    memory.append((state, policy(state).tanh()))
    learn(state, random.choice(memory)[1].detach().sum())
""",
    "records of which a third is in a sample as well": """
class Turn:
    def __init__(self, state, score):
        self.state, self.score = state, score

class Memory:
    def __init__(self):
        self.turns = []

memory = Memory()
for state in torch.randn(12, 4, 3):
    memory.turns.append(Turn(state, policy(state).tanh()))
    sample = random.sample(memory.turns, min(4, len(memory.turns)))
    learn(state, sum(turn.score.sum().item() for turn in sample))
""",
    "records with fields, in a memory of their own": """
Turn = collections.namedtuple("Turn", "state score")

class Memory:
    def __init__(self):
        self.turns = collections.deque(maxlen=10000)

    def push(self, turn):
        self.turns.append(turn)

memory = Memory()
for state in torch.randn(12, 4, 3):
    memory.push(Turn(state, policy(state).tanh()))
    learn(state)
""",
    "a list of a function": """
def train():
    memory = []
    for state in torch.randn(300, 4, 3):
        memory.append(policy(state).tanh())
        learn(state)

train()
""",
}
SILENT = {
    "an episode that is swept at its end, the last one not": """
for episode in range(3):
    scores = []
    for state in torch.randn(12, 4, 3):
        scores.append(policy(state).tanh())
        learn(state)
    if episode < 2:
        actor.zero_grad()
        torch.stack(scores).sum().backward()
        actor.step()
""",
    "one sweep of everything at the very end": """
scores = []
for state in torch.randn(12, 4, 3):
    scores.append(policy(state).tanh())
    learn(state)
torch.stack(scores).sum().backward()
""",
    "the last few, in a list": """
def train():
    recent = []
    for state in torch.randn(300, 4, 3):
        recent.append(policy(state).tanh())
        if len(recent) > 20:
            recent.pop(0)
        learn(state, torch.stack(recent).mean().detach())

train()
""",
    "values without history": """
memory = []
for state in torch.randn(12, 4, 3):
    memory.append((state, policy(state).tanh().detach()))
    learn(state)
""",
    "views of the parameters": """
looked = []
for state in torch.randn(12, 4, 3):
    looked.append(policy.weight[0])
    learn(state)
""",
}


def _codes(source: str, folder: Path) -> list[str]:
    seen = watch_source(HEAD + source, folder)
    assert seen.error is None, seen.error
    return [one.code for one in seen.findings]


@pytest.mark.parametrize("source", FOUND.values(), ids=FOUND)
def test_a_memory_of_graphs_that_no_pass_uses(source: str, tmp_path: Path, torch_as_it_was: None) -> None:
    seen = watch_source(HEAD + source, tmp_path)
    (found,) = [one for one in seen.findings if one.code == "AFT301"]
    assert "append(" in (HEAD + source).splitlines()[found.primary.site.line - 1]
    assert found.form == "unused"
    assert found.bytes


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT)
def test_what_is_used_or_forgotten_is_left_in_peace(source: str, tmp_path: Path, torch_as_it_was: None) -> None:
    assert "AFT301" not in _codes(source, tmp_path)
