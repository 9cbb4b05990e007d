"""What is said about `retain_graph=True` is what happens when the advice is followed."""

from __future__ import annotations

from pathlib import Path

from tests.watching import watch_source

PROGRAM = """
cell = torch.nn.RNNCell(4, 8)
opt = torch.optim.SGD(cell.parameters(), lr=0.1)
hidden = torch.zeros(1, 8)
for step, x in enumerate(torch.randn(6, 1, 4), 1):
    hidden = cell(x, hidden)
    opt.zero_grad()
    hidden.sum().backward()
    opt.step()
"""


def test_the_step_in_which_the_advice_fails(tmp_path: Path, torch_as_it_was: None) -> None:
    (found,) = watch_source(PROGRAM, tmp_path).findings
    assert found.retain is not None
    assert found.retain.kind == "retain_fails_next"
    known = {fact.name: fact for fact in found.retain.facts}
    followed = watch_source(PROGRAM.replace("backward()", "backward(retain_graph=True)"), tmp_path)
    assert isinstance(followed.error, RuntimeError)
    assert "modified by an inplace operation" in str(followed.error)
    assert followed.names["step"] == known["step"].sites[0].step
    modified = [fact.text for f in followed.findings for fact in f.facts if fact.name == "parameter"]
    assert modified == [known["parameter"].text]


def test_a_state_of_what_nobody_trains_only_grows(tmp_path: Path, torch_as_it_was: None) -> None:
    plain = PROGRAM.replace("    opt.step()\n", "")
    (found,) = watch_source(plain, tmp_path).findings
    assert found.retain is not None
    assert found.retain.kind == "retain_all_steps"
    followed = watch_source(plain.replace("backward()", "backward(retain_graph=True)"), tmp_path)
    assert followed.error is None


CHECKPOINTED = """
from torch.utils.checkpoint import checkpoint
mix, out = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)
opt = torch.optim.SGD([*mix.parameters(), *out.parameters()], lr=0.01)
state = torch.zeros(2, 4)
for x in torch.randn(5, 2, 4):
    state = checkpoint(lambda a, b: torch.tanh(mix(a + b)), x, state, use_reentrant=False)
    opt.zero_grad()
    out(state).sum().backward()
    opt.step()
"""


def test_a_checkpoint_computes_anew_so_nothing_is_spoilt(tmp_path: Path, torch_as_it_was: None) -> None:
    notes = [f.retain.kind for f in watch_source(CHECKPOINTED, tmp_path).findings if f.retain is not None]
    followed = watch_source(CHECKPOINTED.replace("backward()", "backward(retain_graph=True)"), tmp_path)
    assert notes
    assert any(note.startswith("retain_fails") for note in notes) == (followed.error is not None)


def test_an_operation_with_one_input_has_saved_the_parameter_itself(tmp_path: Path, torch_as_it_was: None) -> None:
    source = """
raw = torch.nn.Parameter(torch.zeros(2))
opt = torch.optim.SGD([raw], lr=0.1)
cache = {"scale": torch.nn.functional.softplus(raw)}
for step in range(3):
    loss = (cache["scale"] * torch.randn(2)).sum()
    loss.backward()
    opt.step()
"""
    (found,) = watch_source(source, tmp_path).findings
    assert found.retain is not None
    assert found.retain.kind == "retain_fails_here"
    assert found.retain.facts[0].text == "raw"
    assert found.remedies[0].kind == "recompute_forward"
    followed = watch_source(source.replace("backward()", "backward(retain_graph=True)"), tmp_path)
    assert "modified by an inplace operation" in str(followed.error)
    assert followed.names["step"] == 1


def test_a_parameter_is_known_behind_the_views_of_a_loop(tmp_path: Path, torch_as_it_was: None) -> None:
    source = """
gains, start = torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(3))
opt = torch.optim.SGD([gains, start], lr=0.1)
value = start
for g in gains:
    value = g * value
for step in range(3):
    (value * torch.randn(3)).sum().backward()
    opt.step()
"""
    (found,) = watch_source(source, tmp_path).findings
    assert found.retain is not None
    assert found.retain.kind == "retain_fails_here"
    followed = watch_source(source.replace("backward()", "backward(retain_graph=True)"), tmp_path)
    assert "inplace" in str(followed.error)
