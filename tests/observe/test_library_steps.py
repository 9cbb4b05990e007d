"""Steps where the loop is a library's: each program trains through a package that is installed, not its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.watching import watch_source

LIBRARY = """
def fit(step, opt, n):
    for i in range(n):
        opt.zero_grad()
        loss = step(i)
        loss.backward()
        opt.step()

def accumulate(step, opt, n, every):
    for i in range(n):
        loss = step(i) / every
        loss.backward()
        if (i + 1) % every == 0:
            opt.step()
            opt.zero_grad()

def call(step, n):
    for i in range(n):
        step(i)

def accumulate_by_two_ways(step, opt, n, every):
    for i in range(n):
        def closure():
            loss = step(i) / every
            loss.backward()
            return loss
        if (i + 1) % every:
            closure()
        else:
            opt.step(closure)
            opt.zero_grad()

def train_gan(critic_loss, actor_loss, critic_opt, actor_opt, n):
    for i in range(n):
        loss = critic_loss(i)
        critic_opt.zero_grad()
        loss.backward()
        critic_opt.step()
        loss = actor_loss(i)
        actor_opt.zero_grad()
        loss.backward()
        actor_opt.step()

def two_losses(losses, opt, n):
    for i in range(n):
        opt.zero_grad()
        a, b = losses(i)
        a.backward()
        b.backward()
        opt.step()
"""


@pytest.fixture(autouse=True)
def _library(tmp_path: Path) -> Iterator[None]:
    folder = tmp_path / "site-packages" / "aft_loop_library"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(LIBRARY)
    sys.path.insert(0, str(folder.parent))
    yield
    sys.path.remove(str(folder.parent))
    sys.modules.pop("aft_loop_library", None)


MODEL = """
import aft_loop_library as library
torch.manual_seed(0)

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = torch.nn.GRUCell(4, 8)
        self.head = torch.nn.Linear(8, 1)
        self.hidden = torch.zeros(2, 8)

    def training_step(self, i):
        self.hidden = self.cell(torch.randn(2, 4), self.hidden)
        return self.head(self.hidden).pow(2).mean()

    def manual_step(self, i):
        loss = self.training_step(i)
        opt.zero_grad()
        loss.backward()
        opt.step()

model = Model()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
"""

CARRIED = {
    "the backward is the library's": "library.fit(model.training_step, opt, 5)",
    "several micro-batches make one update": "library.accumulate(model.training_step, opt, 8, 4)",
    "the library calls a step of the program's": "library.call(model.manual_step, 5)",
    "no update at all": "library.accumulate(model.training_step, opt, 5, 100)",
    "a comprehension": "[model.manual_step(i) for i in range(4)]",
    "map": "list(map(model.manual_step, range(4)))",
}


@pytest.mark.parametrize("loop", CARRIED.values(), ids=CARRIED)
def test_a_state_that_is_carried_is_one_in_a_librarys_loop_too(
    loop: str, tmp_path: Path, torch_as_it_was: None
) -> None:
    (finding,) = watch_source(MODEL + loop, tmp_path).findings
    assert (finding.code, finding.bridge.name) == ("AFT103", "self.hidden")
    assert (finding.freed.step, finding.reused.step) == (1, 2)
    assert finding.remedies[0].kind == "detach_state"


LATE = """
class Late(Model):
    def training_step(self, i):
        state = self.hidden if i % 700 == 699 or keep(i) else self.hidden.detach()
        self.hidden = self.cell(torch.randn(2, 4), state)
        return self.head(self.hidden).pow(2).mean()

