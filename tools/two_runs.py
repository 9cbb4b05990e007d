"""Runs each program twice, with other hashes: the reports must be the same to the letter.

    python tools/two_runs.py [--count N] [--seed S] [--jobs J] [FOLDER ...]

The programs: the cases of the folders, the shipped examples that are wrong, and N random ones.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from enginelab.programs import KINDS, Source, cases, examples, named, names
from enginelab.reports import placed

LIMIT = 300  # seconds for one run


def report(source: Source, hashes: str) -> str:
    with placed(source) as folder:
        out = folder.parent / "report.json"
        words = [sys.executable, "-m", "afterward", "run", "--format", "json", "--out", str(out), "buggy.py"]
        environment = {**os.environ, "PYTHONHASHSEED": hashes}
        done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, timeout=LIMIT)
        written = out.read_text(encoding="utf-8") if out.is_file() else ""
        return (written + done.stdout.decode() + done.stderr.decode()).replace(str(folder), "")


def apart(work: tuple[str, Source]) -> tuple[str, bool, bool]:
    """The name, whether anything was found, and whether the two reports differ."""
    first, second = (report(work[1], hashes) for hashes in ("1", "2"))
    return work[0], '"AFT' in first, first != second


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    work = [*cases(options.folders), *examples()]
    work += [(name, named(name)) for name in names(KINDS, options.count, options.seed)]
    with ThreadPoolExecutor(options.jobs) as pool:
        told = list(pool.map(apart, work))
    differ = [name for name, _, differs in told if differs]
    print(f"{len(told)} programs, {sum(found for _, found, _ in told)} with a finding, {len(differ)} differ", *differ)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
