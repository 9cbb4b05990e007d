"""Plant faults in correct programs, and ask `run`, `check` and `fix` about each.

    python tools/plant.py --count 300                # a sample, the same for the same --seed
    python tools/plant.py                            # all of them; goes on where it was stopped
    python tools/plant.py --operator drop-detach --program gan --keep build/planted

The truth is the program as it was: a fix is right when the patched program computes the same bits. The answers are kept
in build/plant; `--again` asks again, and keeps what the mutants compute, which does not depend on afterward.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path

from plantlab import asking, forking, generated, programs, table
from plantlab.asking import Asked, Mutant
from plantlab.operators import OPERATORS, plant
from plantlab.programs import Program

ROOT = Path(__file__).parent.parent
LEFT_OUT = ("same", "broken")
MOST = 4  # mutants of one operator in one program: a long program is not to outweigh the others


def everything(options: argparse.Namespace) -> Iterator[Program]:
    yield from programs.of_the_gallery()
    for folder in (options.cases, ROOT / "tests" / "cases"):
        if folder.is_dir():
            yield from programs.of_cases(folder)
    yield from programs.of_folder(generated.written(options.build / "generated"), "generated")
    yield from programs.of_folder(options.public, "public")


def mutants(options: argparse.Namespace) -> list[Mutant]:
    """In an order that is the same in every run, and mixes operators and programs."""
    found: list[Mutant] = []
    for program in everything(options):
        if options.program and not any(word in program.name for word in options.program.split(",")):
            continue
        of_program: dict[str, list[Mutant]] = {}
        for file in program.places:
            try:
                planted = list(plant(program.files[file].read_text(encoding="utf-8")))
            except (SyntaxError, UnicodeDecodeError):
                continue
            for name, one in planted:
                of_program.setdefault(name, []).append(Mutant(program, file, name, one.lines, one.text))
        for name, made in of_program.items():
            if not options.operator or name in options.operator.split(","):
                random.Random(f"{program.name}{name}").shuffle(made)
                found += made[:MOST]
    found.sort(key=lambda mutant: mutant.id)
    random.Random(options.seed).shuffle(found)
    return found


def balanced(found: list[Mutant], count: int) -> list[Mutant]:
    """So many, of each operator about as many as of the others."""
    by_operator: dict[str, list[Mutant]] = {name: [] for name in OPERATORS}
    for mutant in found:
        by_operator[mutant.operator].append(mutant)
    chosen: list[Mutant] = []
    while len(chosen) < count and any(by_operator.values()):
        for waiting in by_operator.values():
            if waiting:
                chosen.append(waiting.pop(0))
    return chosen[:count]


@lru_cache(maxsize=64)
def _right(program: Program) -> asking.Right | None:
    return asking.right(program)


def _one(work: tuple[Mutant, dict[str, str] | None, Path | None]) -> Asked:
    mutant, known, keep = work
    began = time.monotonic()
    blank = Asked(mutant.id, mutant.program.name, mutant.file, mutant.operator, mutant.lines, "broken")
    if known is not None and known["kind"] in LEFT_OUT:
        blank.kind, blank.error = known["kind"], known["error"]
        return blank
    right = _right(mutant.program)
    if right is None:
        blank.error = "the program itself fails, varies or takes too long"
        return blank
    kind, error = (known["kind"], known["error"]) if known is not None else asking.kind_of(mutant, right)
    if kind in LEFT_OUT:
        blank.kind, blank.error = kind, error
        return blank
    asked = asking.ask(mutant, right, kind, error, keep)
    asked.seconds = time.monotonic() - began
    return asked


def _read(path: Path) -> dict[str, dict[str, object]]:
    if not path.exists():
        return {}
    lines = (json.loads(line) for line in path.read_text().splitlines() if line.endswith("}"))
    return {line["id"]: line for line in lines}


def _bar(done: int, of: int, began: float, live: int) -> str:
    filled = round(30 * done / max(of, 1))
    left = (time.monotonic() - began) / max(done, 1) * (of - done)
    return f"\r[{'#' * filled}{'.' * (30 - filled)}] {done}/{of}, {live} faults, {left / 60:.0f} min left "


def asked_about(options: argparse.Namespace, found: list[Mutant]) -> list[Asked]:
    """Ask about all that were not asked about yet, and write each answer down at once."""
    options.build.mkdir(parents=True, exist_ok=True)
    truths, answers = options.build / "truth.jsonl", options.build / "asked.jsonl"
    if options.again:
        answers.unlink(missing_ok=True)
    known, done = _read(truths), _read(answers)
    waiting = [m for m in found if m.id not in done]
    results = [Asked(**done[m.id]) for m in found if m.id in done]  # type: ignore[arg-type]
    live = sum(r.kind not in LEFT_OUT for r in results)
    began = time.monotonic()
    work = [(m, known.get(m.id), options.keep) for m in waiting]
    forking.load()
    with multiprocessing.get_context("fork").Pool(options.jobs) as pool:
        for number, asked in enumerate(pool.imap_unordered(_one, work), 1):
            results.append(asked)
            live += asked.kind not in LEFT_OUT
            with answers.open("a") as file:
                file.write(json.dumps(asdict(asked)) + "\n")
            if asked.id not in known:
                with truths.open("a") as file:
                    file.write(json.dumps({"id": asked.id, "kind": asked.kind, "error": asked.error}) + "\n")
            if sys.stderr.isatty() or number % 20 == 0 or number == len(work):
                print(_bar(number, len(work), began, live), end="", file=sys.stderr, flush=True)
            if options.verbose:
                print(_line(asked), flush=True)
    print(file=sys.stderr)
    return results


def _line(asked: Asked) -> str:
    if asked.kind in LEFT_OUT:
        return f"{asked.kind:10s} {asked.id} {asked.error}"
    told = f"run {','.join(asked.run) or '-'} check {','.join(asked.check) or '-'} fix {asked.fix} {asked.result}"
    return f"{'WRONG' if table.is_wrong(asked) else asked.kind:10s} {asked.id}: {told} ({asked.remedy})"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=0, help="so many, of each operator about as many")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--operator", default="", help="only these, with commas between them")
    parser.add_argument("--program", default="", help="only programs whose name contains one of these")
    parser.add_argument("--cases", type=Path, default=ROOT.parent / "shared" / "cases")
    parser.add_argument(
        "--public",
        type=Path,
        default=ROOT / "build" / "public",
        help="a folder of further correct programs: files, or folders with a train.py",
    )
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "plant", help="where answers are kept")
    parser.add_argument("--keep", type=Path, help="leave each mutant, with what was said and written, in this folder")
    parser.add_argument("--again", action="store_true", help="ask again about those that were asked about")
    parser.add_argument("--page", type=Path, help="write the table into this page")
    parser.add_argument("-v", "--verbose", action="store_true", help="a line for each")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # ends the pool, too
    found = mutants(options)
    asked = asked_about(options, balanced(found, options.count) if options.count else found)
    live = [a for a in asked if a.kind not in LEFT_OUT]
    print(table.plain(live))
    left = len(asked) - len(live)
    print(f"{len(asked)} mutants; {left} change nothing, or are no programs any more, and are left out")
    if options.page is not None:
        from plantlab.page import written

        written(options.page, live, left, options.seed if options.count else None)
    return 0


if __name__ == "__main__":
    sys.exit(main())
