"""Run random programs, printed as Python, and compare what happens with what `afterward check` says of them.

    python tools/agree_check.py 5000 --seed 0

Prints how often which was the case; at the first wrong prediction the shrunk program, and exits with 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from hypothesis import HealthCheck, Phase, given, seed, settings

from lifelab.on_check import verdict, what_happens, what_is_said
from lifelab.on_torch import quiet
from lifelab.source import to_source
from lifelab.strategies import programs


def agree(count: int, start: int, counts: Counter[str], shrink: bool = True) -> None:
    """Fail with the smallest program that is predicted wrongly, if there is one."""
    began = time.monotonic()

    @seed(start)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink] if shrink else [Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(programs())
    def compare(program: object) -> None:
        text = to_source(program)
        found = verdict(text)
        counts[found] += 1
        done = sum(counts.values())
        if sys.stderr.isatty() and done % 50 == 0:
            rate = done / (time.monotonic() - began)
            print(f"\r{done:,} programs, {rate:.0f} a second", end="", file=sys.stderr, flush=True)
        assert found != "WRONG", f"said: {what_is_said(text)}, happens: {what_happens(text)}\n{text}"

    compare()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, nargs="?", default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    quiet()
    counts: Counter[str] = Counter()
    try:
        agree(options.count, options.seed, counts)
    except AssertionError as error:
        print(f"\n{error}")
        return 1
    for what, number in counts.most_common():
        print(f"{number:8,}  {what}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
