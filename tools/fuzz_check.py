"""Checks mutated real files: none may crash the check or cost more statements than the budget, memory stays small.

    python tools/fuzz_check.py [20000] [--seed 0] [--jobs 2] [FOLDER ...]

Without a folder it mutates the programs of this checkout. A mutation moves, doubles, drops or cuts lines, puts another
number, name or text in the place of one, takes a piece of another file, or damages bytes. What fails is written to
`build/fuzz/`, ready to be checked again.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import resource
import sys
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from afterward.interpret import Outcome
from afterward.tasks import check_file

ROOT = Path(__file__).resolve().parent.parent
STATEMENTS = 120_000  # of one file, in all its runs: the budgets of `interpret` added up
MEMORY = 1_000_000  # kilobytes of one process
LARGE = ("10**12", "-10**9", "1e308", "0", "-1", "10**5000", "float('nan')", "'x' * 10**9", "[0] * 10**9", "None")


@dataclass
class Done:
    """What came of some mutated files."""

    files: int = 0
    most: int = 0  # statements of one file
    slowest: float = 0.0
    memory: int = 0
    wrong: list[tuple[str, bytes]] = field(default_factory=list)


# Mutations of a list of lines


def _drop(lines: list[bytes], rng: random.Random, other: list[bytes]) -> None:
    start = rng.randrange(len(lines))
    del lines[start : start + rng.randint(1, 4)]


def _double(lines: list[bytes], rng: random.Random, other: list[bytes]) -> None:
    start = rng.randrange(len(lines))
    lines[start:start] = lines[start : start + rng.randint(1, 6)]


def _move(lines: list[bytes], rng: random.Random, other: list[bytes]) -> None:
    lines.insert(rng.randrange(len(lines)), lines.pop(rng.randrange(len(lines))))


def _splice(lines: list[bytes], rng: random.Random, other: list[bytes]) -> None:
    if other:
        start, place = rng.randrange(len(other)), rng.randrange(len(lines))
        lines[place:place] = other[start : start + rng.randint(1, 12)]


def _cut(lines: list[bytes], rng: random.Random, other: list[bytes]) -> None:
    del lines[rng.randrange(len(lines)) :]


def _indent(lines: list[bytes], rng: random.Random, other: list[bytes]) -> None:
    place = rng.randrange(len(lines))
    lines[place] = rng.choice((b"    " + lines[place], lines[place].lstrip(), b"\t" + lines[place]))


def _number(lines: list[bytes], rng: random.Random, other: list[bytes]) -> None:
    place = rng.randrange(len(lines))
    lines[place] = re.sub(rb"\b\d+\b", rng.choice(LARGE).encode(), lines[place], count=1)


def _name(lines: list[bytes], rng: random.Random, other: list[bytes]) -> None:
    """Another word of the file in the place of one: a name becomes its own argument, container, class."""
    words = re.findall(rb"[A-Za-z_]\w+", b" ".join(rng.sample(lines, min(len(lines), 20)))) or [b"x"]
    place = rng.randrange(len(lines))
    mine = re.findall(rb"[A-Za-z_]\w+", lines[place])
    if mine:
        lines[place] = lines[place].replace(rng.choice(mine), rng.choice(words), 1)


def _bytes(lines: list[bytes], rng: random.Random, other: list[bytes]) -> None:
    place = rng.randrange(len(lines))
    cut = rng.randrange(len(lines[place]) + 1)
    lines[place] = lines[place][:cut] + bytes([rng.randrange(256)]) + lines[place][cut:]


MUTATIONS: tuple[Callable[[list[bytes], random.Random, list[bytes]], None], ...] = (
    _drop, _double, _move, _splice, _cut, _indent, _number, _number, _name, _name, _name, _bytes,
)  # fmt: skip


def mutated(data: bytes, other: bytes, rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    for _ in range(rng.choice((1, 1, 2, 4, 8))):
        if lines:
            rng.choice(MUTATIONS)(lines, rng, other.split(b"\n"))
    return b"\n".join(lines)


# Checking


def check_some(files: list[str], count: int, seed: int) -> Done:
    """Mutate and check, one process."""
    rng, done = random.Random(seed), Done()
    os.environ["AFTERWARD_STRICT"] = "1"  # a fault of ours is an exception, not a gap
    interpret = check_file.interpret_file
    spent = [0]

    def counting(*args: object, **kwargs: object) -> Outcome:
        outcome: Outcome = interpret(*args, **kwargs)  # type: ignore[arg-type]
        spent[0] = outcome.statements
        return outcome

    check_file.interpret_file = counting  # type: ignore[assignment]
    for _ in range(count):
        file = rng.choice(files)
        data = mutated(Path(file).read_bytes(), Path(rng.choice(files)).read_bytes(), rng)
        spent[0], begin = 0, time.process_time()
        try:
            check_file.check_bytes(file, data, check_file.Shared(), alone=rng.random() < 0.1)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            done.wrong.append((f"{file}: {traceback.format_exc()}", data))
        if spent[0] > STATEMENTS:
            done.wrong.append((f"{file}: {spent[0]} statements", data))
        done.files += 1
        done.most = max(done.most, spent[0])
        done.slowest = max(done.slowest, time.process_time() - begin)
    done.memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return done


def sources(folders: list[Path]) -> list[str]:
    """Files worth mutating: those that speak of a pass."""
    found = [str(file) for folder in folders for file in sorted(folder.rglob("*.py")) if file.is_file()]
    return [file for file in found if b"backward" in Path(file).read_bytes() and os.path.getsize(file) < 200_000]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, nargs="?", default=20_000)
    parser.add_argument(
        "folders", type=Path, nargs="*", default=[ROOT / "tests" / "cases", ROOT / "src", ROOT / "examples"]
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_intermixed_args()  # folders may come after the options
    files = sources(options.folders)
    share = 200  # files of one task: a process that has done it is replaced, so that memory is that of one task
    seeds = range(options.seed * 1_000_003, options.seed * 1_000_003 + (options.count + share - 1) // share)
    everything = Done()
    with ProcessPoolExecutor(options.jobs) as pool:
        for done in pool.map(check_some, [files] * len(seeds), [min(share, options.count)] * len(seeds), seeds):
            everything.files += done.files
            everything.most = max(everything.most, done.most)
            everything.slowest = max(everything.slowest, done.slowest)
            everything.memory = max(everything.memory, done.memory)
            everything.wrong += done.wrong
    kept = ROOT / "build" / "fuzz"
    for number, (why, data) in enumerate(everything.wrong[:50]):
        kept.mkdir(parents=True, exist_ok=True)
        (kept / f"{number}.py").write_bytes(data)
        print(f"{kept.relative_to(ROOT)}/{number}.py: {why}", file=sys.stderr)
    print(
        f"{everything.files:,} mutated files of {len(files):,}: {len(everything.wrong)} wrong; at most "
        f"{everything.most:,} statements and {everything.slowest:.1f} s of processor time for a file, "
        f"{everything.memory // 1024} MB"
    )
    return 1 if everything.wrong or everything.memory > MEMORY else 0


if __name__ == "__main__":
    sys.exit(main())
