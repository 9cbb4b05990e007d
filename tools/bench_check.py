"""How fast `afterward check` reads a tree: cold, and again with its cache; side by side with other linters.

    python tools/bench_check.py FOLDER [--with "ruff check --no-cache --quiet"] [--with "torchfix"]

Times are of whole processes, in turns, best of three; the tree is read once beforehand so that all find it in memory.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def timed(command: list[str], folder: Path, environment: dict[str, str]) -> float:
    begin = time.perf_counter()
    subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    return time.perf_counter() - begin


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--with", dest="others", action="append", default=[], metavar="COMMAND")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    files = [file for file in options.folder.rglob("*.py") if file.is_file()]
    size = sum(len(file.read_bytes()) for file in files)
    print(f"{len(files)} files, {size / 1e6:.1f} MB, {os.cpu_count()} cores")
    ours = [sys.executable, "-m", "afterward", "check", "--format", "concise", "."]
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "AFTERWARD_CACHE": cache}
        commands = {"afterward, cold": [*ours[:-1], "--no-cache", "."], "afterward, again": ours}
        commands |= {other: [*shlex.split(other), "."] for other in options.others}
        timed(ours, options.folder, environment)  # fills the cache
        best = dict.fromkeys(commands, float("inf"))
        for _ in range(options.rounds):
            for name, command in commands.items():
                best[name] = min(best[name], timed(command, options.folder, environment))
    for name, seconds in best.items():
        print(f"{name:30s} {seconds:7.2f} s  {len(files) / seconds:8.0f} files/s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
