"""The bridge goes by the name that the program uses, also where a call reads the value."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.watching import watch_source

from afterward.render.wording import said

LOOP = """
from collections import deque
cell = torch.nn.GRUCell(4, 8)
opt = torch.optim.SGD(cell.parameters(), 0.1)
{before}
for t, x in enumerate(torch.randn(4, 1, 4)):
    {iteration}
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
START = "torch.zeros(1, 8)"
WAYS = {  # how the state is kept and read: (before the loop, in it, the name of the bridge)
    "get": ("cache = {}", f"h = cell(x, cache.get('past', {START})); cache['past'] = h", 'cache["past"]'),
    "pop": (f"cache = {{'past': {START}}}", "h = cell(x, cache.pop('past')); cache['past'] = h", 'cache["past"]'),
    "a context variable": (
        f"from contextvars import ContextVar\nVAR = ContextVar('state')\ntoken = VAR.set({START})",
        "h = cell(x, VAR.get()); token = VAR.set(h)",
        "VAR",
    ),
    "popleft": (f"queue = deque([{START}])", "h = cell(x, queue.popleft()); queue.append(h)", "queue[0]"),
    "from the end": (f"past = deque([{START}], maxlen=5)", "past.append(cell(x, past[-1])); h = past[-1]", "past[-1]"),
    "by a variable": (f"past = [{START}]", "h = cell(x, past[t]); past.append(h)", "past[t]"),
    "getattr": (
        f"class Memory: h = {START}\nmemory = Memory()",
        "h = cell(x, getattr(memory, 'h')); setattr(memory, 'h', h)",
        "memory.h",
    ),
    "a helper's return": (
        f"store = {{}}\ndef state_of(user):\n    return store.setdefault(user, {START})",
        "h = cell(x, state_of('a')); store.update({'a': h})",
        "store[user]",
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_a_call_reads_has_a_name(tmp_path: Path, way: str) -> None:
    before, iteration, name = WAYS[way]
    iteration = "\n    ".join([*iteration.split("; "), "loss = h.sum()"])
    (found,) = watch_source(LOOP.format(before=before, iteration=iteration), tmp_path).findings
    assert found.bridge is not None
    assert found.bridge.name == name
    assert f"`{name}`" in said(found).why


def test_what_retaining_a_kept_state_leads_to_is_said(tmp_path: Path) -> None:
    before, iteration, _ = WAYS["from the end"]
    iteration = "\n    ".join([*iteration.split("; "), "loss = h.sum()"])
    source = LOOP.format(before=before, iteration=iteration)
    (found,) = watch_source(source, tmp_path).findings
    assert found.retain is not None
    assert found.retain.kind == "retain_fails_later"
    assert found.retain.facts[0].text == "cell.weight_hh"
    # So it is: the step runs, and the next one fails.
    retained = source.replace("backward()", "backward(retain_graph=True)")
    (again,) = watch_source(retained, tmp_path, "retained.py").findings
    assert again.code == "AFT201"
    assert again.reused is not None
    assert again.reused.step == 3


LAYERS = """
class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(4, 4)
        self.{start}
    def forward(self, x):
        state = self.{read}
        state = torch.tanh(self.body(x) + state)
        self.{keep}
        return state

net = torch.nn.Sequential(Layer(), Layer())
opt = torch.optim.SGD(net.parameters(), 0.1)
for x in torch.randn(3, 2, 4):
    opt.zero_grad()
    net(x).sum().backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("start", "read", "keep", "name"),
    [
        ("states = [torch.zeros(2, 4)]", "states[-1]", "states.append(state)", "self.states[-1]"),
        ("memory = torch.zeros(2, 4)", "memory", "memory = state", "self.memory"),
        ("memory = {'h': torch.zeros(2, 4)}", "memory['h']", "memory['h'] = state", 'self.memory["h"]'),
    ],
)
def test_what_a_layer_keeps_goes_by_the_layers_own_words(
    tmp_path: Path, start: str, read: str, keep: str, name: str
) -> None:
    (found,) = watch_source(LAYERS.format(start=start, read=read, keep=keep), tmp_path).findings
    assert found.bridge is not None
    assert found.bridge.name == name


def test_an_attribute_of_one_of_many_is_the_bridge_and_not_the_container(tmp_path: Path) -> None:
    program = """
class Agent:
    def __init__(self):
        self.net, self.inbox = torch.nn.Linear(6, 2), torch.zeros(2)
    def act(self, x):
        return self.net(torch.cat([x, self.inbox]))

agents = {name: Agent() for name in "ab"}
opt = torch.optim.SGD([p for agent in agents.values() for p in agent.net.parameters()], 0.1)
for episode in range(3):
    loss = 0
    for turn in range(2):
        sent = {}
        for name, agent in agents.items():
            sent[name] = agent.act(torch.randn(4))
            loss = loss + sent[name].square().sum()
        for name in agents:
            agents[name].inbox = sent["b" if name == "a" else "a"]
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
    (found,) = watch_source(program, tmp_path).findings
    assert found.bridge is not None
    assert found.bridge.name == "self.inbox"
