"""Workers that train a shared network with the gradients of their own: what a process or thread runs is followed, and
one gradient that two networks share is the gradient of both."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from afterward.model.diagnosis import Severity
from afterward.tasks.check_file import Shared, check_file

SHARING = """\
import torch, torch.nn as nn

def share(local, shared):
    for mine, theirs in zip(local.parameters(), shared.parameters()):
        {share}

def train(shared, steps=4):
    optimizer = torch.optim.SGD(shared.parameters(), lr=0.0)
    local = nn.Linear(4, 1)
    seen = []
    for number in range(steps):
        local.load_state_dict(shared.state_dict())
        loss = local(torch.ones(2, 4)).mean()
        {zero}
        loss.backward()
        share(local, shared)
        optimizer.step()
        seen.append(shared.weight.grad.clone())
    return seen
"""
STARTS = {
    "process": "import torch.multiprocessing as mp\nshared = nn.Linear(4, 1)\n"
    "workers = [mp.Process(target=train, args=(shared,)) for _ in range(4)]\n[one.start() for one in workers]\n",
    "context": "import torch.multiprocessing\nshared = nn.Linear(4, 1)\n"
    "torch.multiprocessing.get_context('spawn').Process(target=train, kwargs={'shared': shared}).start()\n",
    "thread": "import threading\nshared = nn.Linear(4, 1)\nthreading.Thread(target=train, args=(shared,)).start()\n",
    "class": "from multiprocessing import Process\nclass Worker(Process):\n"
    "    def __init__(self, shared):\n        super().__init__()\n        self.shared = shared\n"
    "    def run(self):\n        train(self.shared)\nshared = nn.Linear(4, 1)\nWorker(shared).start()\n",
    "spawned": "import torch.multiprocessing as mp\ndef work(rank, shared):\n    train(shared)\n"
    "mp.spawn(work, args=(nn.Linear(4, 1),), nprocs=2)\n",
}
EARLY = "if theirs.grad is not None:\n            return\n        theirs._grad = mine.grad"
PILES = {"each time": "theirs._grad = mine.grad", "where there is none": EARLY}
CLEARED = {
    "own set to none": ("theirs.grad, mine.grad = mine.grad, None", "optimizer.zero_grad()"),
    "own network": (EARLY, "optimizer.zero_grad(); local.zero_grad()"),
    "filled with zeros": (EARLY, "optimizer.zero_grad(set_to_none=False)"),
}


def codes(source: str, folder: Path) -> list[str]:
    file = folder / "program.py"
    file.write_text(source)
    done = check_file(str(file), Shared())
    assert done.error is None
    return [found.code for found in done.findings if found.severity is not Severity.INFO]


def adds_up(source: str) -> bool:
    """Does a shared network get more than the gradient of its own step, in real torch? Each step's is the same."""
    names: dict[str, object] = {}
    exec(source, names)
    seen = names["train"](torch.nn.Linear(4, 1))  # type: ignore[operator]
    return any(not torch.equal(one, seen[0]) for one in seen)


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)
def test_what_a_worker_runs_is_followed(start: str, tmp_path: Path) -> None:
    source = SHARING.format(share=EARLY, zero="optimizer.zero_grad()")
    assert adds_up(source)
    assert codes(f"{source}\n{start}", tmp_path) == ["AFT402"]


@pytest.mark.parametrize("share", PILES.values(), ids=PILES)
def test_a_shared_gradient_is_cleared_in_one_network_alone(share: str, tmp_path: Path) -> None:
    source = SHARING.format(share=share, zero="optimizer.zero_grad()")
    assert adds_up(source)
    assert codes(source, tmp_path) == ["AFT402"]


@pytest.mark.parametrize(("share", "zero"), CLEARED.values(), ids=CLEARED)
def test_a_shared_gradient_is_cleared_in_both(share: str, zero: str, tmp_path: Path) -> None:
    source = SHARING.format(share=share, zero=zero)
    assert not adds_up(source)
    assert codes(source, tmp_path) == []
