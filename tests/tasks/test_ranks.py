"""What will run on several ranks is proven on several: each is measured, and they are held against each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from afterward.model.diagnosis import Report
from afterward.model.training import StepTaken, Training, Use
from afterward.render.proofs import note_text
from afterward.tasks.fix import HANGS, Fixed, Fixer
from afterward.tasks.ranks_alike import missing_ranks, on_all, part_ways
from afterward.tasks.trial import Request, Trial
from afterward.tasks.trial_runner import TrialRunner

WORK = """import os, sys, torch, torch.distributed as dist
def work(rank, store):
    dist.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=2)
    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 2))
    torch.manual_seed(rank)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        out = model(torch.randn(3, 4)).tanh()
        a = out[:, 0].pow(2).mean()
        b = out[:, 1].pow(2).mean()
        opt.zero_grad()
        a.backward({retain})
        b.backward()
        opt.step()
    dist.destroy_process_group()
if __name__ == "__main__":
    import tempfile
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(work, (os.path.join(folder, "store"),), nprocs=2)
"""

needs_ranks = pytest.mark.skipif(not torch.distributed.is_available(), reason="this torch has no torch.distributed")


@pytest.fixture(scope="module")
def runner() -> Iterator[TrialRunner]:
    with TrialRunner() as each:
        yield each


def fixed(runner: TrialRunner, folder: Path, program: str) -> Fixed:
    (folder / "train.py").write_text(program)
    return Fixer(runner, Request("train.py", folder=str(folder)), shown=False).fix()


@needs_ranks
@pytest.mark.parametrize(("retain", "code"), [("", "AFT102"), ("retain_graph=True", "AFT112")])
def test_a_change_is_proven_on_all_ranks(runner: TrialRunner, tmp_path: Path, retain: str, code: str) -> None:
    program = WORK.replace("{retain}", retain)
    result = fixed(runner, tmp_path, program)
    (found,) = result.report.findings
    assert found.code == code
    summed = program.replace(f"        a.backward({retain})\n        b.backward()\n", "        (a + b).backward()\n")
    assert [option[str(tmp_path / "train.py")] for option in result.options] == [summed]
    proofs = {remedy.kind: remedy.proof for remedy in found.remedies if remedy.proof is not None}
    assert "on_ranks" in [note.kind for note in proofs["combine_losses"].notes]
    assert "retain_graph" not in proofs or proofs["retain_graph"].status != "proven"


def _rank(number: int, gradient: float) -> Trial:
    step = StepTaken(0, 1, None, {0: Use((1,), str(gradient), (gradient,))})
    training = Training([step], {0: "net.weight"}, place=(number, 2), replicated={0})
    return Trial("finished", Report(("train.py",)), passes=1, training=training)


def _job(*ranks: Trial) -> Trial:
    return replace(ranks[0], ranks=ranks)


def test_ranks_that_step_with_other_gradients_part_ways() -> None:
    alike, apart = _job(_rank(0, 1.0), _rank(1, 1.0)), _job(_rank(0, 1.0), _rank(1, 2.0))
    (note,) = part_ways(alike, apart, "AFT102")
    assert "`net.weight`" in note_text(note)
    assert not list(part_ways(alike, alike, "AFT102"))
    assert not list(part_ways(apart, apart, "AFT103"))  # each trains alone: the program itself does so
    assert list(part_ways(apart, apart, "AFT112"))  # that is the fault


def test_a_rank_that_has_shown_nothing_is_missed() -> None:
    both = _job(_rank(0, 1.0), _rank(1, 1.0))
    assert missing_ranks(both, both) == ""
    assert missing_ranks(both, _job(_rank(0, 1.0))) == "rank 1"
    assert missing_ranks(both, Trial("time", Report(("train.py",)))) == "ranks 0-1"


HANGS_LATER = WORK.replace("{retain}", "").replace("opt.step()", "opt.step(); __import__('time').sleep(rank * 1000)")


@needs_ranks
def test_a_trial_whose_ranks_hang_is_ended_and_said_so(
    runner: TrialRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = runner.run
    limits: list[float | None] = []

    def run(request: Request, *, limit: float | None = None, tick: object = None) -> Trial:
        if request.passes is None and not request.patched:
            return real(request)
        limits.append(limit)
        return Trial("time", Report(("train.py",)))  # what is given where nothing has come by then

    monkeypatch.setattr(runner, "run", run)
    result = fixed(runner, tmp_path, HANGS_LATER)
    assert not result.options
    assert len(limits) == HANGS
    assert result.hindered is not None
    assert "hung" in note_text(result.hindered)
    (found,) = result.report.findings
    tried = [remedy.proof for remedy in found.remedies if remedy.proof is not None and remedy.proof.notes]
    assert "ranks_missing" in [note.kind for proof in tried for note in proof.notes]


SHARDED = """import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
mesh = init_device_mesh("cpu", (1,))
torch.manual_seed(0)
cell = fully_shard(nn.GRUCell(4, 8), mesh=mesh)
optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
state = torch.zeros(2, 8)
for step in range(6):
    state = cell(torch.randn(2, 4), state)
    loss = state.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
"""


@needs_ranks
def test_parameters_that_lie_in_parts_are_followed(runner: TrialRunner, tmp_path: Path) -> None:
    """FSDP2: an optimizer holds the parts, and passes go through what was gathered from them."""
    if not hasattr(pytest.importorskip("torch.distributed.fsdp"), "fully_shard"):
        pytest.skip("this torch is older than FSDP2")
    result = fixed(runner, tmp_path, SHARDED)
    assert [found.code for found in result.report.findings] == ["AFT103"]
    assert "state.detach()" in result.options[0][str(tmp_path / "train.py")]


def test_ranks_that_hold_parts_are_not_said_to_stay_alike() -> None:
    whole, parts = (Training(replicated={1}, place=(0, 2)), Training(place=(0, 2)))
    kinds = [
        on_all(Trial("finished", Report(()), ranks=(Trial("finished", Report(()), training=one),)))
        for one in (whole, parts)
    ]
    assert [note.kind for note in kinds] == ["on_ranks", "on_each_rank"]
