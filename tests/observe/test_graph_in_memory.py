"""A graph read where it lies is the one that Python's objects show; and who drops a deep one does not crash."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.warm import afterward
from torch import Tensor

from afterward.observe import compat, node_layout
from afterward.observe.failure import graph
from afterward.observe.failure.walk import walk

pytestmark = pytest.mark.skipif(
    graph._tape is None or node_layout.layout() is None, reason="no part in C, or this torch keeps its nodes elsewhere"
)

DEEP = """
import torch

def train(steps):
    weight, state = torch.randn(4, requires_grad=True), torch.zeros(4)
    for step in range(2):
        for tick in range(steps):
            state = torch.tanh(state * weight + 0.1)
        state.sum().backward()

try:
    train(20_000)
except RuntimeError:
    print("caught")
print("end")
"""


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, value: Tensor) -> Tensor:
        ctx.save_for_backward(value)
        return value * 2

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient * 2


def network() -> Tensor:
    layers = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.LayerNorm(3), torch.nn.LSTM(3, 2))
    out, (hidden, _) = layers(torch.ones(4, 3))
    first, second = out.split(2)
    return (torch.cat([first, second, Doubled.apply(hidden)]).std(0) * torch.ones(2).cumsum(0)).sum()


def test_it_is_the_graph_that_python_shows() -> None:
    root = network().grad_fn
    here, there = graph.graph_behind([root]), walk([root])
    assert isinstance(here, graph.InMemory)
    places = range(len(there))
    assert len(here) == len(there)
    assert list(here.orders) == list(there.orders)
    assert [here.links(place) for place in places] == [there.links(place) for place in places]
    assert all(here.node(place) is there.node(place) for place in places)
    assert [here.place_of(node) for node in there.nodes] == list(places)


def test_a_node_answers_as_its_object_does() -> None:
    loss = network()
    here, there = graph.graph_behind([loss.grad_fn]), walk([loss.grad_fn])
    for freed in (False, True):
        if freed:
            loss.backward()
        for place in range(len(there)):
            mine, theirs = list(compat.saved_states(here.ask(place))), list(compat.saved_states(there.node(place)))
            assert [(name, state) for name, state, _ in mine] == [(name, state) for name, state, _ in theirs]
            assert all(
                one[2] is other[2] or torch.equal(one[2], other[2]) for one, other in zip(mine, theirs, strict=True)
            )
            assert here.ask(place).name() == there.node(place).name()
            assert compat.value_bytes(here.ask(place)) == compat.value_bytes(there.node(place))


def test_asking_makes_one_object_of_a_class() -> None:
    value = torch.ones(2, requires_grad=True)
    for _ in range(5):
        value = value.erfinv()
    known = graph.graph_behind([value.grad_fn.next_functions[0][0]])
    assert [node.name() for node in graph.each(known)][:4] == ["ErfinvBackward0"] * 4
    assert (
        sum(type(one).__name__ == "ErfinvBackward0" for one in gc.get_objects()) == 2
    )  # those that were asked for here


@pytest.mark.skipif(sys.platform != "linux", reason="the stack's size is Linux's")
def test_who_drops_a_deep_graph_after_a_post_mortem_goes_on(tmp_path: Path) -> None:
    (tmp_path / "deep.py").write_text(DEEP)
    done = afterward("run", "deep.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "caught\nend\n")
    assert "AFT10" in done.stderr
