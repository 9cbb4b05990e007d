"""`fix` on whole programs of several networks: what it proves prints what the program without the fault prints."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import warm

from afterward.tasks.fix import Fixer
from afterward.tasks.trial import Request
from afterward.tasks.trial_runner import TrialRunner

CASES = Path(__file__).parents[1] / "cases"
NAMES = (
    "forces-beside-stress",  # `retain_graph=True` would leave the forces constants
    "meta-loss-of-the-last-task",  # the loss is divided after the loop
    "reward-from-a-shared-score",  # what is read there goes by another name
    "schedule-buffers-in-init",  # two buffers, made of local values
    "minibatches-of-a-dataclass",  # a cut in the loop comes too late for its first step
    "gradients-projected-one-by-one",
    "episode-lists-side-by-side",  # what is filled beside the losses is emptied with them
    "critic-features-for-the-actor",  # one cut for several readings
    "fake-pair-after-the-step",  # into a network that was stepped for another loss
    "loss-told-to-require-grad",  # a cut, and what hid it
    "two-optimizers-cleared-each-time",  # the other one's step uses what was cleared for this one
    "memo-of-a-trainable-target",  # model and optimizer are made in one statement, which is not to run again
    "unit-norm-through-data",  # two cuts of one value
)


@pytest.fixture(scope="module")
def runner() -> Iterator[TrialRunner]:
    with TrialRunner() as each:
        yield each


def as_given(case: Path, folder: Path) -> Path:
    folder.mkdir()
    for file in case.glob("*.py"):
        if file.name != "fixed.py" and not file.stem.endswith("_fixed"):
            shutil.copy(file, folder / file.name)
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_the_first_proven_patch_trains_as_the_right_program(runner: TrialRunner, tmp_path: Path, name: str) -> None:
    folder = as_given(CASES / name, tmp_path / "case")
    done = Fixer(runner, Request("buggy.py", folder=str(folder))).fix()
    assert done.proven, done.report.findings[0].remedies
    for file, text in done.options[0].items():
        Path(file).write_text(text)
    mine, right = warm.python("buggy.py", cwd=folder), warm.python("fixed.py", cwd=CASES / name)
    assert (mine.returncode, mine.stdout) == (0, right.stdout)


def test_a_graph_that_is_only_kept_is_not_proven_for_forces(runner: TrialRunner, tmp_path: Path) -> None:
    folder = as_given(CASES / "forces-beside-stress", tmp_path / "case")
    done = Fixer(runner, Request("buggy.py", folder=str(folder))).fix()
    proofs = {remedy.kind: remedy.proof for remedy in done.report.findings[0].remedies}
    assert proofs["create_graph"] is not None
    assert proofs["create_graph"].status == "proven"
    kept = proofs.get("retain_graph")
    assert kept is None or kept.status != "proven"


def test_a_loss_whose_gradient_is_zero_is_not_proven(runner: TrialRunner, tmp_path: Path) -> None:
    """Both log-probabilities of the ratio are the same number: without the cut it trains nothing."""
    folder = as_given(CASES / "ratio-of-stored-log-probs", tmp_path / "case")
    assert not Fixer(runner, Request("buggy.py", folder=str(folder))).fix().proven


def test_a_graph_of_gradients_is_not_dropped_beside_parameters_that_are_cut_off(
    runner: TrialRunner, tmp_path: Path
) -> None:
    program = tmp_path / "meta.py"
    program.write_text(CUT_OFF)
    done = Fixer(runner, Request("meta.py", folder=str(tmp_path))).fix()
    found = {each.code: each for each in done.report.findings}
    assert {"AFT303", "AFT404"} <= found.keys()
    proof = found["AFT303"].remedies[0].proof
    assert not done.proven
    assert proof is None or proof.status != "proven"


CUT_OFF = """\
import copy
import torch

torch.manual_seed(0)
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.randn(6, 4, 2):
    adapted = copy.deepcopy(model)
    loss = adapted(x).pow(2).mean()
    grads = torch.autograd.grad(loss, list(adapted.parameters()), create_graph=True)
    for parameter, gradient in zip(adapted.parameters(), grads):
        parameter.data -= 0.1 * gradient
    optimizer.zero_grad()
    adapted(x).pow(2).mean().backward()
    optimizer.step()
"""
