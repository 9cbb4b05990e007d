"""Which changes a report proposes, where the obvious one would be wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.watching import watch_source

from afterward.tasks.check_file import Shared, check_bytes

RUNNING_SUM = """
net = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
total = 0
for x in torch.randn(3, 4, 2):
    total = total + net(x).exp().mean()
    total.backward()
    {step}
"""
INNER_LOOP = """
from torch.nn.functional import linear
params = [torch.randn(4, 3, requires_grad=True), torch.randn(1, 4, requires_grad=True)]
fast = [p.clone() for p in params]
for _ in range(2):
    loss = linear(torch.tanh(linear(torch.randn(5, 3), fast[0])), fast[1]).pow(2).mean()
    for w, g in zip(fast, torch.autograd.grad(loss, fast, create_graph=True)):
        w.sub_(0.1 * g)
linear(torch.tanh(linear(torch.randn(5, 3), fast[0])), fast[1]).pow(2).mean().backward()
"""
ROLLOUT = """
pi = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
opt = torch.optim.SGD(pi.parameters(), lr=0.1)
states = torch.randn(6, 3)
old = pi(states)
for _ in range(2):
    opt.zero_grad()
    (pi(states) - old).exp().mean().backward()
    opt.step()
"""
PENALTY = """
net = torch.nn.Linear(3, 3, bias=False)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
gram = net.weight @ net.weight.T
for x in torch.randn(2, 4, 3):
    opt.zero_grad()
    (net(x).pow(2).mean() + gram.pow(2).sum()).backward()
    opt.step()
"""


def _kinds(source: str, folder: Path) -> list[str]:
    (found,) = watch_source(source, folder).findings
    return [remedy.kind for remedy in found.remedies]


def test_losses_are_not_added_up_across_an_update(tmp_path: Path, torch_as_it_was: None) -> None:
    assert _kinds(RUNNING_SUM.format(step="opt.step()"), tmp_path) == ["remove_duplicate"]
    assert _kinds(RUNNING_SUM.format(step="pass"), tmp_path) == ["remove_duplicate", "combine_losses"]


def test_a_write_of_an_inner_loop_is_not_put_off(tmp_path: Path, torch_as_it_was: None) -> None:
    assert _kinds(INNER_LOOP, tmp_path) == ["out_of_place"]


def test_what_is_computed_anew_to_compare_with_is_data(tmp_path: Path, torch_as_it_was: None) -> None:
    assert _kinds(ROLLOUT, tmp_path)[0] == "detach_input"
    assert _kinds(PENALTY, tmp_path)[0] == "recompute_forward", "other operations on the same weights are no output"


STATES = {  # what is carried, and how a step renews it
    "state = None": "out, state = lstm(x, state)",
    "state = (torch.zeros(1, 1, 3), torch.zeros(1, 1, 3))": "out, state = lstm(x, state)",
    "state = {'h': torch.zeros(1, 1, 2), 'rate': 0.5}": "state['h'] = out = torch.tanh(net(state['h'] + x))",
    "state = {'h': torch.zeros(1, 1, 2), 'c': torch.zeros(1, 1, 2)}": (
        "state['h'], state['c'] = torch.tanh(net(state['h'] + x)), torch.sigmoid(net(state['c']))\n"
        "    out = state['h'] * state['c']"
    ),
    "state = torch.zeros(1, 1, 2)": "out = state = torch.tanh(net(state + x))",
    "state = [torch.zeros(1, 1, 2), torch.zeros(1, 1, 2)]": (
        "out = x\n    for layer in range(2):\n        state[layer] = out = torch.tanh(net(state[layer] + out))"
    ),
}


@pytest.mark.parametrize("state", STATES)
def test_what_the_help_says_to_type_mends_the_program(state: str, tmp_path: Path, torch_as_it_was: None) -> None:
    def program(cut: str) -> str:
        return f"""
torch.manual_seed(0)
lstm, net = torch.nn.LSTM(2, 3), torch.nn.Linear(2, 2)
{state}
for step in range(3):
    {cut}
    x = torch.randn(1, 1, 2)
    {STATES[state]}
    out.pow(2).sum().backward()
