"""`fix` in bad circumstances: programs that train for hours, fork, or write what is large."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from afterward.render.proofs import proof_text
from afterward.tasks.fix import Fixed, Fixer
from afterward.tasks.trial import Request
from afterward.tasks.trial_runner import TrialRunner

CARRIED = """import torch, os, time

net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
hidden = torch.zeros(1, 1)
for x in {data}:
    hidden = torch.tanh(net(x) + hidden)
    opt.zero_grad()
    hidden.sum().backward()
    opt.step()
    {more}
"""
ENDLESS = "iter(lambda: torch.randn(1, 3), None)"


@pytest.fixture(scope="module")
def runner() -> Iterator[TrialRunner]:
    with TrialRunner() as each:
        yield each


def fixed(runner: TrialRunner, folder: Path, program: str, limit: float = 60.0) -> Fixed:
    """What comes of it. The file is as it was, whatever happened."""
    (folder / "train.py").write_text(program)
    result = Fixer(runner, Request("train.py", folder=str(folder)), limit).fix()
    assert (folder / "train.py").read_text() == program
    return result


def test_a_large_file_is_written_to_in_memory_alone(runner: TrialRunner, tmp_path: Path) -> None:
    large = tmp_path / "memory.bin"
    with large.open("wb") as file:
        file.truncate((1 << 30) + 4096)  # a hole: it takes no room
    write = 'f = open("memory.bin", "r+b"); f.seek(os.path.getsize("memory.bin")); f.write(b"x"); f.close()'
    result = fixed(runner, tmp_path, CARRIED.format(data="torch.randn(4, 1, 3)", more=write))
    assert result.proven
    assert large.stat().st_size == (1 << 30) + 4096 + 1, "the run that is shown has written one byte, trials none"


def test_a_program_that_trains_for_hours_is_stopped(runner: TrialRunner, tmp_path: Path) -> None:
    result = fixed(runner, tmp_path, CARRIED.format(data=ENDLESS, more="time.sleep(0.5)"), limit=2)
    proof = result.report.findings[0].remedies[0].proof
    assert result.proven
    assert proof is not None
    assert "ran_to_limit" in [note.kind for note in proof.notes]


def test_a_limit_before_the_point_of_failure_proves_nothing(runner: TrialRunner, tmp_path: Path) -> None:
    result = fixed(runner, tmp_path, CARRIED.format(data=ENDLESS, more="time.sleep(0.5)"), limit=0.1)
    proof = result.report.findings[0].remedies[0].proof
    assert not result.proven
    assert proof is not None
    assert proof.status == "not_proven"
    assert [note.kind for note in proof.notes] == ["stopped_early"]
    assert re.fullmatch(r"stopped after (0 passes|1 pass), before the point of failure", proof_text(proof))


def test_workers_are_gone_when_the_trials_are(runner: TrialRunner, tmp_path: Path) -> None:
    child = "os.fork() or (open('child.txt', 'a').write('x'), time.sleep(1000))"
    data = "torch.utils.data.DataLoader(torch.randn(60, 3), batch_size=1, num_workers=1)"
    result = fixed(runner, tmp_path, CARRIED.format(data=data, more=child))
    assert result.proven
    assert (tmp_path / "child.txt").read_text() == "x", "what a child of a trial wrote is taken back"
    deadline = time.monotonic() + 20
    while _left_in(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.05)  # a process that was killed needs a moment to go
    assert not _left_in(tmp_path)


def _left_in(folder: Path) -> list[str]:
    names = os.listdir("/proc") if os.path.isdir("/proc") else []
    return [name for name in names if name.isdigit() and _folder(name) == str(folder)]


def _folder(pid: str) -> str:
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return ""


def test_other_proven_changes_can_be_picked(runner: TrialRunner, tmp_path: Path) -> None:
    two = """import torch
torch.manual_seed(0)
body, a, b = torch.nn.Linear(4, 8), torch.nn.Linear(8, 1), torch.nn.Linear(8, 1)
opt = torch.optim.SGD([*body.parameters(), *a.parameters(), *b.parameters()], lr=0.1)
for x in torch.randn(3, 16, 4):
    z = torch.tanh(body(x))
    one, two = a(z).pow(2).mean(), b(z).pow(2).mean()
    opt.zero_grad()
    one.backward()
    two.backward()
    opt.step()
"""
    result = fixed(runner, tmp_path, two)
    shown = [r for r in result.report.findings[0].remedies if r.proof is not None and r.proof.status == "proven"]
    assert [remedy.kind for remedy in shown] == ["combine_losses", "retain_graph"]
    assert all(remedy.proof is not None and remedy.proof.same_gradients for remedy in shown), "compared, and the same"
    first, second = (texts[str(tmp_path / "train.py")] for texts in result.options)
    assert "    (one + two).backward()\n" in first
    assert "    one.backward(retain_graph=True)\n    two.backward()\n" in second


def test_no_step_goes(runner: TrialRunner, tmp_path: Path) -> None:
    program = """import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(3, 16, 4):
    pull, push = net(x).pow(2).mean(0)
    opt.zero_grad()
    pull.backward(retain_graph=True)
    opt.step()
    opt.zero_grad()
    push.backward()
    opt.step()
