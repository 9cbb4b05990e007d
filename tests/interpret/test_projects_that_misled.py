"""What misled `check` in public projects: correct programs that it reported, and faults beside them that it reports."""

from __future__ import annotations

from pathlib import Path

from tests.interpret.test_not_reached import codes

UNSEEN = """
import torch
from models import Painter
model = Painter()
opt = torch.optim.Adam(model.parameters())
total = rate = 0
for x in torch.randn(20, 4, 2):
    loss, score = model(x)
    loss.backward()
    opt.step()
    opt.zero_grad()
    total += {total}
    rate += score
"""


def test_a_part_of_an_unseen_result_may_be_a_number(tmp_path: Path) -> None:
    assert codes(UNSEEN.format(total="loss.item()"), tmp_path) == []
    assert codes(UNSEEN.format(total="loss"), tmp_path) == ["AFT301"]


EVALUATED = """
import torch
from models import Painter
model = Painter()
opt = torch.optim.Adam(model.parameters())
for x in torch.randn(20, 4, 2):
    loss, score = model(x)
    opt.zero_grad()
    loss.backward()
    opt.step()
found = []
for x in torch.randn(20, 4, 2):
    loss, score = model(x)
    found.append({found})
"""


def test_a_part_that_is_collected_after_the_training(tmp_path: Path) -> None:
    assert codes(EVALUATED.format(found="score"), tmp_path) == []
    assert codes(EVALUATED.format(found="loss"), tmp_path) == ["AFT301"]


ADAPTS = """
import torch
class Learner(torch.nn.Module):
    def __init__(self, net, loss_fn):
        super().__init__()
        self.net, self.loss_fn = net, loss_fn
    def forward(self, x, y, query=None):
        return self.adapt(x, y) if query is None else self.loss_fn(self.net(query), y)
    def adapt(self, x, y):
        loss = self.loss_fn(self.net(x), y)
        loss.backward()
        return loss
"""


def test_a_forward_that_goes_backward_itself(tmp_path: Path) -> None:
    assert codes(ADAPTS, tmp_path) == []


PHASES = """
import torch
net = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
def epoch({arguments}):
    {first}
    for x in torch.randn(8, 4, 2):
        loss = net(x).pow(2).mean()
        if train:
            opt.zero_grad()
            loss.backward()
            opt.step()
"""


def test_texts_that_are_compared_by_identity(tmp_path: Path) -> None:
    phases = PHASES.format(arguments="what", first="train = True if what is 'train' else False")
    assert codes(phases + "epoch('train')\nwith torch.no_grad():\n    epoch('valid')\n", tmp_path) == []


def test_a_flag_that_comes_with_no_grad(tmp_path: Path) -> None:
    """Who evaluates under `no_grad` leaves the flag off; where the function itself switches recording off, it fails."""
    phases = PHASES.format(arguments="train", first="pass")
    assert codes(phases + "with torch.no_grad():\n    epoch(False)\n", tmp_path) == []
    under = phases.replace("loss = net(x)", "with torch.no_grad(): loss = net(x)")
    assert codes(under + "epoch(False)\n", tmp_path) == ["AFT401"]


def test_a_test_on_what_a_loss_is(tmp_path: Path) -> None:
    source = """
import torch
net = torch.nn.Linear(2, 1)
with torch.no_grad():
    loss = net(torch.randn(4, 2)).mean()
net(torch.randn(4, 2)).sum().backward()
if loss.requires_grad:
    loss.backward()
"""
    assert codes(source, tmp_path) == []


COLUMNS = """
import torch
net = torch.nn.Linear(2, 5)
opt = torch.optim.Adam(net.parameters())
x = torch.rand(50, 2, requires_grad=True)
for step in range(100):
    y = net(x)
    slopes = []
    for m in range(5):
        slopes.append(torch.autograd.grad(y[:, m].sum(), x, create_graph=True)[0])
    loss = (slopes[0] - slopes[3] * slopes[4]).pow(2).mean()
    opt.zero_grad()
    loss.backward({flag})
    opt.step()
"""


def test_a_short_loop_that_fills_a_list_fills_it(tmp_path: Path) -> None:
    assert codes(COLUMNS.format(flag="retain_graph=True"), tmp_path) == ["AFT303"]
    assert codes(COLUMNS.format(flag=""), tmp_path) == []
