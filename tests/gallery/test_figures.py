"""The figures behind the examples: gradients, bytes, and a recommender's measures."""

from __future__ import annotations

import importlib.util
import runpy
import sys
from typing import Any

import pytest
import torch

from afterward.gallery import FOLDER
from afterward.gallery.interactions import generate, measure, popularity_baseline
from afterward.gallery.saved_bytes import saved_bytes


def _printed(name: str, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    sys.argv = [name, *arguments]
    runpy.run_path(str(FOLDER / f"{name}.py"))
    return capsys.readouterr().out


@pytest.fixture(autouse=True)
def _arguments_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", list(sys.argv))


def test_the_retained_loss_counts_twice(capsys: pytest.CaptureFixture[str]) -> None:
    assert "is 2 times the loss's gradient" in _printed("same-loss-twice/retained", capsys)


def test_only_the_last_batch_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert _printed("backward-after-loop/claimed", capsys).count("alone: True") == 5


def test_detaching_what_has_no_history_changes_no_bit(capsys: pytest.CaptureFixture[str]) -> None:
    printed = _printed("two-networks/detached", capsys)
    assert "has a history: False" in printed
    assert "with and without detach: True" in printed


def test_a_sum_of_losses_has_the_gradients_of_two_passes(capsys: pytest.CaptureFixture[str]) -> None:
    lines = _printed("combined-losses/combined", capsys).splitlines()
    assert len(lines) == 5
    assert all(float(line.rsplit(" ", 1)[1]) < 1e-6 for line in lines)


def test_retained_graphs_hold_bytes_in_proportion_to_the_steps(capsys: pytest.CaptureFixture[str]) -> None:
    held = [int(line.split()[-3]) for line in _printed("retain-graph-cure/bytes", capsys).splitlines()]
    assert held == [64 + 32 * step for step in range(12)]


@pytest.mark.parametrize("name", ["higher-order/retained", "gradient-penalty/idle"])
def test_a_gradient_that_was_not_recorded_has_no_graph(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "has a graph: False" in _printed(name, capsys)


def test_the_interactions_look_like_real_ones() -> None:
    data = generate()
    taken = torch.bincount(data.train[:, 1], minlength=data.items).sort(descending=True).values
    assert taken[: data.items // 5].sum() > 0.5 * taken.sum()  # a fifth of the items has more than half
    assert torch.bincount(data.train[:, 0]).min() >= 5
    both = torch.cat([data.train, data.held_back])
    assert len(both.unique(dim=0)) == len(both)
    assert torch.equal(generate().train, data.train)


def test_recall_and_ndcg_of_a_perfect_and_of_a_useless_ranking() -> None:
    data = generate()
    wanted = torch.zeros(data.users, data.items)
    wanted[data.held_back[:, 0], data.held_back[:, 1]] = 1
    recall, ndcg = measure(wanted, torch.eye(data.items), data)
    assert recall > 0.99  # a user with more than 20 held-back items can not reach 1
    assert ndcg == pytest.approx(1)
    recall, ndcg = measure(-wanted, torch.eye(data.items), data)
    assert recall < 0.05


def test_lightgcn_learns_and_is_the_same_on_every_library() -> None:
    data = generate()
    recalls = {}
    for name, module in (("lightgcn", "torch"), ("lightgcn-dgl", "dgl"), ("lightgcn-pyg", "torch_geometric")):
        if importlib.util.find_spec(module) is not None:
            sys.argv = [name, "--epochs", "1"]
            trained: dict[str, Any] = runpy.run_path(str(FOLDER / name / "right.py"))
            recalls[name] = measure(*trained["model"](), data)[0]
    assert recalls["lightgcn"] > 1.2 * popularity_baseline(data)[0]
    assert all(recall == pytest.approx(recalls["lightgcn"], abs=0.005) for recall in recalls.values())


def test_saved_bytes_are_counted_while_they_are_held() -> None:
    weight = torch.ones(1000, requires_grad=True)
    with saved_bytes() as saved:
        loss = (weight * weight).exp().sum()
        assert saved.now == 8000  # the weight, saved twice, counts once; and the result of exp
        loss.backward()
    assert (saved.now, saved.peak) == (0, 8000)