"""
    result = fixed(runner, tmp_path, program)
    best = result.options[0][str(tmp_path / "train.py")]
    assert best.count("opt.step()") == 2
    assert "    opt.zero_grad()\n    pull, push = net(x).pow(2).mean(0)\n    push.backward()\n" in best
    tried = {remedy.kind: remedy.proof for remedy in result.report.findings[0].remedies}
    assert tried["reorder_step"].notes[0].kind == "updates_rarer"


def test_a_cut_that_leaves_an_optimizer_without_a_gradient_is_no_cure(runner: TrialRunner, tmp_path: Path) -> None:
    """The features enter the loss that the extractor is stepped for: to cut them there would train nothing. What makes
    them steps the head, too: to make them again for each pass would step it more often."""
    program = """import torch
torch.manual_seed(0)
body, head = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh()), torch.nn.Linear(8, 1)
of_body, of_head = (torch.optim.SGD(part.parameters(), lr=0.1) for part in (body, head))

def sharpen(x):
    features = body(x)
    of_head.zero_grad()
    (-head(features).pow(2).mean()).backward()
    of_head.step()
    return features

def soften(features):
    for _ in range(2):
        of_body.zero_grad()
        head(features).pow(2).mean().backward()
        of_body.step()

for x in torch.randn(3, 16, 4):
    soften(sharpen(x))
"""
    result = fixed(runner, tmp_path, program)
    (found,) = result.report.findings
    assert found.code == "AFT105"
    assert result.options == []
    proofs = [remedy.proof for remedy in found.remedies if remedy.proof is not None]
    assert any(note.kind == "no_gradient" or note.kind == "not_trained" for proof in proofs for note in proof.notes)


@pytest.mark.parametrize(
    ("made", "kept"),
    [
        ("Row(i, loss)", "log.append(Row(i, loss.item()))"),
        (
            '{"loss": loss, "step": i}',
            'log.append({"loss": loss.item(), "step": i})',
        ),
        ("losses(loss)", "log.append(losses(loss.item()))"),
        (
            "row",
            'log.append({key: one.detach() if hasattr(one, "detach") else one for key, one in row.items()})',
        ),
    ],
)
def test_what_is_logged_in_a_record_becomes_a_number_there(
    runner: TrialRunner, tmp_path: Path, made: str, kept: str
) -> None:
    program = f"""import torch
from collections import namedtuple
torch.manual_seed(0)
Row = namedtuple("Row", "step loss")
net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh())
opt = torch.optim.SGD(net.parameters(), 0.01)
log = []

def losses(loss):
    return dict(loss=loss, step=len(log))

for i in range(20):
    loss = net(torch.randn(3, 4)).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    {"row = losses(loss)" if made == "row" else ""}
    log.append({made})
"""
    result = fixed(runner, tmp_path, program)
    assert [found.code for found in result.report.findings] == ["AFT301"]
    assert f"    {kept}\n" in result.options[0][str(tmp_path / "train.py")]


NOT_FINITE = """import torch


class Pairs(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(6, 3)

    def forward(self, i, j):
        apart = (self.table(i) - self.table(j)).pow(2).sum(-1)
        return torch.exp(-apart.sqrt())


torch.autograd.set_detect_anomaly(True)
pairs = Pairs()
opt = torch.optim.SGD(pairs.parameters(), lr=0.1)
for step in range(4):
    i = torch.arange(4)
    loss = pairs(i, i + 1 if step < 2 else i).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


def test_a_second_run_finds_the_first_gradient_that_is_not_finite(runner: TrialRunner, tmp_path: Path) -> None:
    """Anomaly mode names the power, whose gradient is not a number: zero times the infinite one of the root."""
    (found,) = fixed(runner, tmp_path, NOT_FINITE).report.findings
    told = {fact.name: fact.text for fact in found.facts}
    assert found.code == "AFT510"
    assert told["op"] == "SqrtBackward0"
    assert found.built is not None
    assert found.built.line == 11
    assert told["extents"].startswith("`result` 0 to 0, 4 of 4 are 0; `gradient` -0.25 to -0.25")


def test_a_second_run_finds_it_where_gradients_could_not_be_clipped(runner: TrialRunner, tmp_path: Path) -> None:
    """The error names no operation at all; nobody asked for anomaly mode."""
    (found,) = fixed(runner, tmp_path, NOT_CLIPPED).report.findings
    told = {fact.name: fact.text for fact in found.facts}
    assert (found.code, told["op"]) == ("AFT510", "SqrtBackward0")
    assert found.built is not None
    assert found.built.line == 3
    assert told["extents"].startswith("`result` 0 to ")


NOT_CLIPPED = """import torch
def distances(x):
    return (x[:, None] - x[None]).pow(2).sum(-1).sqrt()
net = torch.nn.Linear(3, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    loss = distances(net(torch.randn(6, 3))).mean()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0, error_if_nonfinite=True)
    optimizer.step()
"""
