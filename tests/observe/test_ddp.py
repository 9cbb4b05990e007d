"""DistributedDataParallel, in one process: its reducer refuses, or says nothing, as it does on many."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from tests.watching import watch_source

distributed = torch.distributed
pytestmark = pytest.mark.skipif(
    not distributed.is_available() or not distributed.is_gloo_available(), reason="this torch has no gloo"
)


@pytest.fixture(autouse=True)
def _one_rank(tmp_path: Path) -> Iterator[None]:
    distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    yield
    distributed.destroy_process_group()


NET = """
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.checkpoint import checkpoint
torch.manual_seed(0)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head, self.aux = nn.Linear(4, 8), nn.Linear(8, 1), nn.Linear(8, 3)
        self.block = nn.Sequential(nn.Linear(8, 8), nn.Tanh())

    def forward(self, x, step=0):
        h = torch.tanh(self.body(x))
        {forward}

model = DDP(Net())
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    {step}
"""


def _program(forward: str, *step: str) -> str:
    return NET.format(forward=forward, step="\n    ".join(step))


UPDATE = ("opt.zero_grad()", "loss.backward()", "opt.step()")


def test_an_output_that_is_in_no_loss(tmp_path: Path, torch_as_it_was: None) -> None:
    forward = "h = self.block(h); return self.head(h), self.aux(h)"
    program = _program(forward, "out, aux = model(torch.randn(3, 4))", "loss = out.pow(2).mean()", *UPDATE)
    (finding,) = watch_source(program, tmp_path).findings
    assert (finding.code, finding.bridge.name) == ("AFT111", "aux.weight")
    assert (finding.freed.step, finding.reused.step) == (1, 2)
    assert (finding.remedies[0].kind, finding.remedies[0].form) == ("use_parameters", "in_loss")


def test_a_framework_has_put_its_own_message_in_the_place_of_torchs(tmp_path: Path, torch_as_it_was: None) -> None:
    """As Lightning does; it is the module that refuses, and a parameter that has no gradient, that tell."""
    refused = "try:", "    out, aux = model(torch.randn(3, 4))", "except RuntimeError as error:"
    told = "    error.args = ('your module has parameters that were not used',)", "    raise"
    forward = "h = self.block(h); return self.head(h), self.aux(h)"
    program = _program(forward, *refused, *told, "loss = out.pow(2).mean()", *UPDATE)
    (finding,) = watch_source(program, tmp_path).findings
    assert (finding.code, finding.bridge.name) == ("AFT111", "aux.weight")
    assert (finding.freed.step, finding.reused.step) == (1, 2)


def test_a_branch_that_did_not_run(tmp_path: Path, torch_as_it_was: None) -> None:
    branch = (
        "h = self.block(h)\n        if step < 2:\n            h = h + self.aux(h).mean()\n        return self.head(h)"
    )
    program = _program(branch, "loss = model(torch.randn(3, 4), step).pow(2).mean()", *UPDATE)
    (finding,) = watch_source(program, tmp_path).findings
    assert (finding.code, finding.bridge.name, finding.freed.step) == ("AFT111", "aux.weight", 3)
    assert (finding.remedies[0].form, finding.remedies[0].site.line) == ("", 17)


def test_one_block_in_two_checkpoints(tmp_path: Path, torch_as_it_was: None) -> None:
    forward = (
        "h = h + self.aux(h).mean()\n"
        "        h = checkpoint(self.block, h, use_reentrant=True)\n"
        "        h = checkpoint(self.block, h, use_reentrant=True)\n"
        "        return self.head(h)"
    )
    program = _program(forward, "loss = model(torch.randn(3, 4)).pow(2).mean()", *UPDATE)
    (finding,) = watch_source(program, tmp_path).findings
    assert (finding.code, finding.bridge.name) == ("AFT110", "block.0.bias")
    assert [label.site.line for label in finding.secondary] == [16, 17]
    assert finding.remedies[0].kind == "no_reentrant"


def test_a_checkpoint_that_the_search_for_unused_parameters_does_not_see_into(
    tmp_path: Path, torch_as_it_was: None
) -> None:
    forward = "h = checkpoint(self.block, h, use_reentrant=True)\n        return self.head(h) + self.aux(h).mean()"
    program = _program(forward, "loss = model(torch.randn(3, 4)).pow(2).mean()", *UPDATE)
    program = program.replace("DDP(Net())", "DDP(Net(), find_unused_parameters=True)")
    (finding,) = watch_source(program, tmp_path).findings
    assert (finding.code, finding.form, finding.bridge.name) == ("AFT110", "search", "block.0.bias")
    assert [remedy.form for remedy in finding.remedies] == ["", "search"]


def test_one_of_several_heads(tmp_path: Path, torch_as_it_was: None) -> None:
    """The head that no step calls took no part in the forward pass: nothing says that it did."""
    program = """
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleDict({"text": nn.Linear(4, 3), "audio": nn.Linear(4, 5)})

    def forward(self, x, task):
        return self.heads[task](x)

