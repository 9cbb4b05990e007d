"""Write every kind of edit into thousands of files, in memory, and check what must hold of a patch.

    python tools/edit_properties.py [--files N] [--generated N] [--seed S] [--jobs J] [FOLDER ...]

Files come from the standard library, site-packages and each FOLDER (a checkout, also a git directory without a work
tree); programs are generated. On each, made-up faults ask for each kind of remedy; each patch must parse, change
nothing outside its edits by a byte, have a diff that leads there and back, and not be made twice. Prints counts and
the rate; exits with 1 at a broken patch.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import sysconfig
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from afterward.errors import SourceUnreadable
from afterward.repair import _KINDS as KINDS
from afterward.repair import Workshop, candidates
from afterward.repair.source import Source
from editlab.faults import Faults, grafted
from editlab.programs import program
from editlab.properties import TRIES, broken, repeated

LARGEST = 24_000  # characters: a larger file takes seconds to read for each patch
FAULTS = 2  # of each kind, on each file
TWICE = 4  # patches of one file that are asked for again


@dataclass
class Tally:
    """What came of some files."""

    files: int = 0
    unread: int = 0
    patches: Counter[str] = field(default_factory=Counter)
    again: int = 0
    wrong: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.files += other.files
        self.unread += other.unread
        self.patches += other.patches
        self.again += other.again
        self.wrong += other.wrong


def examine(name: str, text: str, seed: int, twice: int = TWICE) -> Tally:
    """Every kind of remedy on one text."""
    tally = Tally(files=1)
    chance = random.Random(f"{seed} {name}")
    if chance.random() < 0.2 and "\r" not in text:
        text = text.replace("\n", "\r\n")
    try:
        source = Source("m.py", grafted(text, chance))
    except (SourceUnreadable, RecursionError):
        return Tally(unread=1)
    if not source.statements:
        return tally
    faults = Faults(source, chance)
    shop = Workshop({source.file: source.text}, {source.file: source})
    made = []
    for kind in KINDS:
        for _ in range(FAULTS):
            found, remedy = faults.draw(kind)
            for patch, _ in zip(candidates(shop, found, remedy), range(TRIES), strict=False):
                if patch.applied({source.file: source.text})[source.file] == source.text:
                    continue
                tally.patches[kind] += 1
                wrong = broken(source, patch)
                if wrong is not None:
                    tally.wrong.append(f"{name}: {patch.kind}: {patch.form}: {wrong}")
                else:
                    made.append((patch, found, remedy))
    for patch, found, remedy in chance.sample(made, min(twice, len(made))):
        tally.again += 1
        wrong = repeated(source, patch, found, remedy)
        if wrong is not None:
            tally.wrong.append(f"{name}: {patch.kind}: {patch.form}: {wrong}")
    return tally


def examine_one(task: tuple[str, str, int]) -> Tally:
    """A file by its path, a blob of a git directory, or a generated program by its number."""
    kind, name, seed = task
    try:
        if kind == "generated":
            return examine(f"program {name}", program(int(name)), seed)
        return examine(name, _text(name), seed)
    except (OSError, UnicodeDecodeError, subprocess.CalledProcessError):
        return Tally(unread=1)
    except Exception as error:  # a remedy that trips over real code is a fault of ours as well
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(last.filename).name}:{last.lineno}"
        return Tally(files=1, wrong=[f"{name}: {type(error).__name__}: {error} ({place})"])


def _text(name: str) -> str:
    if "::" in name:
        folder, blob = name.split("::")
        command = ["git", "--git-dir", folder, "cat-file", "blob", f"HEAD:{blob}"]
        return subprocess.run(command, capture_output=True, check=True).stdout.decode()
    return Path(name).read_bytes().decode()


def files_below(folder: str) -> Iterator[str]:
    """The Python files of a folder or of a git directory, those that are too large left out."""
    if os.path.isfile(os.path.join(folder, "HEAD")):
        command = ["git", "--git-dir", folder, "ls-tree", "-r", "-l", "--full-tree", "HEAD"]
        for line in subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines():
            facts, _, name = line.partition("\t")
            size = facts.split()[3]
            if name.endswith(".py") and size.isdigit() and 200 < int(size) < LARGEST:
                yield f"{folder}::{name}"
        return
    for here, folders, names in os.walk(folder):
        folders.sort()
        if "HEAD" in names and "objects" in folders:
            folders.clear()
            yield from files_below(here)
            continue
        for name in sorted(names):
            path = os.path.join(here, name)
            if name.endswith(".py") and not os.path.islink(path) and 200 < os.path.getsize(path) < LARGEST:
                yield path


def chosen(options: argparse.Namespace) -> list[tuple[str, str, int]]:
    """A sample of all files, the given folders' first, and as many generated programs as asked for."""
    paths = sysconfig.get_paths()
    library = sorted({paths["stdlib"], paths["purelib"], paths["platlib"]})
    groups = [sorted(set(files_below(folder))) for folder in options.folders]
    groups.append(sorted({file for folder in library for file in files_below(folder)}))
    chance = random.Random(options.seed)
    named = [file for group in groups[:-1] for file in group]
    share = min(len(named), options.files * 2 // 3)
    files = chance.sample(named, share) + chance.sample(groups[-1], min(len(groups[-1]), options.files - share))
    tasks = [("file", file, options.seed) for file in files]
    tasks += [("generated", str(options.seed * 1_000_000 + n), options.seed) for n in range(options.generated)]
    chance.shuffle(tasks)
    return tasks


def told(tally: Tally, began: float) -> str:
    patches = sum(tally.patches.values())
    rate = patches / (time.monotonic() - began)
    return f"{patches:,} patches, {rate:.0f} a second; {tally.again:,} asked for again; {len(tally.wrong):,} broken"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", metavar="FOLDER")
    parser.add_argument("--files", type=int, default=4000)
    parser.add_argument("--generated", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    tasks, tally, began = chosen(options), Tally(), time.monotonic()
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    with ProcessPoolExecutor(options.jobs) as pool, Progress(*columns, console=Console(stderr=True)) as bar:
        shown = bar.add_task("", total=len(tasks))
        for each in pool.map(examine_one, tasks, chunksize=8):
            tally.add(each)
            bar.update(shown, advance=1, description=told(tally, began))
            done = tally.files + tally.unread
            if not bar.console.is_terminal and done % 250 == 0:
                print(f"{done:,} of {len(tasks):,} files: {told(tally, began)}", file=sys.stderr, flush=True)
            for wrong in each.wrong:
                bar.console.print(wrong, markup=False, highlight=False, soft_wrap=True)
    print(f"{tally.files:,} files ({tally.unread:,} more could not be read), {time.monotonic() - began:.0f} s")
    print(told(tally, began))
    for kind, count in tally.patches.most_common():
        print(f"{count:10,}  {kind}")
    return 1 if tally.wrong or not tally.patches else 0


if __name__ == "__main__":
    sys.exit(main())
