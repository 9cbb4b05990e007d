"""What a program chooses by a name that is not known, and networks that a library makes ready."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.interpret.test_not_reached import codes

NETS = """
import torch.nn as nn
class Block(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.layer = nn.Linear(n, n)
    def forward(self, x):
        return self.layer(x)
class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.block = Block(n)
    def forward(self, x):
        return self.block(x)
"""
OTHER = NETS + "class Other(Net):\n    pass\nclass Third(nn.Module):\n    pass\n"
LOSSES = "def square(a, b):\n    return (a - b).pow(2).mean()\ndef size(a, b):\n    return (a - b).abs().mean()\n"
TRAIN = """
import json, sys
import torch
import nets, losses
def main(config):
    model = {model}
    criterion = getattr(losses, config["loss"])
    opt = getattr(torch.optim, config["optimizer"])(model.parameters(), **config["args"])
    kept = []
    for x, y in config["data"]:
        loss = criterion(model(x), y)
        {clear}
        loss.backward()
        opt.step()
        kept.append(loss.item())
main(json.load(open(sys.argv[1])))
"""


@pytest.mark.parametrize("nets", [NETS, OTHER])
@pytest.mark.parametrize(
    "model", ['getattr(nets, config["model"])(3)', '{"a": nets.Block, "b": nets.Net}[config["model"]](3)']
)
def test_classes_and_functions_by_their_names(tmp_path: Path, nets: str, model: str) -> None:
    others = {"nets": nets, "losses": LOSSES}
    assert codes(TRAIN.format(model=model, clear="pass"), tmp_path, **others) == ["AFT402"]
    assert codes(TRAIN.format(model=model, clear="opt.zero_grad()"), tmp_path, **others) == []


def test_a_function_to_run_is_not_one_of_several_losses(tmp_path: Path) -> None:
    source = TRAIN.format(model="nets.Net(3)", clear="pass").replace(
        "main(json", "def other(config):\n    pass\n{KIND}(json"
    )
    source = source.replace("{KIND}", '{"a": main, "b": other}[sys.argv[2]]')
    assert codes(source, tmp_path, nets=NETS, losses=LOSSES) == ["AFT402"]  # `main`, called by itself


def test_a_trainer_whose_base_is_in_another_file(tmp_path: Path) -> None:
    base = """
class Base:
    def __init__(self, network, optimizer, config):
        self.network = network.to(config["device"])
        self.optimizer = optimizer["all"]
"""
    trainer = """
import torch
from base import Base
class Trainer(Base):
    def __init__(self, network, optimizer, config, data):
        super().__init__(network, optimizer, config)
        self.data = data
    def epoch(self):
        self.network.train()
        total = 0
        for x, y in self.data:
            self.optimizer.zero_grad()
            loss = (self.network(x) - y).pow(2).mean()
            loss.backward(retain_graph=True)
            self.optimizer.step()
            total += loss.item()
        return total
"""
    assert codes(trainer, tmp_path, base=base) == ["AFT303"]
    assert codes(trainer.replace("retain_graph=True", ""), tmp_path, base=base) == []


STYLE = """
import torch
from torchvision import models
vgg = models.vgg19(pretrained=True).features
for p in vgg.parameters():
    p.requires_grad_(False)
def features(image, model, wanted={'0': 'first', '21': 'deep'}):
    found, x = {}, image
    for name, layer in model._modules.items():
        x = layer(x)
        if name in wanted:
            found[wanted[name]] = x
    return found
content = torch.rand(1, 3, 8, 8)
target = content.clone().requires_grad_(True)
goal = features(content, vgg)
opt = torch.optim.Adam([target])
kept = []
for step in range(100):
    now = features(target, vgg)
    loss = (now['deep'] - goal['deep']).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    kept.append(loss)
"""
TUNE = """
import torch
from torchvision import models
model = models.resnet18(pretrained=True)
for p in model.parameters():
    p.requires_grad = False
model.fc = torch.nn.Linear(model.fc.in_features, 2)
opt = torch.optim.Adam(model.fc.parameters())
for x, y in torch.utils.data.DataLoader(data):
    loss = torch.nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (STYLE, ["AFT301"]),
        (STYLE.replace("append(loss)", "append(loss.item())"), []),
        (TUNE, []),
        (TUNE.replace("    opt.zero_grad()\n", ""), ["AFT402"]),
        (TUNE.replace("model.fc =", "model.classifier[6] =").replace("model.fc.p", "model.classifier.p"), []),
        (TUNE.replace("for p in model.p", "for p in model.layer1.p"), []),
    ],
)
def test_networks_of_a_library(tmp_path: Path, source: str, expected: list[str]) -> None:
    assert codes(source, tmp_path) == expected


def test_a_test_after_whose_branch_nothing_runs_is_tried_the_other_way(tmp_path: Path) -> None:
    source = """
import argparse, torch
parser = argparse.ArgumentParser()
parser.add_argument("--config", default=None)
parser.add_argument("--resume", default=None)
args = parser.parse_args()
if args.config:
    config = open(args.config).read()
elif args.resume:
    config = args.resume
else:
    raise AssertionError("give one")
net = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(5, 4, 2):
    net(x).mean().backward()
    opt.step()
"""
    assert codes(source, tmp_path) == ["AFT402"]


