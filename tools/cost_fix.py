"""What a proof costs: `fix` on the shipped examples, in runs of the program and in seconds for each change tried.

    python tools/cost_fix.py [--page docs/fix.md]

`--page` writes the table between the two marks of that page. Every run is forked from a process that has torch loaded,
as `fix` itself does for its trials.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import afterward
from afterward.errors import AfterwardError
from afterward.tasks.fix import Fixer
from afterward.tasks.trial import Request
from afterward.tasks.trial_runner import TrialRunner
from plantlab import forking

GALLERY = Path(afterward.__file__).parent / "gallery"
MARKS = "<!-- costs: made by tools/cost_fix.py -->\n", "<!-- end of costs -->\n"
HEAD = (
    "| example | the program alone | changes tried | seconds for each | proven |\n| --- | ---: | ---: | ---: | --- |\n"
)


class Clock:
    """A runner that counts its runs, and the time that they take."""

    def __init__(self, runner: TrialRunner) -> None:
        self.runner, self.seconds = runner, []

    def run(self, *args: object, **kwargs: object) -> object:
        began = time.monotonic()
        try:
            return self.runner.run(*args, **kwargs)  # type: ignore[arg-type]
        finally:
            self.seconds.append(time.monotonic() - began)


def rows(runner: TrialRunner) -> Iterator[str]:
    for wrong in sorted(GALLERY.glob("*/wrong.py")):
        with tempfile.TemporaryDirectory(prefix="cost-") as name:
            folder = Path(name)
            shutil.copy(wrong, folder / "train.py")
            for module in GALLERY.glob("*.py"):
                shutil.copy(module, folder)
            began = time.monotonic()
            forking.forked(lambda: forking.as_main("train.py"), folder, 120, folder / "printed.txt")
            alone = time.monotonic() - began
            clock = Clock(runner)
            try:
                fixed = Fixer(clock, Request("train.py", folder=name), shown=False).fix()  # type: ignore[arg-type]
            except AfterwardError:
                continue
            tried = clock.seconds[1:]
            each = sum(tried) / len(tried) if tried else 0.0
            proven = "yes" if fixed.proven else "no"
            yield f"| {wrong.parent.name} | {alone:.1f} s | {len(tried)} | {each:.1f} s | {proven} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    forking.load()
    table = HEAD
    with TrialRunner() as runner:
        for row in rows(runner):
            print(row, flush=True)
            table += row + "\n"
    if options.page is not None:
        before, _, rest = options.page.read_text(encoding="utf-8").partition(MARKS[0])
        after = rest.partition(MARKS[1])[2]
        options.page.write_text(before + MARKS[0] + table + MARKS[1] + after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
