"""How long the post-mortem of a graph of a hundred thousand nodes takes, beside building that graph and its backward.

    python tools/bench_postmortem.py [NODES]

Three shapes: one deep chain, a recurrent cell whose state is carried over, a network whose outputs are summed. Each
fails in a second pass. The time is the processor's: what is measured is ours and torch's work, not the machine's load.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

CHAIN = """
    weight, state = torch.randn(4, requires_grad=True), torch.zeros(4)
    for step in range(2):
        with timed():
            for tick in range(NODES // 6):
                state = torch.tanh(state * weight + 0.1)
            loss = state.sum()
            loss.backward()
"""
CARRIED = """
    cell, head, state = torch.nn.GRUCell(4, 4), torch.nn.Linear(4, 1), torch.zeros(1, 4)
    for step in range(2):
        with timed():
            total = 0
            for tick in range(NODES // 37):
                state = cell(torch.randn(1, 4), state)
                total = total + head(state).pow(2).mean()
            total.backward()
"""
SUMMED = """
    layers = [layer for _ in range(20) for layer in (torch.nn.Linear(4, 4), torch.nn.ReLU())]
    model, x, total = torch.nn.Sequential(*layers), torch.randn(8, 4), 0
    with timed():
        for step in range(NODES // 62):
            total = total + model(x).mean()
        total.backward()
    total.backward()
"""
SHAPES = {"one deep chain": CHAIN, "a state carried over": CARRIED, "a sum of outputs": SUMMED}

PROGRAM = """
    import sys, time
    from contextlib import contextmanager

    import torch

    import afterward
    from afterward.observe.recording import looks

    NODES = {nodes}
    spent, examine = [], looks.examine

    @contextmanager
    def timed():
        began = time.process_time()
        yield
        spent.append(time.process_time() - began)

    def examine_timed(*args, **kwargs):
        began = time.process_time()
        history = examine(*args, **kwargs)
        print(len(history.nodes), sum(spent), time.process_time() - began)
        return history

    looks.examine = examine_timed
"""


def measure(shape: str, nodes: int) -> tuple[int, float, float]:
    """(nodes of the failing graph, seconds that the program spent on its good passes, seconds of the post-mortem)."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "program.py")
        source = textwrap.dedent(PROGRAM.format(nodes=nodes)) + textwrap.dedent(shape)
        program.write_text(source, encoding="utf-8")
        command = [sys.executable, "-m", "afterward", "run", str(program)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    figures = done.stdout.split()
    if len(figures) != 3:
        raise SystemExit(f"no post-mortem was made:\n{done.stderr}")
    return int(figures[0]), float(figures[1]), float(figures[2])


def main() -> int:
    nodes = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    print(f"{'graph':24} {'nodes':>8} {'post-mortem':>12} {'the program':>12} {'ratio':>6}")
    for name, shape in SHAPES.items():
        met, program, ours = measure(shape, nodes)
        print(f"{name:24} {met:8,} {ours:10.2f} s {program:10.2f} s {ours / program:6.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
