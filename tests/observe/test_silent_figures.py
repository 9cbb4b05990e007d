"""The figures of a warning are what was seen: bytes, growth per step, how long it was held, what was measured."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

import pytest
import torch
from tests.watching import watch_source

from afterward.observe.marks import tape
from afterward.render.wording import said


def _one(source: str, folder: Path):
    seen = watch_source(source, folder)
    assert seen.error is None, seen.error
    (finding,) = seen.findings
    return finding


def test_the_share_of_time_that_went_into_graphs_for_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, torch_as_it_was: None
) -> None:
    """By a clock that goes on by one whenever it is read, which is once per statement."""
    ticks = itertools.count()
    monkeypatch.setattr(tape, "QuickTape", None)
    monkeypatch.setattr(time, "time_ns", lambda: next(ticks))
    evaluated = """
layer = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
for epoch in range(4):
    for x in torch.randn(4, 4, 3):
        optimizer.zero_grad()
        layer(x).pow(2).mean().backward()
        optimizer.step()
    for x in torch.randn(20, 4, 3):
        error = layer(x).abs().mean().item()
"""
    (found,) = watch_source(evaluated, tmp_path).findings
    # An epoch is 4 turns of 4 marks, 20 turns of 2 marks and 3 for the loops, so the statement is 20 ticks of 59. Each
    # look reads the clock twice, and takes one tick off again: the other one stays, which makes it somewhat less.
    assert found.code == "AFT305"
    assert said(found).why.endswith("They took about 31 % of the time.")


def test_the_share_of_time_of_losses_that_are_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, torch_as_it_was: None
) -> None:
    ticks = itertools.count()
    monkeypatch.setattr(tape, "QuickTape", None)
    monkeypatch.setattr(time, "time_ns", lambda: next(ticks))
    dropped = """
weight = torch.ones(2, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.01)
for epoch in range(6):
    optimizer.zero_grad()
    for x in torch.randn(5, 2):
        loss = (weight * x).pow(2).sum()
    loss.backward()
    optimizer.step()
"""
    (found,) = watch_source(dropped, tmp_path).findings
    # From pass to pass: a step (with a look at it), zeroing, the loop, and five times a loss and a turn: 14.
    # Four losses are in vain.
    assert found.code == "AFT304"
    assert "took about 29 % of the time" in said(found).why


def test_what_a_log_keeps_and_adds_with_each_step(tmp_path: Path, torch_as_it_was: None) -> None:
    found = _one(
        """
weight, kept = torch.ones(1000, requires_grad=True), []
for step in range(30):
    base = weight.exp()
    figure = base.sin().sum()
    base.sum().backward()
    kept.append(figure)
    weight.grad = None
""",
        tmp_path,
    )
    assert (found.code, found.bytes) == ("AFT301", 30 * 4000)  # what `sin` saved, thirty times
    assert "each step adds 3 nodes (3.9 KB)" in said(found).why


def test_how_long_a_needlessly_kept_graph_was_held(tmp_path: Path, torch_as_it_was: None) -> None:
    source = """
weight, kept = torch.ones(1000, requires_grad=True), None
for step in range(6):
    loss = weight.exp().sum()
    loss.backward(retain_graph=True)
    weight.grad = None
    {end}
"""
    dropped = _one(source.format(end="loss = None"), tmp_path)
    assert (dropped.code, dropped.bytes, dropped.nodes) == ("AFT303", 4000, 2)
    assert " later, 6 times." in said(dropped).why
    held = _one(source.format(end="kept = kept or loss"), tmp_path)
    assert " later, 4 times." in said(held).why  # the first and the last loss still have names


def test_each_step_of_a_growing_history(tmp_path: Path, torch_as_it_was: None) -> None:
    found = _one(
        """
weight, level = torch.ones(250, requires_grad=True), torch.zeros(250)
for step in range(8):
    level = level * 0.5 + weight * torch.ones(250)
    level.sum().backward(retain_graph=True)
    weight.grad = None
""",
        tmp_path,
    )
    # Each step adds a product that saves its factor (a thousand bytes) and one that saves a number (8 bytes).
    assert found.code == "AFT302"
    assert "adds about 3 nodes and 1008 B of saved values" in said(found).why


def test_a_batch_is_measured_on_numbers_of_our_own(tmp_path: Path, torch_as_it_was: None) -> None:
    source = """
torch.manual_seed(0)
layer = torch.nn.Linear(16, 16)
for batch in torch.randn(3, 64, 16):
    torch.cat([layer(row.unsqueeze(0)) for row in batch]).pow(2).mean().backward()
    layer.zero_grad()
after = torch.randn(2)
"""
    found = _one(source, tmp_path)
    assert (found.code, found.severity.value) == ("AFT306", "info")
    assert all(
        "the layers' 64 calls took" in note for note in said(found).notes
    )  # none where a batch was not clearly faster
    drawn = torch.randn(1)
    names: dict[str, object] = {"torch": torch}
    exec(source, names)
    assert torch.equal(torch.randn(1), drawn)  # measuring drew no random numbers
