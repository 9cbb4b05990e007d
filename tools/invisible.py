"""Runs programs that look at themselves, plain and watched, and prints what differs.

python tools/invisible.py [NAMES ...] [--jobs N] [--by run,watch,install] [--sample N --seed N] [--folder DIR]
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.invisible.coexisting_programs import COEXISTING  # noqa: E402
from tests.invisible.programs import ARRANGED, BESIDE, PLAIN, TYPED, Beside  # noqa: E402
from tests.invisible.torch_programs import TORCH  # noqa: E402

LOOKING = ROOT / "tests" / "invisible" / "looking"  # one program a file
TIMEOUT = 300
SAME, KNOWN, OTHER, UNSTEADY = "same", "by design", "other", "differs from itself"
BY_DESIGN = {  # docs/reliability.md has a row for each of these reasons
    "code_equality": "marks", "consts_and_bytecode": "marks", "marshal_bytes": "marks", "trace_opcodes": "marks",
    "traceback_objects": "marks", "modules_listed": "sys.modules", "segfault": "sys.modules",
    "gc_callbacks_counts": "marks", "torch_memory_of_graph": "a gradient that was read",
    "null_byte": "Python's two parsers",
}  # fmt: skip
# Without the note on an error: it differs by design, and would hide what else does. Processes that the program starts
# are not watched.
START = """import os, sys
sys.path.remove({hook!r})
os.environ.pop("PYTHONPATH") if {known!r} is None else os.environ.update(PYTHONPATH={known!r})
from afterward.integrations import program
program.note_text = None
"""
STARTS = {
    "install": START + "program.install()\n",
    "watch": START + "watch = program.watch()\nwatch.__enter__()\n",
}


@dataclass(frozen=True)
class Behaviour:
    """What one run of a program showed."""

    status: int
    out: str
    err: str
    files: tuple[str, ...]


def in_folder(folder: Path) -> dict[str, Beside]:
    """The programs of a folder, one a file, by name."""
    return {
        one.stem: Beside({"main.py": one.read_text()}, stdin=TYPED.get(one.stem, ""))
        for one in sorted(folder.glob("*.py"))
    }


def programs() -> dict[str, Beside]:
    """All programs, by name."""
    found: dict[str, Beside] = {}
    for name, source in {**PLAIN, **TORCH}.items():
        beside = BESIDE.get(name, Beside())
        found[name] = Beside({**beside.files, "main.py": source}, beside.argv, stdin=beside.stdin)
    return {**found, **in_folder(LOOKING), **ARRANGED, **COEXISTING, **_training()}


def _training() -> dict[str, Beside]:
    """The case collection: programs that train, each faulty once and once put right."""
    found: dict[str, Beside] = {}
    for main in sorted((ROOT / "tests" / "cases").glob("*/*.py")):
        if main.name in ("buggy.py", "fixed.py"):
            files = {one.name: one.read_text() for one in main.parent.glob("*.py")}
            found[f"{main.parent.name}/{main.stem}"] = Beside(files, (main.name,))
    return found


def arrange(program: Beside, folder: Path) -> None:
    for name, text in program.files.items():
        if program.archive:
            with zipfile.ZipFile(folder / program.archive, "a") as archive:
                archive.writestr(name, text)
        else:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(text.encode())
    for name, target in program.links.items():
        (folder / name).symlink_to(target)


def behaviour(program: Beside, by: str) -> Behaviour:
    """Run a program in a fresh folder, plainly or watched."""
    with tempfile.TemporaryDirectory() as temporary:
        base = Path(os.path.realpath(temporary))
        folder = base / "program"
        folder.mkdir()
        arrange(program, folder)
        done = subprocess.run(
            [sys.executable, *program.flags, *_command(by, base), *program.argv],
            cwd=folder, input=program.stdin, capture_output=True, text=True, errors="replace", timeout=TIMEOUT,
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", **_hook(by, base), **program.environment},
        )  # fmt: skip
        files = tuple(sorted(str(one.relative_to(folder)) for one in folder.rglob("*")))
    return Behaviour(done.returncode, _same(done.stdout, base), _same(_theirs(done.stderr), base), files)


def _command(by: str, base: Path) -> list[str]:
    if by != "run":
        return []
    return ["-m", "afterward", "run", "--out", str(base / "report.txt")]


def _hook(by: str, base: Path) -> dict[str, str]:
    """Where the program is watched by a call: one that Python makes before the program begins."""
    if by not in STARTS:
        return {}
    hook, known = base / "hook", os.environ.get("PYTHONPATH")
    hook.mkdir()
    (hook / "sitecustomize.py").write_text(STARTS[by].format(hook=str(hook), known=known))
    return {"PYTHONPATH": os.pathsep.join([str(hook), *([known] if known else [])])}


def _theirs(text: str) -> str:
    """What the program itself has printed: without our lines at the end."""
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith(("afterward: ", "USDT:")))


def _same(text: str, base: Path) -> str:
    """Addresses, counts of references, times and the folder's name differ from run to run."""
    return re.sub(
        r"0x[0-9a-f]{6,}|(?<=object refcount : )\d+|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \d+:\d+|(?<=\[W)\d{4} [\d:.]+",
        "0x",
        text.replace(str(base), "BASE"),
    )


