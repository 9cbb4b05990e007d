"""Checks the memory account on a GPU: against torch's own saved-tensor hooks, and against the allocator.

    PYTHONPATH=src python tools/memory_on_gpu.py [--device cuda]

Three networks are trained for a few steps under `afterward run --memory`. The bytes that the account names must be
those that the hooks count in a run of their own, and lie within five percent of what the allocator gave out between the
end of a step and the next backward. Needs nothing but torch.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

NETWORKS = {
    "linear": """
    network = nn.Sequential(*[layer for _ in range(24) for layer in (nn.Linear(1024, 1024), nn.GELU())])
    shape = (8192, 1024)
""",
    "convolution": """
    def block():
        return nn.Sequential(nn.Conv2d(64, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU())
    network = nn.Sequential(*[block() for _ in range(16)])
    shape = (64, 64, 48, 48)
""",
    "attention": """
    layer = nn.TransformerEncoderLayer(512, 8, 2048, dropout=0.1, batch_first=True)
    network = nn.TransformerEncoder(layer, 8, enable_nested_tensor=False)
    shape = (32, 256, 512)
""",
}

PROGRAM = """
import contextlib, json, sys
import torch
from torch import nn

DEVICE, COUNT = sys.argv[1], sys.argv[2] == "count"
storages, parameters = {}, set()

def pack(tensor):
    storage = tensor.untyped_storage()
    storages[storage.data_ptr()] = storage.nbytes()
    return tensor

def build():
%s
    return network.to(DEVICE), shape

torch.manual_seed(0)
network, shape = build()
parameters = {p.untyped_storage().data_ptr() for p in network.parameters()}
optimizer = torch.optim.SGD(network.parameters(), lr=1e-4)
given = torch.randn(shape, device=DEVICE)
counted = []
for step in range(4):
    optimizer.zero_grad()
    hooks = torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t) if COUNT else contextlib.nullcontext()
    storages.clear()
    if DEVICE != "cpu":
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
    with hooks:
        output = network(given)
        loss = output.square().mean()
    saved = sum(size for at, size in storages.items() if at not in parameters)
    own = sum(size for at, size in storages.items() if at == given.untyped_storage().data_ptr())
    figures = {"saved": saved, "given": own}
    if DEVICE != "cpu":
        figures["grown"] = torch.cuda.memory_allocated() - before
        figures["peak"] = torch.cuda.max_memory_allocated() - before
    counted.append(figures)
    loss.backward()
    optimizer.step()
    storages.clear()
    del output, loss
if COUNT:
    print(json.dumps(counted[-1]))
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    import torch

    print(f"torch {torch.__version__}, {torch.cuda.get_device_name() if device != 'cpu' else 'cpu'}")
    print(f"{'network':12} {'account':>14} {'hooks':>14} {'allocator':>14} {'in the report':>14}  account / allocator")
    with tempfile.TemporaryDirectory() as folder:
        for name, text in NETWORKS.items():
            _check(name, Path(folder) / f"{name}.py", PROGRAM % text.rstrip(), device)
    print("all figures agree")
    return 0


def _check(name: str, program: Path, source: str, device: str) -> None:
    from afterward.model.memory import Memory

    program.write_text(source)
    memory = _account(program, device)
    counted = _counted(program, device)
    assert isinstance(memory, Memory)
    assert memory.bytes == counted["saved"], (memory.bytes, counted)
    assert memory.not_counted == memory.unplaced == 0, memory
    line = f"{name:12} {memory.bytes:>14,} {counted['saved']:>14,}"
    if device == "cpu":
        print(line)
        return
    # The input was there before the forward pass: the allocator did not give it out anew.
    fresh = memory.bytes - counted["given"]
    figures = memory.allocator
    assert figures is not None
    reported = figures.at_pass - figures.before
    print(f"{line} {counted['grown']:>14,} {reported:>14,}  {fresh / counted['grown']:.4f}, {fresh / reported:.4f}")
    assert abs(fresh / counted["grown"] - 1) < 0.05, (fresh, counted)
    assert abs(fresh / reported - 1) < 0.05, (fresh, figures)
    print(f"{'':12} the allocator's peak within the forward pass: {counted['peak']:,} ({fresh / counted['peak']:.4f})")


def _account(program: Path, device: str) -> object:
    """What `afterward run --memory` would report."""
    from afterward.tasks.run import run

    sys.path.insert(0, "")
    outcome = run(str(program), [device, "account"], prepare=lambda watched: watched.session.keep_account())
    assert outcome.error is None, outcome.error
    return outcome.report.memory


def _counted(program: Path, device: str) -> dict[str, int]:
    """The same program by itself, its saved tensors counted by torch's own hooks."""
    import subprocess

    done = subprocess.run([sys.executable, str(program), device, "count"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    sys.exit(main())
