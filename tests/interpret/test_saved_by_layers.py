"""What layers and distributions keep for the backward pass, as torch does it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.interpret.checking import check_source
from tests.watching import watch_source

CELL = """\
import torch
cell = torch.nn.{layer}(3, 4)
opt = torch.optim.SGD(cell.parameters(), lr=0.1)
state = None
for step in range(4):
    out = cell(torch.randn({shape}), state)
    {keep}
    loss = {loss}.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
LAYERS = {
    "RNNCell": ("2, 3", "state = out", "out"),
    "GRUCell": ("2, 3", "state = out", "out"),
    "LSTMCell": ("2, 3", "state = out", "out[0]"),
    "RNN": ("5, 2, 3", "state = out[1]", "out[0]"),
    "GRU": ("5, 2, 3", "state = out[1]", "out[0]"),
    "LSTM": ("5, 2, 3", "state = out[1]", "out[0]"),
}


@pytest.mark.parametrize("layer", LAYERS)
def test_both_engines_say_the_same_of_retained_graphs(layer: str, tmp_path: Path) -> None:
    shape, keep, loss = LAYERS[layer]
    source = CELL.format(layer=layer, shape=shape, keep=keep, loss=loss)
    (watched,) = watch_source(source, tmp_path).findings
    (read,) = check_source(source, tmp_path)
    assert [note.kind for note in read.notes if note.kind.startswith("retain")] == [
        note.kind for note in watched.notes if note.kind.startswith("retain")
    ]


def test_a_draw_from_probabilities_computes_no_logits(tmp_path: Path) -> None:
    found = check_source(
        "import torch\nfrom torch.distributions import Bernoulli\np = torch.full((3,), 0.4, requires_grad=True)\n"
        "pi = Bernoulli(probs=p)\ndrawn = pi.sample()\n"
        "first = pi.log_prob(drawn).sum()\nsecond = pi.log_prob(drawn).mean()\n"
        "first.backward()\nsecond.backward()\n",
        tmp_path,
    )
    assert found[0].built is not None
    assert found[0].built.line == 6
