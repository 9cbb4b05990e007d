"""What only a library holds has the name that it has in the program's own methods."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.watching import watch_source

LIBRARY = """
class Trainer:
    def __init__(self, opt, callbacks=()):
        self._opt, self._callbacks, self._module = opt, list(callbacks), None

    def fit(self, module, n):
        self._module = module
        for i in range(n):
            self._opt.zero_grad()
            loss = module.training_step(i)
            loss.backward()
            self._opt.step()
            for one in self._callbacks:
                one.on_step_end(module)
"""


@pytest.fixture(autouse=True)
def _library(tmp_path: Path) -> Iterator[None]:
    folder = tmp_path / "site-packages" / "aft_trainer"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(LIBRARY)
    sys.path.insert(0, str(folder.parent))
    yield
    sys.path.remove(str(folder.parent))
    sys.modules.pop("aft_trainer", None)


PROGRAM = """
import aft_trainer

class Keep:
    def __init__(self):
        self.losses = []

    def on_step_end(self, module):
        {callback}

class Model(torch.nn.Module):
    shared = []

    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
        self.outputs = []

    def training_step(self, i):
        loss = self.net(torch.randn(3, 4)).pow(2).mean()
        self.last = loss
        {step}
        return loss

def main():
    model = Model()
    return aft_trainer.Trainer(torch.optim.SGD(model.parameters(), lr=0.1), [Keep()]), model

def train(trainer, model):
    trainer.fit(model, 20)

{call}
"""

UNNAMED = "train(*main())"


def _program(step: str = "pass", callback: str = "pass", call: str = UNNAMED) -> str:
    return PROGRAM.format(step=step, callback=callback, call=call)


@pytest.mark.parametrize(
    ("program", "name"),
    [
        (_program(step="self.shared.append(loss)"), "self.shared"),
        (_program(callback="self.losses.append(module.last)"), "self.losses"),
    ],
    ids=["a list on a class", "a callback"],
)
def test_a_record_that_only_a_library_holds(program: str, name: str, tmp_path: Path, torch_as_it_was: None) -> None:
    (finding,) = watch_source(program, tmp_path).findings
    assert (finding.code, finding.bridge.name) == ("AFT301", name)


def test_a_librarys_private_names_are_no_names(tmp_path: Path, torch_as_it_was: None) -> None:
    """The module is reached through the trainer alone: no variable of the program's holds it when it is looked for."""
    step = "self.state = loss + (self.state * loss if hasattr(self, 'state') else 0); loss = self.state"
    call = "trainer, model = main()\ntake = [model]\ndel model\ntrainer.fit(take.pop(), 20)"
    seen = watch_source(_program(step=step, call=call), tmp_path)
    assert [finding.bridge.name for finding in seen.findings] == ["self.state"]
    names = {leaf.name for history in seen.session.histories for leaf in history.leaves}
    assert names
    assert not any("_module" in name or "_opt" in name for name in names)


@pytest.mark.parametrize("call", [UNNAMED, "trainer, model = main()\ntrainer.fit(model, 20)"])
def test_a_correct_program_is_left_alone(call: str, tmp_path: Path, torch_as_it_was: None) -> None:
    step, callback = "self.shared.append(loss.item())", "self.losses.append(module.last.item())"
    assert watch_source(_program(step=step, callback=callback, call=call), tmp_path).findings == []


LAYER = """
import torch

class Leaky(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.mem = torch.zeros(1)

    def detach_state(self):
        self.mem = self.mem.detach()

    def reset_parameters(self):
        raise AssertionError

    def forward(self, x):
        self.mem = 0.9 * self.mem.sigmoid() + x
        return torch.tanh(self.mem)
"""

SPIKING = """
import aft_layers
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), aft_layers.Leaky(), torch.nn.Linear(8, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(12):
    {reset}
    loss = net(torch.randn(3, 4)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


MEMORY = """
import torch

