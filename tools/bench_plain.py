"""What watching costs code that builds no graph: a sieve, a tokenizer, a grid world, plain and watched.

    python tools/bench_plain.py [ROUNDS]

Each round runs the programs plain, under `run`, after `install()`, and plain once more (the control), one after the
other; the figure is the ratio of the smallest processor times. Works with any Python from 3.10 on, without torch.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = """
import random, time

def sieve(n):
    flags = bytearray([1]) * (n + 1)
    for i in range(2, int(n ** 0.5) + 1):
        if flags[i]:
            for j in range(i * i, n + 1, i):
                flags[j] = 0
    return sum(flags)

def tokenize(text):
    tokens, i, n = [], 0, len(text)
    while i < n:
        c = text[i]
        if c.isspace():
            i += 1
            continue
        start = i
        if c.isalpha():
            while i < n and text[i].isalnum():
                i += 1
            tokens.append(("name", text[start:i]))
        elif c.isdigit():
            while i < n and text[i].isdigit():
                i += 1
            tokens.append(("number", int(text[start:i])))
        else:
            tokens.append(("op", c))
            i += 1
    return tokens

class Grid:
    def __init__(self, n):
        self.n = n
        self.reset()
    def reset(self):
        self.x = self.y = self.steps = 0
    def step(self, action):
        dx, dy = ((0, 1), (0, -1), (1, 0), (-1, 0))[action]
        self.x = min(max(self.x + dx, 0), self.n - 1)
        self.y = min(max(self.y + dy, 0), self.n - 1)
        self.steps += 1
        done = self.x == self.n - 1 and self.y == self.n - 1
        reward = 1.0 if done else -0.01
        if done or self.steps > 200:
            self.reset()
        return (self.x, self.y), reward, done

def walk(n):
    draw, env, total = random.Random(0), Grid(8), 0.0
    for _ in range(n):
        state, reward, done = env.step(draw.randrange(4))
        total += reward
    return total

TEXT = "for x in range(100): total += value1 * 42 - alpha\\n" * 800
for work in (lambda: sieve(400_000), lambda: tokenize(TEXT), lambda: walk(30_000)):
    times = []
    for _ in range(7):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    print(min(times))
"""
NAMES = ("a sieve", "a tokenizer", "a grid world's step")


INSTALLED = "import afterward\nafterward.install()\n"


def times(folder: Path, by: str) -> list[float]:
    program = folder / "plain.py"
    program.write_text((INSTALLED if by == "install()" else "") + PROGRAM)
    command = [sys.executable, *(["-m", "afterward", "run"] if by == "run" else []), str(program)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    return [float(line) for line in done.stdout.split()]


def best(rounds: list[list[float]]) -> list[float]:
    return [min(each) for each in zip(*rounds, strict=True)]


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    ways = ("plain", "run", "install()", "control")
    rounds: dict[str, list[list[float]]] = {way: [] for way in ways}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(count):
            for way in ways:
                rounds[way].append(times(Path(folder), way))
    print(f"Python {sys.version.split()[0]}, processor time beside plain Python")
    found = {way: best(each) for way, each in rounds.items()}
    for number, name in enumerate(NAMES):
        plain = found["plain"][number]
        beside = "   ".join(f"{way} {found[way][number] / plain:.2f}x" for way in ways[1:])
        print(f"  {name:22} {plain * 1000:7.1f} ms   {beside}")


if __name__ == "__main__":
    main()