def differences(name: str, program: Beside, by: str) -> Iterator[str]:
    yield from between(behaviour(program, "plain"), behaviour(program, by))


def between(plain: Behaviour, watched: Behaviour) -> Iterator[str]:
    """What differs, in words."""
    if plain.status != watched.status:
        yield f"status {plain.status}, not {watched.status}"
    for what in ("out", "err"):
        one, other = getattr(plain, what).splitlines(), getattr(watched, what).splitlines()
        if one != other:
            pairs = [*zip(one, other, strict=False), *((line, "(no line)") for line in one[len(other) :])]
            pairs += [("(no line)", line) for line in other[len(one) :]]
            first = next(pair for pair in pairs if pair[0] != pair[1])
            yield f"{what}: {first[0][:90]!r}, not {first[1][:90]!r}"
    if plain.files != watched.files:
        yield f"files: {sorted(set(plain.files) ^ set(watched.files))}"


def tried(program: Beside, ways: list[str]) -> dict[str, list[str]]:
    """What differs by each way of watching. What differs from itself as well, run twice plainly, tells nothing."""
    found: dict[str, list[str]] = {}
    try:
        plain = behaviour(program, "plain")
        found = {by: list(between(plain, behaviour(program, by))) for by in ways}
        if any(found.values()) and list(between(plain, behaviour(program, "plain"))):
            return {by: [UNSTEADY] for by in ways}
    except subprocess.TimeoutExpired:
        return {by: found.get(by, ["took too long"]) for by in ways}
    return found


def _kind(name: str, found: list[str]) -> str:
    if not found:
        return SAME
    return UNSTEADY if found == [UNSTEADY] else KNOWN if name in BY_DESIGN else OTHER


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--by", default="run,watch,install", help="the ways of watching, with commas")
    parser.add_argument("--sample", type=int, default=0, help="so many of them, drawn at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="the programs of this folder, instead of ours")
    options = parser.parse_args()
    known_ones = in_folder(options.folder) if options.folder else programs()
    chosen = {name: one for name, one in known_ones.items() if not options.names or name in options.names}
    if options.sample:
        chosen = dict(random.Random(options.seed).sample(sorted(chosen.items()), options.sample))
    ways = options.by.split(",")
    counts = {by: Counter[str]() for by in ways}
    with ThreadPoolExecutor(options.jobs) as pool:
        for name, results in zip(chosen, pool.map(lambda one: tried(one, ways), chosen.values()), strict=True):
            for by, found in results.items():
                kind = _kind(name, found)
                counts[by][kind] += 1
                if found:
                    said = f" (by design: {BY_DESIGN[name]})" if kind == KNOWN else ""
                    print(f"| {by} | {name}{said} | {'; '.join(found)} |", flush=True)
    for by, each in counts.items():
        print(
            f"{each[SAME]} of {len(chosen)} programs are the same under `{by}` as under Python, {each[KNOWN]} "
            f"differ by design, {each[UNSTEADY]} from themselves, {each[OTHER]} otherwise"
        )
    return 1 if any(each[OTHER] for each in counts.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
