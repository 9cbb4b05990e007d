"""Asks `run` and `check` about the same programs, and follows PyTorch's advice where one of them says what it would do.

    python tools/agree_engines.py [--count N] [--seed S] [FOLDER ...]

The programs: the cases of the folders, the shipped examples, and N random ones. Prints each finding on which the
engines differ, each sentence about `retain_graph=True` that did not come true, and how many there were of each.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import afterward
from enginelab import advice
from enginelab.differences import unexplained
from enginelab.reports import Finding, ask, loud, placed, summary
from plantlab import forking


def cases(folders: list[Path]) -> Iterator[tuple[str, Path | str]]:
    for folder in folders:
        for file in sorted(folder.glob("*/buggy.py")):
            yield file.parent.name, file.parent


def examples() -> Iterator[tuple[str, Path | str]]:
    """The shipped programs that are wrong."""
    gallery = Path(afterward.__file__).parent / "gallery"
    for file in sorted(gallery.glob("*/wrong.py")):
        yield file.parent.name, file.read_text(encoding="utf-8")


def random_programs(count: int, seed: int) -> Iterator[tuple[str, Path | str]]:
    """Random programs that end in one of autograd's errors."""
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded

    from lifelab.generate import programs
    from lifelab.on_check import what_happens
    from lifelab.on_torch import quiet
    from lifelab.source import to_source

    quiet()
    texts: list[str] = []

    @seeded(seed)
    @settings(
        max_examples=count * 12, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(programs())
    def gather(program: object) -> None:
        if len(texts) < count:
            text = to_source(program)
            happens = what_happens(text)
            if happens is not None and happens[1] in ("second_backward", "inplace"):
                texts.append(text)

    gather()
    for number, text in enumerate(texts):
        yield f"random-{seed}-{number}", text


class Tally:
    """What was asked and what came of it."""

    def __init__(self, verbose: bool) -> None:
        self.counts: Counter[str] = Counter()
        self.verbose = verbose

    def compare(self, name: str, source: Path | str) -> None:
        with placed(source) as folder:
            watched, read = loud(ask("run", folder)), loud(ask("check", folder))
            self.counts["programs"] += 1
            before = self.troubles()
            self._engines(name, watched, read)
            for engine, findings in (("run", watched), ("check", read)):
                for found in findings:
                    self._advice(f"{name} ({engine})", folder, found)
            if (
                self.counts["differ"] + self.counts["advice wrong"] > before
                and self.verbose
                and isinstance(source, str)
            ):
                print(source)

    def troubles(self) -> int:
        return self.counts["differ"] + self.counts["advice wrong"]

    def _engines(self, name: str, watched: list[Finding], read: list[Finding]) -> None:
        if not watched or not read:
            self.counts["seen by run alone" if watched else "seen by check alone" if read else "seen by neither"] += 1
            return
        ours, theirs = summary(watched[0]), summary(read[0])
        apart = {key: (ours[key], theirs[key]) for key in ours if ours[key] != theirs[key]}
        new = unexplained(name, apart)
        self.counts["differ" if new else "differ as listed, each with its reason" if apart else "agree"] += 1
        for key in new:
            self.counts[f"differ in {key}"] += 1
        if new:
            print(f"{name}: {new}", flush=True)

    def _advice(self, name: str, folder: Path, found: Finding) -> None:
        if found.get("retain_graph") is None:
            return
        after = advice.follow(folder, found)
        if after is None:
            self.counts["advice not followed"] += 1
            return
        wrong = advice.contradicts(found, after)
        self.counts["advice wrong" if wrong else "advice as said"] += 1
        if wrong:
            print(f"{name}: {found['code']} {wrong}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--count", type=int, default=0, help="random programs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--examples", action="store_true", help="the shipped examples too")
    parser.add_argument("--verbose", action="store_true", help="print the random programs that differ")
    options = parser.parse_args()
    forking.load()
    tally = Tally(options.verbose)
    for name, source in cases(options.folders):
        tally.compare(name, source)
    for name, source in examples() if options.examples else ():
        tally.compare(name, source)
    for name, source in random_programs(options.count, options.seed) if options.count else ():
        tally.compare(name, source)
    for what, number in sorted(tally.counts.items()):
        print(f"{number:8,}  {what}")
    return 1 if tally.troubles() else 0


if __name__ == "__main__":
    sys.exit(main())
