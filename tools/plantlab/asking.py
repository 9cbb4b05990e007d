"""One mutant: what it computes, and what `run`, `check` and `fix` make of it."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from plantlab import truth
from plantlab.forking import afterward, as_main, forked
from plantlab.programs import ENTRY, Program

RUN_LIMIT = 40.0  # seconds; a program that takes longer is no program for this bench
FIX_LIMIT = 240.0
LONGEST = 8.0  # seconds of the right program itself
NEAR = 1  # lines: a statement that is gone has no line of its own
PLACES = ("built", "freed", "reused", "written", "cut")
APART = ("data", "cleared")  # no faults of graph or gradient
OF_AUTOGRAD = ("RuntimeError", "NotImplementedError")  # other errors are those of a clumsy edit


@dataclass
class Asked:
    """What came of one mutant. `kind`: "raises", "otherwise" (other bits), "costs" (same bits, more memory or work),
    "same" and "broken" mutants are no faults and not asked about. Those that break no sentence of the law are: "data"
    (other bits, and no pass or step that the right program has not) and "cleared" (the same bits; gradients for another
    network are produced and cleared unused)."""

    id: str
    program: str
    file: str
    operator: str
    lines: tuple[int, ...]
    kind: str
    error: str = ""
    run: list[str] = field(default_factory=list)  # codes that the right program does not have
    run_at: bool = False
    check: list[str] = field(default_factory=list)
    check_at: bool = False
    fix: str = ""  # "proven", "not proven", "nothing", "failed"
    remedy: str = ""
    result: str = ""  # of what was written: "bits", "close", "draws", "dearer", "other", "raises"
    seconds: float = 0.0


@dataclass(frozen=True)
class Mutant:
    """A program with one of its files changed."""

    program: Program
    file: str
    operator: str
    lines: tuple[int, ...]
    text: str

    @property
    def id(self) -> str:
        digest = hashlib.blake2b(f"{self.file}\0{self.text}".encode(), digest_size=4).hexdigest()
        return f"{self.program.name}.{self.operator}.{digest}"


@contextmanager
def placed(program: Program, changed: dict[str, str]) -> Iterator[Path]:
    """A copy of the program in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="plant-", ignore_cleanup_errors=True) as name:
        folder = Path(name, "program")
        folder.mkdir()
        program.copy(folder, changed)
        yield folder


def recorded(program: Program, changed: dict[str, str], **how: bool) -> truth.Record | None:
    with placed(program, changed) as folder:
        return _recorded(folder, **how)


def _recorded(folder: Path, memory: bool = False, alike: bool = False) -> truth.Record | None:
    result = folder.parent / "record.json"
    result.unlink(missing_ok=True)
    forked(lambda: truth.record(lambda: as_main(ENTRY), result, memory, alike), folder, RUN_LIMIT)
    return truth.load(result)


@dataclass(frozen=True)
class Right:
    """What the right program computes, and what is said of it."""

    bits: truth.Record
    memory: truth.Record | None
    run: Counter[str]
    check: Counter[str]


def right(program: Program) -> Right | None:
    """None: it fails, takes too long, or computes something else in every run."""
    bits, again = recorded(program, {}), recorded(program, {})
    if bits is None or again is None or bits.error or bits.seconds > LONGEST or not truth.same_bits(bits, again):
        return None
    if not bits.steps and not bits.losses:
        return None
    with placed(program, {}) as folder:
        said = (codes(findings(folder, "run")), codes(findings(folder, "check")))
    return Right(bits, recorded(program, {}, memory=True), *said)


def kind_of(mutant: Mutant, right: Right) -> tuple[str, str]:
    """What the planted fault does, and the error it raises."""
    changed = {mutant.file: mutant.text}
    bits = recorded(mutant.program, changed)
    if bits is None:
        return "broken", "took too long"
    if bits.error:
        return ("raises" if bits.error in OF_AUTOGRAD else "broken"), f"{bits.error}: {bits.message}"
    memory = recorded(mutant.program, changed, memory=True)
    if not truth.same_bits(bits, right.bits):
        lawful = truth.same_law(bits, right.bits) and memory is not None and right.memory is not None
        return ("data" if lawful and truth.no_fuller(memory, right.memory) else "otherwise"), ""
    if memory is None or right.memory is None or truth.no_dearer(memory, right.memory):
        return "same", ""
    if truth.clears_more(bits, right.bits):
        return "cleared", ""
    return "costs", ""


def findings(folder: Path, command: str) -> list[dict[str, Any]]:
    words = [command, "--format", "json", "--out", str(folder.parent / f"{command}.json")]
    words += ["--jobs", "1", "--no-cache"] if command == "check" else []
    words += ["--write"] if command == "fix" else []
    forked(lambda: afterward(*words, ENTRY), folder, FIX_LIMIT if command == "fix" else RUN_LIMIT)
    try:
        found: list[dict[str, Any]] = json.loads((folder.parent / f"{command}.json").read_text())["findings"]
    except (OSError, ValueError, KeyError):
        return []
    return found


