"""What a report says about `retain_graph=True`, and which change it recommends, must hold in that very program."""

from __future__ import annotations

from pathlib import Path

from tests.watching import watch_source

from afterward.model.diagnosis import Diagnosis
from afterward.model.history import History, Pass
from afterward.model.site import Level, Site, Where
from afterward.render.wording import help_text, said
from afterward.rules import diagnose

TWO_NETWORKS = """
G, D = torch.nn.Linear(2, 2), torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
opts = {"D": torch.optim.SGD(D.parameters(), lr=0.1), "G": torch.optim.SGD(G.parameters(), lr=0.1)}
fake = torch.tanh(G(torch.randn(3, 2)))
losses = {"D": lambda: D(fake).mean(), "G": lambda: -D(fake).mean()}
for name, closure in losses.items():
    opts[name].zero_grad()
    closure().backward()
    opts[name].step()
"""


def _found(source: str, folder: Path) -> Diagnosis:
    seen = watch_source(source, folder)
    assert "second time" in str(seen.error)
    (found,) = seen.findings
    return found


def _retain(found: Diagnosis) -> str | None:
    return found.retain.kind if found.retain is not None else None


def _runs_with_retain(source: str, folder: Path) -> bool:
    return watch_source(source.replace(".backward()", ".backward(retain_graph=True)"), folder).error is None


def test_the_loss_that_is_to_train_a_network_is_not_told_to_detach_it(tmp_path: Path, torch_as_it_was: None) -> None:
    found = _found(TWO_NETWORKS, tmp_path)
    first = found.remedies[0]
    assert first.kind == "detach_input"
    assert 'each loss that is not meant to train what `opts["G"]` updates' in help_text(found, first)
    assert _retain(found) == "retain_unstepped"
    assert _runs_with_retain(TWO_NETWORKS, tmp_path)


def test_gradients_that_were_zeroed_do_not_add_up(tmp_path: Path, torch_as_it_was: None) -> None:
    source = """
head, trunk = torch.nn.Linear(4, 1), torch.nn.Linear(2, 4)
features = torch.tanh(trunk(torch.randn(3, 2)))
for _ in range(2):
    trunk.zero_grad()
    head.zero_grad()
    head(features).mean().backward()
"""
    assert _retain(_found(source, tmp_path)) == "retain_cleared"
    assert _runs_with_retain(source, tmp_path)
    kept = source.replace("    trunk.zero_grad()\n    head.zero_grad()\n", "")
    assert _retain(_found(kept, tmp_path)) == "retain_right_add_up"


def test_nobody_is_told_to_detach_all_there_is_to_train(tmp_path: Path, torch_as_it_was: None) -> None:
    source = """
table = torch.nn.Embedding(5, 3)
optimizer = torch.optim.SGD(table.parameters(), lr=0.1)
spread = torch.tanh(table.weight * 2)
for _ in range(2):
    loss = (spread[:2] * spread[2:4]).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
    found = _found(source, tmp_path)
    assert found.code == "AFT104"
    assert [remedy.kind for remedy in found.remedies] == ["recompute_forward"]


def test_a_refusal_is_not_called_a_freed_graph() -> None:
    site = Site("train.py", 3, 3, 0, 10)
    late = Pass(0, Where((Level(1, "", site, 5),)), 7, (), "backward", True, error="donated_buffers")
    (found,) = diagnose(History(passes=(late,)))
    assert found.code == "AFT100"
    assert found.form == "refused"
    assert [remedy.kind for remedy in found.remedies] == ["combine_losses", "retain_graph"]


def test_two_outputs_of_one_operation_are_two_losses(tmp_path: Path, torch_as_it_was: None) -> None:
    source = """
layer = torch.nn.Linear(3, 2)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
for x in torch.randn(6, 3):
    first, second = layer(x).exp().unbind()
    optimizer.zero_grad()
    first.backward(retain_graph=True)
    second.backward()
    optimizer.step()
"""
    seen = watch_source(source, tmp_path)
    assert (seen.error, seen.findings) == (None, [])


def test_a_vector_of_losses_used_one_by_one_shares_a_forward_pass(tmp_path: Path, torch_as_it_was: None) -> None:
    source = """
layer = torch.nn.Linear(3, 2)
criterion = torch.nn.CrossEntropyLoss(reduction="none")
losses = criterion(layer(torch.randn(4, 3)), torch.tensor([0, 1, 1, 0]))
for loss in losses:
    loss.backward()
"""
    found = _found(source, tmp_path)
    assert (found.code, found.bridge.name, found.built.line) == ("AFT102", "losses", 4)
    assert found.remedies[0].kind == "combine_losses"
    assert str(_retain(found)).startswith("retain_right")
    assert _runs_with_retain(source, tmp_path)


def test_a_write_by_hand_is_named_by_its_line(tmp_path: Path, torch_as_it_was: None) -> None:
    source = """
net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
loss = net(torch.randn(4, 2)).pow(2).mean()
grads = torch.autograd.grad(loss, list(net.parameters()), create_graph=True)
with torch.no_grad():
    for parameter, grad in zip(net.parameters(), grads):
        parameter -= 0.1 * grad
loss.backward()
"""
    (found,) = watch_source(source, tmp_path).findings
    assert found.code == "AFT201"
    assert "The in-place write on line 7 modified it" in said(found).why
    assert help_text(found, found.remedies[0]).startswith("move the in-place write on line 7 ")
    assert [note.kind for note in found.notes] == ["kept_not_values"]


def test_everything_that_has_to_run_again_is_named(tmp_path: Path, torch_as_it_was: None) -> None:
    source = """
policy = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)

def collect():
    scores = []
    for x in torch.randn(4, 3):
        scores.append(torch.tanh(policy(x)))
    return packed(scores)

def packed(scores):
    return {"old": torch.stack(scores)}

def update(data):
    for _ in range(2):
        loss = (torch.tanh(policy(torch.randn(4, 3))) - data["old"]).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

update(collect())
"""
    found = _found(source, tmp_path)
    titles = " ".join(help_text(found, remedy) for remedy in found.remedies)
    assert "run lines 8 and 9 again" in titles


def test_a_state_in_several_parts_is_cut_as_a_whole(tmp_path: Path, torch_as_it_was: None) -> None:
    source = """
class Runner:
    def __init__(self):
        self.rnn = torch.nn.LSTM(4, 5)

    def step(self, x, state):
        out, state = self.rnn(x, state)
        out.sum().backward()
        return state

runner, state = Runner(), (torch.zeros(1, 1, 5), torch.zeros(1, 1, 5))
for x in torch.randn(3, 2, 1, 4):
    state = runner.step(x, state)
"""
    found = _found(source, tmp_path)
    assert (found.code, found.bridge.name) == ("AFT103", "state")


def test_losses_of_a_closure_that_clears_gradients_are_not_to_be_added(tmp_path: Path, torch_as_it_was: None) -> None:
    source = """
class Fitter:
    def __init__(self):
        self.model = torch.nn.Linear(3, 1)
        self.optimizer = torch.optim.LBFGS(self.model.parameters(), max_iter=4)

    def fit(self, x, y):
        pred = self.model(x)

        def closure():
            self.optimizer.zero_grad()
            loss = (pred - y).pow(2).mean() + self.model.weight.pow(2).sum()
            loss.backward()
            return loss

        self.optimizer.step(closure)

Fitter().fit(torch.rand(8, 3), torch.rand(8, 1))
"""
    assert _found(source, tmp_path).remedies[0].kind == "recompute_forward"
