"""Asks `run` and `check` about the same programs, and follows PyTorch's advice where one of them says what it would do.

    python tools/agree_engines.py [--count N] [--seed S] [--jobs J] [--log FILE] [FOLDER ...]

The programs: the cases of the folders, the shipped examples, and N random ones. Prints each finding on which the
engines differ, each sentence about `retain_graph=True` that did not come true, and how many there were of each. What
the log holds already is not asked again; `--only NAME` prints a random program and asks about it alone. `--effects`
does what each remedy of `run` says instead, and compares the gradients with what the remedy says of them.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from multiprocessing import get_context
from pathlib import Path

from enginelab import advice, effects
from enginelab.differences import unexplained
from enginelab.programs import KINDS, Source, cases, examples, named, names
from enginelab.reports import Finding, ask, loud, placed, summary
from plantlab import forking

TROUBLES = ("differ", "advice wrong", "effect wrong", "one engine failed", "the comparison failed")


@dataclass
class Row:
    """What was asked about one program and what came of it."""

    name: str
    counts: dict[str, int] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    def count(self, what: str, line: str = "") -> None:
        self.counts[what] = self.counts.get(what, 0) + 1
        self.lines += [f"{self.name}: {line}"] if line else []

    @property
    def troubles(self) -> int:
        return sum(self.counts.get(what, 0) for what in TROUBLES)


def compare(name: str, source: Source | None) -> Row:
    row = Row(name)
    row.count("programs")
    with placed(named(name) if source is None else source) as folder:
        reports = [ask(mode, folder) for mode in ("run", "check")]
        if None in reports:
            row.count("one engine failed", "no report")
        watched, read = (loud(report) for report in reports)
        _engines(row, watched, read)
        for engine, findings in (("run", watched), ("check", read)):
            for found in findings:
                _advice(row, engine, folder, found)
    return row


def follow(name: str, source: Source | None) -> Row:
    """The remedies of the program's findings, each done: are the gradients what its effect says?"""
    row = Row(name)
    row.count("programs")
    with placed(named(name) if source is None else source) as folder:
        for outcome, line in effects.judged(folder):
            row.count(outcome, line)
    return row


def _engines(row: Row, watched: list[Finding], read: list[Finding]) -> None:
    if not watched or not read:
        row.count("seen by run alone" if watched else "seen by check alone" if read else "seen by neither")
        return
    ours, theirs = summary(watched[0]), summary(read[0])
    apart = {key: (ours[key], theirs[key]) for key in ours if ours[key] != theirs[key]}
    new = unexplained(row.name, apart)
    row.count(
        "differ" if new else "differ as listed, each with its reason" if apart else "agree", str(new) if new else ""
    )
    for key in new:
        row.count(f"differ in {key}")


def _advice(row: Row, engine: str, folder: Path, found: Finding) -> None:
    if found.get("retain_graph") is None:
        return
    after = advice.follow(folder, found)
    if after is None:
        row.count("advice not followed")
        return
    wrong = advice.contradicts(found, after)
    row.count("advice wrong" if wrong else "advice as said", f"({engine}) {found['code']} {wrong}" if wrong else "")


Asking = Callable[[str, Source | None], Row]


def _compare(work: tuple[Asking, str, Source | None, float]) -> Row | None:
    asking, name, source, until = work
    if time.monotonic() > until:
        return None
    try:
        return asking(name, source)
    except Exception as error:  # one program is no reason to lose the others
        return Row(name, {"the comparison failed": 1}, [f"{name}: {error!r}"])


def rows(asking: Asking, work: list[tuple[str, Source | None]], jobs: int, seconds: float) -> Iterator[Row]:
    """One row for each program; none for those that the time did not last for."""
    until = time.monotonic() + seconds
    given = [(asking, name, source, until) for name, source in work]
    if jobs == 1:
        yield from (row for row in map(_compare, given) if row is not None)
        return
    with get_context("fork").Pool(jobs) as pool:
        yield from (row for row in pool.imap_unordered(_compare, given) if row is not None)


def kept(log: Path | None) -> list[Row]:
    lines = log.read_text(encoding="utf-8").splitlines() if log is not None and log.is_file() else []
    return [Row(**json.loads(line)) for line in lines]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--count", type=int, default=0, help="random programs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--kind", action="append", choices=KINDS, help="which random programs; all in turn if not given"
    )
    parser.add_argument("--examples", action="store_true", help="the shipped examples too")
    parser.add_argument("--effects", action="store_true", help="instead: do each remedy, and compare the gradients")
    parser.add_argument("--jobs", type=int, default=1, help="processes that ask at the same time")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no program after so many seconds")
    parser.add_argument(
        "--log", type=Path, help="a file of rows: what it holds is not asked again, what is new is added"
    )
    parser.add_argument("--only", action="append", default=[], help="the random program of this name, printed")
    options = parser.parse_args()
    forking.load(fixing=options.effects)
    work: list[tuple[str, Source | None]] = [*cases(options.folders), *(examples() if options.examples else ())]
    work += [(name, None) for name in names(tuple(options.kind or KINDS), options.count, options.seed)]
    for name in options.only:
        print(named(name))
        work.append((name, None))
    done = kept(options.log)
    known = {row.name for row in done}
    counts = Counter[str]()
    for row in done:
        counts.update(row.counts)
    asking = follow if options.effects else compare
    for row in rows(asking, [each for each in work if each[0] not in known], options.jobs, options.seconds):
        counts.update(row.counts)
        for line in row.lines:
            print(line, flush=True)
        if options.log is not None:
            with options.log.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(row)) + "\n")
    for what, number in sorted(counts.items()):
        print(f"{number:8,}  {what}")
    return 1 if any(counts[what] for what in TROUBLES) else 0


if __name__ == "__main__":
    sys.exit(main())