def codes(found: list[dict[str, Any]]) -> Counter[str]:
    return Counter(finding["code"] for finding in found)


def ask(mutant: Mutant, right: Right, kind: str, error: str, keep: Path | None = None) -> Asked:
    """Put the three questions."""
    asked = Asked(mutant.id, mutant.program.name, mutant.file, mutant.operator, mutant.lines, kind, error)
    with placed(mutant.program, {mutant.file: mutant.text}) as folder:
        for command in ("run", "check"):
            found = findings(folder, command)
            new = list((codes(found) - getattr(right, command)).elements())
            setattr(asked, command, new)
            near = any(f["code"] in new and is_near(f, mutant) for f in found)
            setattr(asked, f"{command}_at", near)
        if kind not in APART:
            _fix(asked, mutant, right, folder)
        if keep is not None:
            _keep(asked, mutant, folder, keep)
    return asked


def is_near(finding: dict[str, Any], mutant: Mutant) -> bool:
    """Does one of its places, or its first change, lie where the fault was planted?"""
    lines: set[int] = set()
    for place in (finding.get(name) for name in PLACES):
        if place and Path(place["file"]).name == Path(mutant.file).name:
            lines |= set(range(place["line"], (place.get("end_line") or place["line"]) + 1))
    for remedy in finding.get("remedies", [])[:1]:
        lines |= _changed_lines(remedy.get("patch") or "", mutant.file)
    return any(abs(line - planted) <= NEAR for line in lines for planted in mutant.lines)


def _changed_lines(patch: str, file: str) -> set[int]:
    lines: set[int] = set()
    number, ours = 0, False
    for line in patch.splitlines():
        if line.startswith("--- "):
            ours = line.rstrip().endswith(Path(file).name)
        elif line.startswith("@@"):
            match = re.match(r"@@ -(\d+)", line)
            number = int(match[1]) if match else 0
        elif ours and not line.startswith("+++"):
            if line.startswith(("-", "+")):
                lines.add(number)
            number += not line.startswith("+")
    return lines


def _fix(asked: Asked, mutant: Mutant, right: Right, folder: Path) -> None:
    before = {name: (folder / name).read_bytes() for name in mutant.program.files}
    found = findings(folder, "fix")
    first = [r for f in found for r in f.get("remedies", [])[:1]]
    proven = [f["remedies"][0] for f in found if _is_proven(f)]
    written = any((folder / name).read_bytes() != data for name, data in before.items())
    if not (folder.parent / "fix.json").exists():
        asked.fix = "failed"
    else:
        more = codes(found) - right.run
        of_its_own = any(f["code"] in more for f in found if _is_proven(f))
        asked.fix = "proven" if written and of_its_own else "not proven" if found else "nothing"
    asked.remedy = ", ".join(r["kind"] for r in (proven or first))
    if asked.fix == "proven":  # else it has cured what is to be found in the right program, too
        bits = _recorded(folder)
        asked.result = judged(bits, right, asked.kind, lambda: _recorded(folder, memory=True))
        if asked.result == "other" and _same_but_for_draws(mutant.program, folder):
            asked.result = "draws"


def _is_proven(finding: dict[str, Any]) -> bool:
    return any((remedy.get("proof") or {}).get("status") == "proven" for remedy in finding.get("remedies", [])[:1])


def _same_but_for_draws(program: Program, folder: Path) -> bool:
    """Does it compute the same once it does not matter in which order random numbers are drawn?"""
    ours, theirs = _recorded(folder, alike=True), recorded(program, {}, alike=True)
    return ours is not None and theirs is not None and truth.same_bits(ours, theirs)


def judged(bits: truth.Record | None, right: Right, kind: str, memory: Any) -> str:
    """Where the fault was what it costs, the patched program must not cost more than the right one."""
    if bits is None or bits.error:
        return "raises"
    if not truth.same_bits(bits, right.bits):
        return "close" if truth.close(bits, right.bits) else "other"
    used = memory() if kind == "costs" else None
    if used is not None and right.memory is not None and not truth.no_dearer(used, right.memory):
        return "dearer"
    return "bits"


def _keep(asked: Asked, mutant: Mutant, folder: Path, keep: Path) -> None:
    """Leave the mutant, what was said and what was written for whoever mends it."""
    place = keep / asked.id
    shutil.rmtree(place, ignore_errors=True)
    mutant.program.copy(place / "mutant", {mutant.file: mutant.text})
    mutant.program.copy(place / "right")
    if asked.fix == "proven":
        shutil.copytree(folder, place / "fixed", ignore=shutil.ignore_patterns("__pycache__", "afterward"))
    for command in ("run", "check", "fix"):
        if (folder.parent / f"{command}.json").exists():
            shutil.copy(folder.parent / f"{command}.json", place)
    (place / "asked.json").write_text(json.dumps(asdict(asked), indent=1))