"""

    (finding,) = watch_source(program("pass"), tmp_path).findings
    (code,) = [fact.text for fact in finding.remedies[0].facts if fact.name == "code"]
    seen = watch_source(program(code), tmp_path, "mended.py")
    assert seen.error is None
    assert seen.findings == []


SEEN_BY_EACH_CLASS = """
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
image = torch.randn(1, 4, requires_grad=True)
scores = net(image)
for index in range(3):
    if image.grad is not None:
        image.grad.zero_()
    scores[0, index].backward()
"""
MADE_ONCE_IN_A_LIST = """
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.nodes = torch.nn.Parameter(torch.randn(3, 2))
        self.supports = [torch.eye(3), torch.softmax(self.nodes @ self.nodes.T, 1)]
        self.end = torch.nn.Linear(3, 1)
    def forward(self, x):
        return self.end(sum(x @ support for support in self.supports))
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(3, 4, 3):
    opt.zero_grad()
    net(x).pow(2).mean().backward()
    opt.step()
"""
ADDED_TO_A_GRADIENT = """
net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for x in torch.randn(3, 4, 3):
    {clear}
    net(x).exp().mean().backward(create_graph=True)
    (net.weight.grad.pow(2).sum() + net.bias.grad.pow(2).sum()).backward()
    opt.step()
"""


def test_a_graph_is_kept_for_gradients_that_are_only_read(tmp_path: Path, torch_as_it_was: None) -> None:
    assert _kinds(SEEN_BY_EACH_CLASS, tmp_path)[0] == "retain_graph"


def test_what_is_trained_through_a_list_alone_is_recomputed(tmp_path: Path, torch_as_it_was: None) -> None:
    """Stored detached, the parameters behind it would get no gradient at all."""
    assert _kinds(MADE_ONCE_IN_A_LIST, tmp_path)[0] == "recompute_forward"


@pytest.mark.filterwarnings("ignore:Using backward")
def test_a_gradient_with_a_graph_is_cleared(tmp_path: Path, torch_as_it_was: None) -> None:
    (found,) = watch_source(ADDED_TO_A_GRADIENT.format(clear="pass"), tmp_path).findings
    assert found.code == "AFT103"
    assert found.bridge is not None
    assert found.bridge.name in ("net.weight.grad", "net.bias.grad")
    assert [remedy.kind for remedy in found.remedies] == ["zero_grad"]
    assert watch_source(ADDED_TO_A_GRADIENT.format(clear="opt.zero_grad()"), tmp_path).findings == []


CARRIED = """
cell = torch.nn.LSTMCell(4, 2)
{before}
for x in torch.randn(4, 1, 4):
    {step}
    loss.backward()
"""
FORMS = {  # what is carried, and the statement that detaches it
    "a tuple": (
        "state = (torch.zeros(1, 2), torch.zeros(1, 2))",
        "state = cell(x, state); loss = state[0].sum()",
        "state = tuple(t.detach() for t in state)",
    ),
    "taken apart": (
        "state = cell(torch.randn(1, 4))",
        "state = cell(x, state); h, c = state; loss = h.sum()",
        "state = tuple(t.detach() for t in state)",
    ),
    "two names": (
        "h, c = torch.zeros(1, 2), torch.zeros(1, 2)",
        "h, c = cell(x, (h, c)); loss = h.sum()",
        "h = h.detach()",
    ),
}


@pytest.mark.parametrize("what", FORMS)
@pytest.mark.parametrize("engine", ["run", "check"])
def test_a_state_is_detached_in_the_form_that_it_has(
    what: str, engine: str, tmp_path: Path, torch_as_it_was: None
) -> None:
    before, step, code = FORMS[what]
    source = CARRIED.format(before=before, step=step.replace("; ", "\n    "))
    if engine == "run":
        (found,) = watch_source(source, tmp_path).findings
    else:
        (found,) = check_bytes("train.py", f"import torch\n{source}".encode(), Shared()).findings
    assert found.code == "AFT103"
    assert [fact.text for fact in found.remedies[0].facts if fact.name == "code"] == [code]
