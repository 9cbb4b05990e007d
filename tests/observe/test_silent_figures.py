"""The figures of a warning are what was seen: bytes, growth per step, how long it was held, what was measured."""

from __future__ import annotations

from pathlib import Path

import torch
from tests.watching import watch_source

from afterward.render.wording import said


def _one(source: str, folder: Path):
    seen = watch_source(source, folder)
    assert seen.error is None, seen.error
    (finding,) = seen.findings
    return finding


def _recorded(code: str, names: dict[str, object]) -> int:
    """How many nodes torch itself counts while some code runs."""
    counter = torch._C._autograd._get_sequence_nr
    before = counter()
    exec(code, names)
    return counter() - before


def test_the_share_of_graphs_that_are_never_used(tmp_path: Path, torch_as_it_was: None) -> None:
    setup = "layer = torch.nn.Linear(3, 1)\noptimizer = torch.optim.SGD(layer.parameters(), lr=0.1)\n"
    step = "optimizer.zero_grad(); layer(x).pow(2).mean().backward(); optimizer.step()"
    look = "error = layer(x).abs().mean().item()"
    source = f"""{setup}
for epoch in range(4):
    for x in torch.randn(4, 4, 3):
        {step.replace("; ", chr(10) + "        ")}
    for x in torch.randn(20, 4, 3):
        {look}
"""
    (found,) = watch_source(source, tmp_path).findings
    names: dict[str, object] = {"torch": torch, "x": torch.randn(4, 3)}
    exec(setup, names)
    wasted, used = 80 * _recorded(look, names), 16 * _recorded(step, names)
    assert (found.code, found.nodes) == ("AFT305", wasted)
    assert f"{100 * wasted / (wasted + used):.0f} % of all that was recorded" in said(found).primary.text


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


def test_what_a_needlessly_kept_graph_takes(tmp_path: Path, torch_as_it_was: None) -> None:
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
    held = _one(source.format(end="kept = kept or loss"), tmp_path)
    assert "still held when the run ended" in said(held).why


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
    assert said(found).headline.startswith("`level` carries its graph from step to step")
    assert "adds about 3 nodes and 1008 B of saved values" in said(found).why
