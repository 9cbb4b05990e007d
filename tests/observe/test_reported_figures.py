"""Every figure of a report against torch's own account: what its hooks saw saved, and the graph as it can be walked."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest
import torch
from tests.observe.test_account import NETWORKS, _Counting
from tests.watching import watch_source

from afterward.model.diagnosis import Diagnosis

STEPS = 7
FORWARD = """
torch.manual_seed(3)
network, shape = {network}
optimizer = torch.optim.SGD(network.parameters(), lr=0.01)
history = []
for step in range({steps}):
    given = torch.randn(shape)
    with counting(network):
        loss = network(given).pow(2).mean()
    optimizer.zero_grad()
"""
RETAINED = "    loss.backward(retain_graph=True)\n    optimizer.step()\n"
KEPT = "    loss.backward()\n    optimizer.step()\n    history.append(loss)\n"
RETAINED_AND_KEPT = "    loss.backward(retain_graph=True)\n    optimizer.step()\n    history.append(loss)\n"
TWICE = "    loss.backward()\n    loss.backward()\n"


class _CountingAll(_Counting):
    """What the steps save, each storage once: batch norm saves its running mean in each of them."""

    def __init__(self) -> None:
        super().__init__()
        self.all: dict[int, int] = {}

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self.all |= {at: size for at, size in self.storages.items() if at not in self.parameters}


def _both(network: str, ending: str, folder: Path) -> tuple[int, _CountingAll, list[Diagnosis]]:
    """Nodes of one forward pass and bytes by torch's account, and what `run` reports."""
    program = FORWARD.format(network=NETWORKS[network], steps=STEPS) + ending
    counting, names = _CountingAll(), dict[str, object]()
    names |= {"torch": torch, "counting": counting}
    with pytest.raises(RuntimeError, match="second time") if ending == TWICE else nullcontext():
        exec(program, names)
    nothing = "import contextlib\ncounting = lambda network: contextlib.nullcontext()\n"
    loss = names["loss"]
    assert isinstance(loss, torch.Tensor)
    return _nodes(loss), counting, watch_source(nothing + program, folder).findings


def _nodes(loss: torch.Tensor) -> int:
    found, todo = set(), [loss.grad_fn]
    while todo:
        node = todo.pop()
        if node is not None and node not in found:
            found.add(node)
            todo += [below for below, _ in node.next_functions]
    return sum(not hasattr(node, "variable") for node in found)


def _figures(found: Diagnosis) -> dict[str, float | None]:
    return {fact.name: fact.number for fact in found.facts if fact.measured}


@pytest.mark.parametrize("network", NETWORKS)
def test_what_a_retained_graph_holds(network: str, tmp_path: Path, torch_as_it_was: None) -> None:
    nodes, counting, (found,) = _both(network, RETAINED, tmp_path)
    size = counting.sizes[-1]
    assert (found.code, found.nodes, found.bytes) == ("AFT303", nodes, size)
    figures = _figures(found)
    assert (figures["nodes"], figures["bytes"], figures["times"]) == (nodes, size, STEPS)


@pytest.mark.parametrize("network", NETWORKS)
def test_what_was_freed(network: str, tmp_path: Path, torch_as_it_was: None) -> None:
    nodes, counting, (found,) = _both(network, TWICE, tmp_path)
    assert (found.code, found.nodes, found.bytes) == ("AFT101", nodes, counting.sizes[-1])


@pytest.mark.parametrize("network", NETWORKS)
def test_what_a_record_keeps(network: str, tmp_path: Path, torch_as_it_was: None) -> None:
    """Freed graphs keep their nodes, and no values."""
    nodes, _, (found,) = _both(network, KEPT, tmp_path)
    figures = _figures(found)
    assert (found.code, found.nodes, found.bytes) == ("AFT301", STEPS * nodes, 0)
    assert (figures["steps"], figures["growth"], figures["growth_bytes"]) == (STEPS, nodes, None)


@pytest.mark.parametrize("network", NETWORKS)
def test_what_a_record_of_retained_graphs_keeps(network: str, tmp_path: Path, torch_as_it_was: None) -> None:
    nodes, counting, findings = _both(network, RETAINED_AND_KEPT, tmp_path)
    found = next(one for one in findings if one.code == "AFT301")
    assert (found.nodes, found.bytes) == (STEPS * nodes, sum(counting.all.values()))