model = Late()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    library.fit(model.training_step, opt, 1000)
"""


def test_a_late_step_has_its_number(tmp_path: Path, torch_as_it_was: None) -> None:
    program = MODEL + "keep = lambda i: False\n" + LATE
    (finding,) = watch_source(program, tmp_path).findings
    assert (finding.code, finding.freed.step, finding.reused.step) == ("AFT103", 699, 700)


def test_a_long_run_counts_what_it_has_forgotten(tmp_path: Path, torch_as_it_was: None) -> None:
    program = MODEL + "keep = lambda i: False\n" + LATE.replace("699", "6999").replace("700", "7000")
    (finding,) = watch_source(program.replace("opt, 1000)", "opt, 8000)"), tmp_path).findings
    assert (finding.code, finding.freed.step, finding.reused.step) == ("AFT103", 6999, 7000)


GAN = """
import aft_loop_library as library
torch.manual_seed(0)
actor, critic = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)
a_opt, c_opt = torch.optim.SGD(actor.parameters(), lr=0.1), torch.optim.SGD(critic.parameters(), lr=0.1)
held = {}

def critic_loss(i):
    held["action"] = torch.tanh(actor(torch.randn(3, 4)))
    return critic(held["action"]).pow(2).mean()

def actor_loss(i):
    return -critic(held["action"]).mean()

library.train_gan(critic_loss, actor_loss, c_opt, a_opt, 3)
"""


def test_two_networks_in_one_iteration_are_one_step(tmp_path: Path, torch_as_it_was: None) -> None:
    (finding,) = watch_source(GAN, tmp_path).findings
    assert finding.code == "AFT105"
    assert (finding.freed.step, finding.reused.step) in ((1, 1), (None, None))


TWO = """
import aft_loop_library as library
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.1)

def losses(i):
    out = net(torch.randn(3, 4))
    return out[:, 0].pow(2).mean(), out[:, 1].pow(2).mean()

library.two_losses(losses, opt, 3)
"""


def test_two_losses_of_one_forward_stay_two_losses(tmp_path: Path, torch_as_it_was: None) -> None:
    (finding,) = watch_source(TWO, tmp_path).findings
    assert finding.code == "AFT102"


CHECKPOINT = """
from torch.utils.checkpoint import checkpoint
net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh())
hidden = torch.zeros(2, 4, requires_grad=True)
for step in range(20):
    hidden = checkpoint(net, hidden{cut}, use_reentrant=True)
    hidden = checkpoint(net, hidden, use_reentrant=True)
    hidden.sum().backward()
"""


def test_passes_inside_of_a_pass_are_no_steps(tmp_path: Path, torch_as_it_was: None) -> None:
    fine = CHECKPOINT.format(cut=".detach().requires_grad_()")
    seen = watch_source(fine, tmp_path)
    history = seen.session.look_back()
    assert history is not None
    assert {iteration.entry < 0 for run in history.passes for iteration in run.where.iterations} == {False}


def test_a_round_without_an_update_is_a_step_too(tmp_path: Path, torch_as_it_was: None) -> None:
    """As Lightning's trainer, which calls its closure by another way where the optimizer does not step."""
    program = MODEL + "\nlibrary.accumulate_by_two_ways(model.training_step, opt, 6, 2)\n"
    (finding,) = watch_source(program, tmp_path).findings
    assert (finding.code, finding.bridge.name) == ("AFT103", "self.hidden")
    assert (finding.freed.step, finding.reused.step) == (1, 2)
    cut = program.replace(
        "self.hidden = self.cell(torch.randn(2, 4), self.hidden)",
        "self.hidden = self.cell(torch.randn(2, 4), self.hidden.detach())",
    )
    assert watch_source(cut, tmp_path, "right.py").findings == []


def test_a_backward_of_ones_own_before_the_librarys(tmp_path: Path, torch_as_it_was: None) -> None:
    """The library's cannot be removed: the help names the program's."""
    program = """
import aft_loop_library as library
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)

def training_step(i):
    loss = net(torch.randn(3, 4)).pow(2).mean()
    loss.backward()
    return loss

library.fit(training_step, opt, 5)
"""
    (finding,) = watch_source(program, tmp_path).findings
    remedy = finding.remedies[0]
    assert (finding.code, remedy.kind, remedy.form, remedy.site.line) == ("AFT101", "remove_duplicate", "librarys", 8)
