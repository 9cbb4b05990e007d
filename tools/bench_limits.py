"""What the extremes cost: programs of a kind that has broken a recorder before, plain and under `run`.

    python tools/bench_limits.py [NAMES ...]

Each must end as it does plainly, and may take so many seconds of processor time and so much memory more.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

CAUGHT = """
import torch
x = torch.ones(2, requires_grad=True)
loss = (x * x).sum()
loss.backward()
count = 0
for _ in range(2_000):
    try:
        loss.backward()
    except RuntimeError:
        count += 1
print(count)
"""
SITES = """
import torch
x = torch.ones(2, requires_grad=True)
source = "x.grad = None\\n(x * x).sum().backward()\\n" * 10_000
open("sites.py", "w").write("from __main__ import x\\n" + source)
import sites
print(x.grad)
"""
RELOADED = """
import importlib
open("part.py", "w").write("".join(f"def f{n}(x):\\n    y = x + {n}\\n    return y\\n" for n in range(100)))
import part
for _ in range(300):
    importlib.reload(part)
print(part.f7(1))
"""
DEEP = """
import torch
x = torch.ones(2, requires_grad=True)
def down(n):
    if n:
        return down(n - 1)
    loss = (x * x).sum()
    loss.backward()
    loss.backward()
try:
    down(900)
except RuntimeError as error:
    depth, entry = 0, error.__traceback__
    while entry is not None:
        depth, entry = depth + 1, entry.tb_next
    print(depth)
"""
DROPPED = """
import torch
def train():
    weight, state = torch.randn(4, requires_grad=True), torch.zeros(4)
    for step in range(2):
        for tick in range(30_000):
            state = torch.tanh(state * weight + 0.1)
        state.sum().backward()
try:
    train()
except RuntimeError as error:
    print(type(error).__name__)
print("end")
"""


class Extreme(NamedTuple):
    program: str
    seconds: float
    mebibytes: float


EXTREMES = {
    "2,000 caught errors": Extreme(CAUGHT, 3, 60),
    "10,000 statements that call backward()": Extreme(SITES, 10, 150),
    "a module of 100 functions, reloaded 300 times": Extreme(RELOADED, 1, 60),
    "an error in 900 calls": Extreme(DEEP, 2, 60),
    "a graph of 180,000 nodes, caught and dropped": Extreme(DROPPED, 5, 250),
}


def measured(folder: Path, words: list[str]) -> tuple[int, str, float, float]:
    """(exit status, output, seconds of processor time, MiB at most) of the program, with these words before it."""
    with (folder / "output.txt").open("w") as output:
        child = subprocess.Popen(
            [sys.executable, *words, "program.py"], cwd=folder, stdout=output, stderr=subprocess.DEVNULL,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    return (
        child.returncode,
        (folder / "output.txt").read_text(),
        used.ru_utime + used.ru_stime,
        used.ru_maxrss / 1024,
    )


def main() -> int:
    failed = False
    print(f"{'':48} {'plain':>8} {'more':>8} {'wanted':>8} {'more':>10} {'wanted':>8}")
    for name, extreme in EXTREMES.items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            (folder / "program.py").write_text(extreme.program)
            plain = measured(folder, [])
            ours = measured(folder, ["-m", "afterward", "run"])
        seconds, memory = ours[2] - plain[2], ours[3] - plain[3]
        same = plain[:2] == ours[:2]
        failed |= not same or seconds > extreme.seconds or memory > extreme.mebibytes
        times = f"{plain[2]:6.1f} s {seconds:6.1f} s {extreme.seconds:6.0f} s"
        figures = f"{times} {memory:6.0f} MiB {extreme.mebibytes:4.0f} MiB"
        print(f"{name:48} {figures}{'' if same else '  ENDS OTHERWISE'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