ATTACK = """
import torch
net = torch.nn.Linear(3, 2)
opt = torch.optim.Adam(net.parameters())
def attack(x):
    d = torch.randn(x.size())
    d = torch.autograd.Variable(torch.from_numpy(d.numpy()), requires_grad=True)
    net(x + d).pow(2).mean().backward()
    d = d.grad.data.clone()
    net.zero_grad()
    return net(x + d).mean()
for step in range(100):
    x = torch.randn(4, 3)
    loss = attack(x) + net(x).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


def test_a_pass_for_an_input_is_not_one_for_the_optimizer(tmp_path: Path) -> None:
    assert codes(ATTACK, tmp_path) == []


DEEP = """
import torch
import torch.nn as nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = []
        for i in range(8):
            layer = nn.Linear(4, 4)
            setattr(self, f"layer{i}", layer)
            self.layers.append(layer)
    def forward(self, x):
        for i in range(8):
            x = self.layers[i](x)
            x = torch.tanh(x)
        return x
nets = [Net() for i in range(4)]
optimizers = [torch.optim.Adam(net.parameters()) for net in nets]
scores = []
for epoch in range(3):
    for net in nets:
        scores.append(net(torch.randn(3, 4)).mean().data[0])
    for x in torch.randn(9, 3, 4):
        for net, optimizer in zip(nets, optimizers):
            optimizer.zero_grad()
            net(x).mean().backward()
            optimizer.step()
"""


def test_each_layer_of_a_list_is_come_to_however_long_the_program_has_run(tmp_path: Path) -> None:
    assert codes(DEEP, tmp_path) == []


GUARDED = """
import torch
class Memory:
    def __init__(self):
        self.seen = 0
    def add(self, x):
        self.seen += 1
    def can_sample(self, batch):
        return self.seen > batch
net, memory = torch.nn.Linear(2, 1), Memory()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for t in range(1_000_000):
    memory.add(t)
    if t > 5_000 and memory.can_sample(32):
        net(torch.randn(3, 2)).mean().backward()
        opt.step()
"""
TWICE = GUARDED.replace("t > 5_000 and memory.can_sample(32)", "t > 5_000").replace(
    "        net(", "        if not memory.can_sample(32):\n            continue\n        net("
)


@pytest.mark.parametrize("source", [GUARDED, TWICE])
def test_what_keeps_a_program_from_all_of_its_passes_is_opened(tmp_path: Path, source: str) -> None:
    assert codes(source, tmp_path) == ["AFT402"]


PENALTY = """
import torch
critic = torch.nn.Linear(2, 1)
opt = torch.optim.Adam(critic.parameters())
for real, _ in loader:
    {asks}
    score = critic(real)
    slope = torch.autograd.grad(score.sum(), real, create_graph=True)[0]
    opt.zero_grad()
    {backward}
    opt.step()
"""


@pytest.mark.parametrize("asks", ["real.requires_grad = True", "real.requires_grad_()"])
def test_a_batch_that_is_asked_for_its_gradient(tmp_path: Path, asks: str) -> None:
    used = "(score.mean() + slope.norm(2, dim=1).mean()).backward()"
    head = "from somewhere import loader\n"
    assert codes(head + PENALTY.format(asks=asks, backward=used), tmp_path) == []
    kept = (
        head
        + "kept = []\n"
        + PENALTY.format(asks=asks, backward=used)
        + "    kept.append(score.mean() + slope.sum())\n"
    )
    assert codes(kept, tmp_path) == ["AFT301"]


def test_what_is_asked_for_its_forward_is_a_network(tmp_path: Path) -> None:
    source = """
import torch
class Step:
    def __init__(self, G, D, optim_G):
        self.G, self.D, self.optim_G = G, D, optim_G
    def train(self, mode):
        fake = self.D.forward(self.G.forward(torch.randn(4, 8), mode), mode)
        self.optim_G.zero_grad()
        (-fake.mean()).backward(retain_graph=True)
        self.optim_G.step()
"""
    assert codes(source, tmp_path) == ["AFT303"]


def test_a_loss_that_is_not_below_a_number(tmp_path: Path) -> None:
    source = """
import torch
net = torch.nn.Linear(2, 1)
opt = torch.optim.Adam(net.parameters())
for x in torch.randn(9, 4, 2):
    opt.zero_grad()
    loss = max(net(x).mean() + 1, 0)
    loss.backward(retain_graph=True)
    opt.step()
"""
    assert codes(source, tmp_path) == ["AFT303"]


def test_what_a_flag_leaves_unmade_is_not_guessed(tmp_path: Path) -> None:
    source = """
import torch
class Model:
    def __init__(self, opt, make):
        self.is_train = opt.is_train
        self.net = make(opt)
        if self.is_train:
            self.features = make("vgg")
            for p in self.features.parameters():
                p.requires_grad = False
            self.a = torch.nn.Linear(3, 1)
            self.b = torch.nn.Linear(3, 1)
            self.optimizer = torch.optim.Adam([*self.a.parameters(), *self.b.parameters()])
    def optimize(self, x):
        self.features.eval()
        seen = self.features(x)
        self.optimizer.zero_grad()
        self.a(seen).mean().backward()
        self.b(seen).mean().backward()
        self.optimizer.step()
"""
    assert codes(source, tmp_path) == []
