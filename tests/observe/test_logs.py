"""A log that keeps graphs is told of once, at the statement that adds to it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.watching import watch_source

TRAINER = """
class Trainer:
    def __init__(self):
        self.net = torch.nn.Linear(4, 1)
        self.opt = torch.optim.SGD(self.net.parameters(), 0.01)
        self.total = torch.tensor(0.0)
        self.losses = []

    def fit(self, data):
        for x in data:
            loss = self.net(x).square().mean()
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            {log}

trainer = Trainer()
trainer.fit(torch.randn(12, 8, 4))
"""


def _lines(source: str, folder: Path) -> list[tuple[str, int]]:
    found = watch_source(source, folder).findings
    return [(one.code, one.primary.site.line) for one in found]


def test_a_list_of_an_object_has_one_name(tmp_path: Path) -> None:
    assert _lines(TRAINER.format(log="self.losses.append(loss)"), tmp_path) == [("AFT301", 15)]


@pytest.mark.parametrize(
    ("before", "log", "name"),
    [
        ("", "self.losses.append(loss)", "self.losses"),
        ("def note(owner, loss): owner.losses.append(loss)", "note(self, loss)", "owner.losses"),
    ],
)
def test_it_goes_by_the_name_that_the_statement_has_for_it(before: str, log: str, name: str, tmp_path: Path) -> None:
    (found,) = watch_source(before + TRAINER.format(log=log), tmp_path).findings
    assert found.bridge.name == name


def test_a_sum_is_told_of_where_it_grows_not_where_it_began(tmp_path: Path) -> None:
    assert _lines(TRAINER.format(log="self.total = self.total + loss"), tmp_path) == [("AFT301", 15)]


def test_a_list_in_a_dict_grows_where_something_is_put_into_it(tmp_path: Path) -> None:
    source = """
logs = {}
net = torch.nn.Linear(4, 1)
for x in torch.randn(12, 8, 4):
    loss = net(x).square().mean()
    loss.backward()
    net.zero_grad()
    logs.setdefault("loss", []).append(loss)
"""
    assert _lines(source, tmp_path) == [("AFT301", 8)]


def test_beside_a_number_it_is_the_statement_that_stores_a_graph(tmp_path: Path) -> None:
    source = """
logs = {"loss": [], "out": []}
net = torch.nn.Linear(4, 1)
for x in torch.randn(12, 8, 4):
    out = net(x)
    loss = out.square().mean()
    loss.backward()
    net.zero_grad()
    logs["loss"].append(loss.item())
    logs["out"].append(out)
"""
    (found,) = watch_source(source, tmp_path).findings
    assert (found.code, found.primary.site.line, found.remedies[0].form) == ("AFT301", 10, "tensor")


@pytest.mark.parametrize(
    "keep",
    [
        "recent.append(loss)\n        if len(recent) > 5: recent.pop(0)",
        "recent = (recent + [loss])[-5:]",
        "recent = sorted([*recent, loss], key=lambda one: -one.item())[:4]",
        "recent.append(loss)\n        del recent[:-3]",
    ],
)
def test_the_last_few_are_no_record(keep: str, tmp_path: Path) -> None:
    source = f"""
def train(net):
    recent = []
    for x in torch.randn(30, 8, 4):
        loss = net(x).square().mean()
        loss.backward()
        net.zero_grad()
        {keep}

train(torch.nn.Linear(4, 1))
"""
    assert _lines(source, tmp_path) == []


NEWEST_OF_EACH = """
net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh())
opt = torch.optim.SGD(net.parameters(), 0.01)
last, seldom, rare = {}, None, None

def swept(loss):
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss

for i in range(40):
    every = swept(net(torch.randn(3, 4)).square().mean())
    seldom = swept(net(torch.randn(3, 4)).exp().mean()) if i % 3 == 0 else seldom
    rare = swept(net(torch.randn(3, 4)).abs().mean()) if i % 7 == 0 else rare
    KEEP
"""


@pytest.mark.parametrize(
    "keep",
    [
        'last["every"] = every; last["seldom"] = seldom; last["rare"] = rare',
        "for name, loss in dict(every=every, seldom=seldom, rare=rare).items(): last[name] = loss",
    ],
)
def test_the_newest_of_each_kind_is_no_record(tmp_path: Path, keep: str) -> None:
    assert _lines(NEWEST_OF_EACH.replace("KEEP", keep), tmp_path) == []


def test_a_record_under_keys_is_one(tmp_path: Path) -> None:
    program = NEWEST_OF_EACH.replace("KEEP", 'last[f"step {i}"] = every')
    assert [code for code, _ in _lines(program, tmp_path)] == ["AFT301"]


def test_a_sum_under_a_fixed_key_is_a_record(tmp_path: Path) -> None:
    program = NEWEST_OF_EACH.replace("KEEP", 'last["sum"] = last.get("sum", 0) + every')
    assert [code for code, _ in _lines(program, tmp_path)] == ["AFT301"]


ROWS = """
from dataclasses import dataclass
from typing import Any, NamedTuple

class Row(NamedTuple):
    step: int
    loss: Any

@dataclass
class Note:
    step: int
    loss: Any

def train():
    net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh())
    opt = torch.optim.SGD(net.parameters(), 0.01)
    log = []
    for i in range(STEPS):
        loss = net(torch.randn(3, 4)).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        KEEP

train()
"""


@pytest.mark.parametrize("keep", ["log.append(Row(i, loss))", "log.append(Note(i, loss))"])
def test_a_list_of_records_that_keep_a_loss_each(tmp_path: Path, keep: str) -> None:
    assert _lines(ROWS.replace("KEEP", keep).replace("STEPS", "20"), tmp_path) == [("AFT301", 23)]


def test_objects_with_the_newest_loss_each_are_no_record(tmp_path: Path) -> None:
    keep = "log += [Note(i, loss)] * (i < 10); log[i % 10].loss = loss"
    assert _lines(ROWS.replace("KEEP", keep).replace("STEPS", "40"), tmp_path) == []


BY_EPOCH = """
def train():
    net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh())
    opt = torch.optim.SGD(net.parameters(), 0.01)
    kept = []
    for epoch in range(20):
        for x in torch.randn(5, 3, 4):
            loss = net(x).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        KEEP

train()
"""


@pytest.mark.parametrize("keep", ["kept.append(loss)", "kept.append({'val': net(torch.randn(3, 4)).square().mean()})"])
def test_a_record_that_grows_by_epochs(tmp_path: Path, keep: str) -> None:
    assert _lines(BY_EPOCH.replace("KEEP", keep), tmp_path) == [("AFT301", 12)]


@pytest.mark.parametrize("keep", ["kept.append(loss.item())", "kept = [*kept, loss][-3:]"])
def test_the_last_few_of_the_epochs_are_no_record(tmp_path: Path, keep: str) -> None:
    assert _lines(BY_EPOCH.replace("KEEP", keep), tmp_path) == []


def test_a_list_of_a_few_steps_that_a_function_drops_at_its_end(tmp_path: Path) -> None:
    program = """
def train():
    net, kept = torch.nn.Linear(4, 1), []
    for x in torch.randn(6, 8, 4):
        loss = net(x).square().mean()
        loss.backward()
        kept.append(loss)
        net.zero_grad()

train()
"""
    assert [found.code for found in watch_source(program, tmp_path).findings] == ["AFT301"]
