"""Run random programs on the model and on PyTorch and compare every fact.

    python tools/agree.py 100000 --seed 0 --jobs 2

Prints progress and the rate; at the first disagreement the shrunk program, as data and as Python, and exits
with 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import ExitStack
from multiprocessing import get_context

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis.strategies import integers

from lifelab.compare import Tally, combined, compare, compare_pair, retained, twice
from lifelab.on_torch import quiet
from lifelab.programs import Apply, Program
from lifelab.running import statements
from lifelab.source import to_source
from lifelab.strategies import programs

CHUNK = 1000


class Found(Exception):
    """A disagreement, with the smallest program that shows it."""

    def __init__(self, program: Program, error: str) -> None:
        super().__init__(program, error)
        self.program = program
        self.error = error


def check(program: Program, kind: int, tally: Tally) -> None:
    """One program, and one program like it whose gradients may be the same."""
    first = compare(program, tally)
    for statement in statements(program):
        if isinstance(statement, Apply):
            tally.operations.add(statement.operation)
        else:
            name = getattr(statement, "mode", type(statement).__name__)
            if getattr(statement, "create", False):
                name += " with create_graph"
            tally.features[name] = tally.features.get(name, 0) + 1
    if kind < 3:
        variant = (retained, combined, twice)[kind](program)
        compare_pair(program, variant, first, tally)


def agree(count: int, start: int, tally: Tally, shrink: bool = True, progress: bool = False, jobs: int = 1) -> None:
    """Raise Found if one of so many random programs tells model and torch apart."""
    began = time.monotonic()
    work = [(min(CHUNK, count - at), start * 1_000_003 + at, shrink) for at in range(0, count, CHUNK)]
    done = 0
    with ExitStack() as stack:
        if jobs > 1:
            pool = stack.enter_context(get_context("spawn").Pool(jobs))
            results = pool.imap_unordered(_chunk, work)
        else:
            results = map(_chunk, work)
        for part, found in results:
            if found is not None:
                raise found
            tally.add(part)
            done += CHUNK
            if progress:
                _show(min(done, count), count, tally, time.monotonic() - began)


def _chunk(work: tuple[int, int, bool]) -> tuple[Tally, Found | None]:
    quiet()
    tally = Tally()
    try:
        _some(*work[:2], tally, work[2])
    except Found as found:
        return tally, found
    return tally, None


def _some(count: int, start: int, tally: Tally, shrink: bool) -> None:
    last: list[Program] = []

    @seed(start)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink] if shrink else [Phase.generate],
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
        print_blob=False,
        report_multiple_bugs=False,
    )
    @given(programs(), integers(0, 5))
    def run(program: Program, kind: int) -> None:
        last[:] = [program]
        check(program, 5 - kind, tally)

    try:
        run()
    except Exception as error:
        if not last:
            raise
        raise Found(last[0], f"{type(error).__name__}: {error}") from error


def _show(done: int, count: int, tally: Tally, seconds: float) -> None:
    width = 30
    filled = width * done // count
    bar = "#" * filled + "." * (width - filled)
    rate = tally.programs / seconds
    left = (count - done) / rate if rate else 0
    end = "\r" if sys.stderr.isatty() else "\n"
    print(
        f"[{bar}] {done}/{count}  {rate:.0f} programs/s  {left:.0f} s left ",
        end=end,
        file=sys.stderr,
        flush=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("count", type=int, nargs="?", default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--no-shrink", action="store_true")
    options = parser.parse_args()
    tally = Tally()
    began = time.monotonic()
    try:
        agree(options.count, options.seed, tally, not options.no_shrink, progress=True, jobs=options.jobs)
    except Found as found:
        print(f"\n{found.error}\n")
        print(f"PROGRAM = {found.program!r}\n")
        print(to_source(found.program, guarded=False))
        return 1
    seconds = time.monotonic() - began
    print(f"{tally.programs} programs agree, {tally.programs / seconds:.0f} a second, {seconds:.0f} s")
    print(f"{tally.statements} statements, {tally.nodes} nodes, {len(tally.operations)} different operations")
    print("passes: " + ", ".join(f"{k} {v}" for k, v in sorted(tally.passes.items())))
    print("refused while building: " + ", ".join(f"{k} {v}" for k, v in sorted(tally.refusals.items())))
    print("written: " + ", ".join(f"{k} {v}" for k, v in sorted(tally.features.items())))
    print(f"pairs called equal and equal: {tally.pairs_equal}; doubled and doubled: {tally.pairs_doubled}")
    print(f"statements the model does not model, left out on both sides: {tally.left_out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
