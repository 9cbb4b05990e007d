"""Runs `fix` on faulty programs with a hand-made fix, and compares what the patched program has trained.

    python tools/bench_fix.py [--only NAME] tests/trained/first.txt tests/trained/second.txt

A program begins with `### name`. A line that begins with `-| ` is in the faulty program alone, one with `+| ` in the
right one, one with `2| ` in another right one. `params` is what is compared.
"""

from __future__ import annotations

import argparse
import ast
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from afterward.errors import AfterwardError
from afterward.tasks import files
from afterward.tasks.fix import Fixer
from afterward.tasks.trial import Request
from afterward.tasks.trial_runner import TrialRunner
from plantlab import forking

HEAD = "import torch\nfrom torch import nn\n\ntorch.manual_seed(0)\n"
TAIL = '\nprint("RESULT", [v for p in params for v in p.detach().flatten().tolist()])\n'
CLOSE = 1e-4  # the order of additions may differ
_RUNNER: list[TrialRunner] = []

Case = tuple[str, str]  # name, text


def _begin() -> None:
    os.chdir("/")
    forking.load()
    _RUNNER.append(TrialRunner())


def cases(file: Path) -> Iterator[Case]:
    for block in file.read_text(encoding="utf-8").split("### ")[1:]:
        name, text = block.split("\n", 1)
        yield name.strip(), text.rstrip()


def version(text: str, mark: str) -> str:
    """The program with the lines of one mark."""
    lines = [line for line in text.splitlines() if line[1:3] != "| " or line[0] == mark]
    return HEAD + "\n".join(line[3:] if line[1:3] == "| " else line for line in lines) + TAIL


def trained(folder: Path, text: str) -> list[float] | None:
    """What a program has trained; None where it fails."""
    (folder / "run.py").write_text(text, encoding="utf-8")
    forking.forked(lambda: forking.as_main("run.py"), folder, 60, folder / "printed.txt")
    for line in (folder / "printed.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("RESULT "):
            return list(ast.literal_eval(line.removeprefix("RESULT ")))
    return None


def same(one: list[float] | None, other: list[float] | None) -> bool:
    if one is None or other is None or len(one) != len(other):
        return False
    return all(abs(a - b) <= CLOSE * max(abs(a), abs(b)) + 1e-6 for a, b in zip(one, other, strict=True))


def judge(case: Case) -> tuple[str, str]:
    """(name, "restored", "proven and wrong", "no proven patch" or "not found")."""
    name, text = case
    marks = sorted({line[0] for line in text.splitlines() if line[1:3] == "| "} - {"-"}) or ["+"]
    with tempfile.TemporaryDirectory(prefix="trained-") as place:
        folder = Path(place)
        target = folder / "train.py"
        target.write_text(version(text, "-"), encoding="utf-8")
        try:
            result = Fixer(_RUNNER[0], Request("train.py", folder=place), shown=False).fix()
        except AfterwardError:
            return name, "not found"
        if not result.options:
            return name, "no proven patch" if result.report.findings else "not found"
        files.write(result.originals, result.options[0])
        got = trained(folder, target.read_text(encoding="utf-8"))
        right = any(same(got, trained(folder, version(text, mark))) for mark in marks)
        return name, "restored" if right else "proven and wrong"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    wanted = [case for file in options.files for case in cases(file) if options.only in case[0]]
    counts: Counter[str] = Counter()
    with ProcessPoolExecutor(options.jobs, get_context("spawn"), _begin) as pool:
        for name, verdict in pool.map(judge, wanted):
            counts[verdict] += 1
            print(f"{verdict:18s} {name}", flush=True)
    print(", ".join(f"{verdict}: {count}" for verdict, count in counts.most_common()), f"of {len(wanted)}")
    return 1 if counts["proven and wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
