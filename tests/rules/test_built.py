"""Both engines write the same of what statements built, and of what one pass returned into another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.interpret.checking import check_source
from tests.watching import watch_source

from afterward.interpret.history import silent
from afterward.model.history import History
from afterward.observe.silent.survey import Surveyor

SOURCE = """
import torch
net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
def norm(x):
    size = net(x).pow(2)
    left = size * 2
    return size.mean()
for epoch in range(2):
    for x in torch.randn(3, 4, 3):
        loss = norm(x)
        if epoch:
            worst = loss * 1
        again = loss
    shown = net(x).detach()
    x.requires_grad_()
    (slope,) = torch.autograd.grad(net(x).pow(2).sum(), x)
    total = loss + slope.norm()
    opt.zero_grad()
    total.backward()
    opt.step()
"""


def _said(history: History) -> tuple[Any, ...]:
    statements = {
        one.site.line: (one.gives, one.unread, one.cut_off, one.chosen, _numbers(one.executions))
        for one in history.built.statements
    }
    fed = {(one.name, one.where.site.line if one.where else 0, one.linear) for one in history.fed}
    return statements, fed, [run.reads for run in history.passes]


def _numbers(executions: Any) -> list[tuple[int, ...]]:
    """The iterations of the first executions: source is read for a few."""
    return [tuple(number for _, number in one.iterations) for one in executions[:2]]


def test_both_engines_write_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, torch_as_it_was: None) -> None:
    written: dict[str, History] = {}
    plain, observed = silent.history, Surveyor.history

    def interpreting(machine: Any) -> History | None:
        made = plain(machine)
        if made is not None:
            written.setdefault("check", made)
        return made

    def observing(*args: Any, **more: Any) -> History:
        written["run"] = observed(*args, **more)
        return written["run"]

    monkeypatch.setattr(silent, "history", interpreting)
    monkeypatch.setattr(Surveyor, "history", observing)
    check_source(SOURCE, tmp_path)
    watch_source(SOURCE, tmp_path)
    by_run, by_check = _said(written["run"]), _said(written["check"])
    assert by_run[0] == by_check[0]
    assert by_run[1] == by_check[1]
    assert by_run[2][:2] == by_check[2][:2]
    lines = by_run[0]
    assert lines[7][1], "nothing reads `left`"
    assert lines[11][0] == ("loss", "again")
    assert lines[13][3], "a test decides whether there is a `worst`"
    assert lines[15][2], "`shown` has no graph"
    assert by_run[1] == {("slope", 18, True)}