class Memory(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = torch.nn.GRUCell(4, 8)
        self.register_buffer("kept", torch.zeros(3, 8))

    def detach(self):
        self.kept.detach_()

    def forward(self):
        return self.kept[[1, 2]]

    def renew(self, x):
        self.kept[[1, 2]] = self.gru(x, self.kept[[1, 2]])
"""

GRAPHS = """
import aft_memory
torch.manual_seed(0)
memory, head = aft_memory.Memory(), torch.nn.Linear(8, 1)
opt = torch.optim.SGD([*memory.parameters(), *head.parameters()], lr=0.1)
for step in range(12):
    {reset}
    loss = head(memory()).pow(2).mean()
    memory.renew(torch.randn(2, 4))
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


def test_a_memory_that_was_renewed_after_the_loss_has_its_name_too(tmp_path: Path, torch_as_it_was: None) -> None:
    folder = tmp_path / "site-packages" / "aft_memory"
    folder.mkdir()
    (folder / "__init__.py").write_text(MEMORY)
    try:
        (finding,) = watch_source(GRAPHS.format(reset="pass"), tmp_path).findings
        assert (finding.code, finding.bridge.name) == ("AFT201", "memory.kept")
        remedy = finding.remedies[0]
        assert (remedy.kind, remedy.form, remedy.statement) == ("detach_state", "own_reset", "memory.detach()")
        assert watch_source(GRAPHS.format(reset=remedy.statement), tmp_path, "fine.py").findings == []
    finally:
        sys.modules.pop("aft_memory", None)


MEMORIES = """
import torch

class Node(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self._memories = {"v": 0.0}

    def __getattr__(self, name):
        if "_memories" in self.__dict__ and name in self._memories:
            return self._memories[name]
        return super().__getattr__(name)

    def __setattr__(self, name, value):
        if "_memories" in self.__dict__ and name in self._memories:
            self._memories[name] = value
        else:
            super().__setattr__(name, value)

    def forward(self, x):
        self.v = (0.9 * torch.as_tensor(self.v)).sigmoid() + x
        return torch.tanh(self.v)
"""


def test_what_a_module_gives_out_as_an_attribute_is_named_as_one(tmp_path: Path, torch_as_it_was: None) -> None:
    """It keeps its state in a private dictionary, as spikingjelly's layers do, and answers for it by `__getattr__`."""
    folder = tmp_path / "site-packages" / "aft_nodes"
    folder.mkdir()
    (folder / "__init__.py").write_text(MEMORIES)
    program = SPIKING.replace("aft_layers.Leaky", "aft_nodes.Node").replace("aft_layers", "aft_nodes")
    try:
        (finding,) = watch_source(program.format(reset="pass"), tmp_path).findings
        assert (finding.code, finding.bridge.name) == ("AFT103", "net[1].v")
        fine = program.format(reset="net[1].v = torch.as_tensor(net[1].v).detach()")
        assert watch_source(fine, tmp_path, "fine.py").findings == []
    finally:
        sys.modules.pop("aft_nodes", None)


def test_the_state_of_a_librarys_layer_has_a_name_and_its_own_reset(tmp_path: Path, torch_as_it_was: None) -> None:
    folder = tmp_path / "site-packages" / "aft_layers"
    folder.mkdir()
    (folder / "__init__.py").write_text(LAYER)
    try:
        (finding,) = watch_source(SPIKING.format(reset="pass"), tmp_path).findings
        assert (finding.code, finding.bridge.name) == ("AFT103", "net[1].mem")
        remedy = finding.remedies[0]
        assert (remedy.kind, remedy.form, remedy.statement) == ("detach_state", "own_reset", "net[1].detach_state()")
        fine = SPIKING.format(reset=remedy.statement)
        assert watch_source(fine, tmp_path, "fine.py").findings == []
    finally:
        sys.modules.pop("aft_layers", None)