model = nn.parallel.DistributedDataParallel(Net())
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    loss = model(torch.randn(3, 4), "text").pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
    (finding,) = watch_source(program, tmp_path).findings
    assert (finding.code, finding.bridge.name, finding.form) == ("AFT111", "heads.audio.weight", "in_part")
    assert finding.remedies[0].form == ""


ALL_USED = "h = self.block(h); return torch.cat([self.head(h), self.aux(h)], 1)"
LOSSES = ("out = model(torch.randn(3, 4))", "a, b = out.pow(2).mean(), out.exp().mean()", "opt.zero_grad()")


def test_a_second_backward_that_is_not_reduced(tmp_path: Path, torch_as_it_was: None) -> None:
    program = _program(ALL_USED, *LOSSES, "a.backward(retain_graph=True)", "b.backward()", "opt.step()")
    (finding,) = watch_source(program, tmp_path).findings
    assert (finding.code, finding.remedies[0].kind) == ("AFT112", "combine_losses")


def test_retaining_is_not_advised_where_it_would_not_be_reduced(tmp_path: Path, torch_as_it_was: None) -> None:
    program = _program(ALL_USED, *LOSSES, "a.backward()", "b.backward()", "opt.step()")
    (finding,) = watch_source(program, tmp_path).findings
    assert finding.code == "AFT102"
    assert "retain_graph" not in [remedy.kind for remedy in finding.remedies]


@pytest.mark.parametrize(
    "step",
    [
        (*LOSSES, "(a + b).backward()", "opt.step()"),
        # Without a sync in the first pass, the second reduces the gradients of both.
        (
            "with model.no_sync():\n        out = model(torch.randn(3, 4)); out.pow(2).mean().backward()",
            "loss = model(torch.randn(3, 4)).pow(2).mean()",
            "loss.backward()",
            "opt.step()",
            "opt.zero_grad()",
        ),
    ],
    ids=["one backward", "accumulation"],
)
def test_what_is_right_is_left_alone(step: tuple[str, ...], tmp_path: Path, torch_as_it_was: None) -> None:
    assert watch_source(_program(ALL_USED, *step), tmp_path).findings == []


LIBRARY = """
def fit(model, opt, steps):
    for i in range(steps):
        def closure():
            loss = model(i)
            opt.zero_grad()
            loss.backward()
            return loss
        opt.step(closure)
"""


def test_in_a_librarys_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, torch_as_it_was: None) -> None:
    """Between the pass and the refused forward, no statement of the program begins."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "aft_ddp_library.py").write_text(LIBRARY)
    monkeypatch.syspath_prepend(str(folder))
    program = """
from aft_ddp_library import fit
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head, self.aux = nn.Linear(4, 8), nn.Linear(8, 1), nn.Linear(8, 3)

    def forward(self, i):
        h = self.body(torch.randn(3, 4)).tanh()
        out, aux = self.head(h), self.aux(h)
        return out.pow(2).mean()

model = nn.parallel.DistributedDataParallel(Net())
fit(model, torch.optim.SGD(model.parameters(), lr=0.1), 4)
"""
    (finding,) = watch_source(program, tmp_path).findings
    assert (finding.code, finding.bridge.name, finding.built.line) == ("AFT111", "aux.weight", 12)
