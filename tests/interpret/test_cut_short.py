"""What an interpreted run does not do in full: loops that are cut short, dicts and lists that such loops fill,
generators, values that are not known. A program that works has what it asks for."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.interpret.checking import check_source

START = """
import numpy as np
import torch
import torch.nn as nn
model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
"""
TRAIN = """
for epoch in range(100):
    loss = model(torch.randn(8, 4)).pow(2).mean()
    opt.zero_grad()
    loss.backward(retain_graph=True)
    opt.step()
"""


def codes(source: str, folder: Path) -> list[str]:
    return sorted({found.code for found in check_source(START + source, folder)})


@pytest.mark.parametrize(
    "before",
    [
        "words = {}\nfor line in open('words'):\n    words.update({line: 1})\nfirst = words['the']\n",
        "rest, both = {}, {}\nfor line in open('words'):\n    rest[line] = 2\nboth.update(rest)\nlast = both['b']\n",
        "table = {}\nfor i in range(5000):\n    table[i * 7] = i\nlast = table[34_993]\n",
        "def forever():\n    while True:\n        yield 1\ngiven = forever()\nfor _ in range(50):\n    next(given)\n",
        "def some():\n    for i in range(99):\n        yield i\ngiven = some()\nfor _ in range(50):\n    next(given)\n",
    ],
)
def test_what_is_not_known_ends_no_program(before: str, tmp_path: Path) -> None:
    assert codes(before + TRAIN, tmp_path) == ["AFT303"]


def test_a_missing_key_is_caught_where_it_is_expected(tmp_path: Path) -> None:
    source = "seen = {}\ntry:\n    keep = seen['a']\nexcept KeyError:\n    keep = True\n"
    guarded = TRAIN.replace("retain_graph=True", "retain_graph=keep")
    assert codes(source + guarded, tmp_path) == ["AFT303"]


FLOW = """
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.last, self.fresh = nn.Parameter(torch.ones(4)), None, True
    def forward(self, x):
        if self.fresh:
            self.last = torch.sigmoid(x * self.weight)
        return x * self.last
class Flow(nn.Module):
    def __init__(self, length):
        super().__init__()
        self.length, self.blocks = length, nn.ModuleList()
        for _ in range(length):
            self.blocks.append(Scale())
    def forward(self, x):
        for t in {over}:
            x = self.blocks[t](x)
        return x
flow = Flow(4)
opt = torch.optim.SGD(flow.parameters(), lr=0.1)
def look():
    for t in range(flow.length):
        flow.blocks[t].fresh = False
    for t in range(flow.length):
        flow.blocks[t].fresh = True
for epoch in range(100):
    loss = flow(torch.randn(8, 4)).pow(2).mean()
    opt.zero_grad()
    loss.backward({retain})
    opt.step()
    if epoch % 50 == 9:
        look()
"""


@pytest.mark.parametrize("over", ["range(self.length)", "np.arange(self.length)", "np.arange(self.length - 1, -1, -1)"])
def test_a_loop_over_the_blocks_of_a_network_comes_to_all(over: str, tmp_path: Path) -> None:
    assert codes(FLOW.format(over=over, retain=""), tmp_path) == []
    assert codes(FLOW.format(over=over, retain="retain_graph=True"), tmp_path) == ["AFT303"]


def test_a_class_is_not_another_class(tmp_path: Path) -> None:
    source = """
class Value(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
    def forward(self, x):
        return self.layer(x)
value = Value()
for epoch in range(100):
    x = model(torch.randn(8, 4))
    if type(value) == list:
        x = value[0](x)
    loss = x.pow(2).mean()
    opt.zero_grad()
    loss.backward(retain_graph=True)
    opt.step()
"""
    assert codes(source, tmp_path) == ["AFT303"]


def test_a_share_is_no_loss(tmp_path: Path) -> None:
    source = """
for epoch in range(100):
    out = model(torch.randn(8, 4))
    share = out / out.sum(-1)
    loss = out.pow(2).mean()
    opt.zero_grad()
    loss.backward(retain_graph=True)
    opt.step()
"""
    assert codes(source, tmp_path) == ["AFT303"]


def test_a_part_of_the_network_is_not_known(tmp_path: Path) -> None:
    """What is cut off from every loss is, whatever else the optimizer may hold."""
    source = """
class Net(nn.Module):
    def __init__(self, cuda):
        super().__init__()
        self.cuda_too, self.one, self.two = cuda, nn.Linear(4, 4), nn.Linear(4, 1)
net = Net(open('settings').read())
opt = torch.optim.Adam(net.parameters())
for epoch in range(100):
    loss = net.two(net.one(torch.randn(8, 4)){cut}).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
    assert codes(source.replace("{cut}", ".data"), tmp_path) == ["AFT404"]
    assert codes(source.replace("{cut}", ""), tmp_path) == []


def test_a_slice_of_what_a_short_loop_has_filled(tmp_path: Path) -> None:
    """`torch.stack` of nothing raises: where it is called, there is something."""
    source = """
def play():
    found = []
    for step in range(200):
        found.append(model(torch.randn(4)))
    return found
for episode in range(100):
    outputs = play()
    opt.zero_grad()
    wanted = torch.bernoulli(outputs[0].detach())
    loss = (torch.stack(outputs[100:200]) * wanted).mean()
    loss.backward()
    opt.step()
"""
    assert codes(source, tmp_path) == []
