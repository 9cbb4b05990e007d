"""How fast `afterward check` reads a tree, cold and again, side by side with other linters in one run, as ratios.

    python tools/bench_check.py [FOLDER] [--torchfix PATH] [--ruff PATH] [--rounds 3]

Without a folder it reads part of the torch that is installed. Times are of whole processes, in turns, best of the
rounds (TorchFix, which is slow, runs once); the tree is read once beforehand, so that all find it in memory. On a busy
machine look at processor times: TorchFix works in one process, `check` on all cores.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

PARTS = ("torch/nn", "torch/optim", "torch/distributions", "torch/utils/data", "torch/ao/nn")


def timed(command: list[str], folder: Path, environment: dict[str, str]) -> tuple[float, float]:
    """(seconds on the clock, seconds of processor time of the process and those it started)."""
    begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - begin, spent


def installed(into: Path) -> Path:
    """A copy of some of torch's own files: it lies among the installed packages, where linters do not look."""
    packages = Path(sysconfig.get_paths()["purelib"])
    for part in PARTS:
        for file in (packages / part).rglob("*.py"):
            target = into / file.relative_to(packages)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
    return into


def commands(options: argparse.Namespace) -> dict[str, tuple[list[str], int]]:
    """Name: the command, and how often it is run."""
    ours = [sys.executable, "-m", "afterward", "check", "--format", "concise"]
    found = {
        "afterward check, cold": ([*ours, "--no-cache", "."], options.rounds),
        "afterward check, again": ([*ours, "."], options.rounds),
    }
    beside = Path(sys.executable).parent
    for name, given, words in (
        ("ruff", options.ruff, ["check", "--no-cache", "--quiet"]),
        ("TorchFix", options.torchfix, []),
    ):
        path = (
            os.path.abspath(given)
            if given
            else shutil.which(name.lower(), path=f"{beside}{os.pathsep}{os.environ.get('PATH', '')}")
        )
        if path:
            found[name] = ([path, *words, "."], options.rounds if name == "ruff" else 1)
        else:
            print(f"{name} is not installed: left out", file=sys.stderr)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--torchfix", metavar="PATH")
    parser.add_argument("--ruff", metavar="PATH")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or installed(Path(scratch) / "tree")
        files = [file for file in folder.rglob("*.py") if file.is_file()]
        size = sum(len(file.read_bytes()) for file in files)
        print(
            f"{folder if options.folder else 'torch'}: {len(files)} files, {size / 1e6:.1f} MB, {os.cpu_count()} cores"
        )
        environment = {**os.environ, "AFTERWARD_CACHE": str(Path(scratch) / "cache")}
        todo = commands(options)
        timed(todo["afterward check, again"][0], folder, environment)  # fills the cache
        best = dict.fromkeys(todo, (float("inf"), float("inf")))
        for iteration in range(options.rounds):
            for name, (command, times) in todo.items():
                if iteration < times:
                    taken = timed(command, folder, environment)
                    best[name] = (min(best[name][0], taken[0]), min(best[name][1], taken[1]))
    cold, work = best["afterward check, cold"]
    for name, (seconds, spent) in best.items():
        ratio = f"{seconds / cold:8.2f} x the time of check, cold"
        print(
            f"{name:24s} {seconds:8.2f} s {len(files) / seconds:9.0f} files/s {ratio} ({spent:.2f} s of processor time)"
        )
    if "TorchFix" in best:
        seconds, spent = best["TorchFix"]
        print(
            f"check is {seconds / cold:.1f} times as fast as TorchFix, with 1/{spent / work:.1f} of its processor time"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
