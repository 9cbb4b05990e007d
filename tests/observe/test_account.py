"""The account of saved values agrees with torch: counted again by its own hooks, in a run of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tests.watching import watch_source

from afterward.model.memory import Memory
from afterward.observe.recording.session import Session

NETWORKS = {
    "linear": "torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2)), (4, 8)",
    "convolution": "torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.GELU(), "
    "torch.nn.MaxPool2d(2), torch.nn.Flatten(), torch.nn.Linear(36, 2)), (2, 3, 8, 8)",
    "attention": "torch.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True), (2, 5, 8)",
    "dropout and norm": "torch.nn.Sequential(torch.nn.LayerNorm(8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 8), "
    "torch.nn.Softmax(-1)), (4, 8)",
    "shared layers": "(lambda one: torch.nn.Sequential(one, torch.nn.Tanh(), one, torch.nn.Tanh()))"
    "(torch.nn.Linear(8, 8)), (4, 8)",
}

PROGRAM = """
torch.manual_seed(3)
network, shape = {network}
optimizer = torch.optim.SGD(network.parameters(), lr=0.01)
for step in range(3):
    given = torch.randn(shape)
    with counting(network):
        output = network(given)
        loss = output.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


class _Counting:
    """Torch's own account: every tensor that an operation saves passes through the hook; each storage counts once."""

    sizes: list[int]

    def __init__(self) -> None:
        self.sizes = []

    def __call__(self, network: torch.nn.Module):
        self.storages: dict[int, int] = {}
        self.parameters = {p.untyped_storage().data_ptr() for p in network.parameters()}
        self.hooks = torch.autograd.graph.saved_tensors_hooks(self._pack, lambda tensor: tensor)
        return self

    def _pack(self, tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        self.storages[storage.data_ptr()] = storage.nbytes()
        return tensor

    def __enter__(self) -> None:
        self.hooks.__enter__()

    def __exit__(self, *error: object) -> None:
        self.hooks.__exit__(*error)
        self.sizes.append(sum(size for at, size in self.storages.items() if at not in self.parameters))


def _account(source: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Memory:
    start = Session.start

    def start_counting(session: Session) -> None:
        session.keep_account()
        start(session)

    monkeypatch.setattr(Session, "start", start_counting)
    seen = watch_source(source, folder)
    assert seen.error is None, seen.error
    memory = seen.session.memory()
    assert memory is not None
    assert memory.not_counted == 0
    return memory


@pytest.mark.parametrize("name", NETWORKS)
def test_bytes_agree_with_torch_s_own_count(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, torch_as_it_was: None
) -> None:
    program = PROGRAM.format(network=NETWORKS[name])
    counting = _Counting()
    exec(program, {"torch": torch, "counting": counting})
    nothing = "import contextlib\ncounting = lambda network: contextlib.nullcontext()\n"
    memory = _account(nothing + program, tmp_path, monkeypatch)
    assert memory.bytes == max(counting.sizes)
    assert sum(row.bytes for row in memory.lines) + memory.unplaced == memory.bytes
    assert memory.unplaced == memory.other == 0


def test_each_line_has_what_it_was_first_to_save(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, torch_as_it_was: None
) -> None:
    memory = _account(
        """
def double(x):
    return x + x

weight = torch.ones(1000, requires_grad=True)
for step in range(3):
    a = weight.exp()
    b = a.sin() + double(a).tanh()
    c = (b * b).sum()
    c.backward(retain_graph=True)
    weight.grad = None
""",
        tmp_path,
        monkeypatch,
    )
    # exp saves its result; sin saves that same tensor; tanh saves its result; the product saves `b` (once).
    assert [(row.site.line, row.bytes) for row in sorted(memory.lines, key=lambda row: row.site.line)] == [
        (7, 4000),
        (8, 4000),
        (9, 4000),
    ]
    (only,) = memory.passes
    assert (only.site.line, only.passes, only.retaining, only.most, only.kept) == (10, 3, 3, 12000, 12000)
    # `a`, `b` are variables of the program: those two tensors stay when the graph goes.
    assert sum(row.held_anyway for row in memory.lines) == 8000


def test_other_graphs_that_are_alive_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, torch_as_it_was: None
) -> None:
    memory = _account(
        """
weight, kept = torch.ones(1000, requires_grad=True), []
for step in range(5):
    kept.append(weight.exp().sin().sum())
    (weight * weight).sum().backward()
    weight.grad = None
""",
        tmp_path,
        monkeypatch,
    )
    # The graph of the pass itself saves nothing but the parameter; each kept value holds the result of `exp`.
    assert (memory.bytes, memory.other, memory.site.line, memory.step) == (20000, 20000, 5, 5)
    assert memory.parameters == 4000


def test_what_a_checkpoint_keeps_elsewhere_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, torch_as_it_was: None
) -> None:
    memory = _account(
        """
from torch.utils.checkpoint import checkpoint
layer = torch.nn.Linear(8, 8)
for step in range(2):
    checkpoint(lambda x: layer(x).relu(), torch.randn(4, 8), use_reentrant=False).sum().backward()
    layer.zero_grad()
""",
        tmp_path,
        monkeypatch,
    )
    assert memory.packed > 0
    assert memory.bytes == 0
