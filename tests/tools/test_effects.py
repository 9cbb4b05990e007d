"""What a remedy says it does to the gradients is held against the gradients themselves: done, and compared."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from afterward.model.diagnosis import Effect
from afterward.repair import Workshop, candidates
from enginelab import effects
from enginelab.reports import placed
from plantlab import forking

CARRIED = """\
import torch

torch.manual_seed(0)
cell, head = torch.nn.RNNCell(3, 3), torch.nn.Linear(3, 1)
opt = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
hidden = torch.zeros(2, 3)
for x in torch.randn(3, 2, 3):
    hidden = cell(x, hidden)
    opt.zero_grad()
    head(hidden).sum().backward()
    opt.step()
"""
SHARED = """\
import torch

torch.manual_seed(0)
body = torch.nn.Linear(3, 3)
opt = torch.optim.SGD(body.parameters(), lr=0.1)
for x in torch.randn(3, 2, 3):
    z = body(x).tanh()
    opt.zero_grad()
    z.sum().backward()
    z.pow(2).sum().backward()
    opt.step()
"""


RESET = """\
import torch

torch.manual_seed(0)


class Leaky(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.v = torch.nn.Linear(3, 3), 0.0

    def forward(self, x):
        self.v = torch.sigmoid(0.8 * self.v + self.layer(x))
        return self.v

    def reset(self):
        self.v = 0.0


net = torch.nn.Sequential(Leaky(), torch.nn.Linear(3, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(3, 2, 3):
    opt.zero_grad()
    net(x).sum().backward()
    opt.step()
"""


@pytest.fixture(scope="module", autouse=True)
def loaded() -> None:
    forking.load(fixing=False)


@contextmanager
def claims(text: str, effect: Effect | None = None) -> Iterator[list[tuple[str, str]]]:
    """What came of the remedies; with `effect`, where all of them said this instead."""
    with placed(text) as folder, pytest.MonkeyPatch.context() as patch:
        watched = effects.watched(folder)
        assert watched is not None
        if effect is not None:
            said = [replace(r, effect=effect) for f in watched.report.findings for r in f.remedies]
            findings = tuple(replace(f, remedies=tuple(said)) for f in watched.report.findings)
            watched = replace(watched, report=replace(watched.report, findings=findings))
        patch.setattr(effects, "watched", lambda folder: watched)
        yield list(effects.judged(folder))


def test_a_cut_that_is_one() -> None:
    with claims(CARRIED) as told:
        assert ("effect as said", "") in told
        assert not any(why for _, why in told)


def test_a_cut_that_is_said_to_keep_the_gradients() -> None:
    with claims(CARRIED, Effect.SAME_GRADIENTS) as told:
        assert any(outcome == "effect wrong" for outcome, _ in told)


def test_a_sum_keeps_the_gradients_and_cuts_nothing() -> None:
    with claims(SHARED) as told:
        assert ("effect as said", "") in told
        assert not any(why for _, why in told)
    with claims(SHARED, Effect.CUTS_GRADIENTS) as told:
        assert any(outcome == "effect wrong" for outcome, _ in told)


def test_a_sum_of_losses_changes_gradients_that_are_cleared_in_between() -> None:
    cleared = SHARED.replace("    z.pow(2)", "    opt.zero_grad()\n    z.pow(2)")
    with placed(cleared) as folder:
        run = effects.watched(folder)
        assert run is not None
        said = {one.kind: (one.effect, one.form) for found in run.report.findings for one in found.remedies}
    assert said["combine_losses"] == (Effect.CHANGES_GRADIENTS, "")
    assert said["retain_graph"] == (Effect.SAME_GRADIENTS, "cleared")


def test_a_patch_that_resets_a_state_says_that_it_changes_gradients() -> None:
    with placed(RESET) as folder:
        run = effects.watched(folder)
        assert run is not None
        (found,) = run.report.findings
        patches = candidates(Workshop(run.sources), found, found.remedies[0])
        done = [patch.carries_out(found.remedies[0]) for patch in patches if "reset" in str(patch.edits)]
    assert {(one.form, one.effect) for one in done} == {("begun_again", Effect.CHANGES_GRADIENTS)}
