"""Runs `fix` over folders of cases: is the right remedy proven, and what does PyTorch's own advice do?

    python tools/prove_cases.py [--jobs N] [--only NAME] [--table docs/retain_graph.md] FOLDER ...

`--table` writes the page about `retain_graph=True` from the proofs.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from afterward.errors import AfterwardError
from afterward.model.diagnosis import Diagnosis, Remedy, Severity
from afterward.render.proofs import proof_text
from afterward.tasks import files
from afterward.tasks.fix import Fixer
from afterward.tasks.trial import Request
from afterward.tasks.trial_runner import TrialRunner
from plantlab import forking

HEAD = """# What `retain_graph=True` does

When a graph is used after it was freed, PyTorch's message ends in advice: "Specify retain_graph=True if you need to
backward through the graph a second time". This page follows that advice on every case of the collection that raises
the error: {total} programs rebuilt from real reports. Each line comes from a proof run of `afterward fix`; the command
`make retain-table` writes the page.

| what following the advice does | programs |
| --- | --- |
{summary}

"Other gradients" compares the gradients of the first three optimizer steps with those of the change that `fix`
recommends. A program whose state is carried over may differ only later.

| program | fault | what the advice does | what `fix` recommends |
| --- | --- | --- | --- |
{rows}
"""


@dataclass
class Told:
    """What came of one case."""

    name: str
    wrong: list[str]
    fault: str = ""
    advice: str = ""
    verdict: str = ""
    recommended: str = ""
    detail: str = ""


_RUNNER: list[TrialRunner] = []  # of this worker process: it has torch loaded


def _begin() -> None:
    os.chdir("/")  # the folder of a case goes when the case is over
    forking.load()
    _RUNNER.append(TrialRunner())


def prove(folder: Path) -> Told:
    """Fix a copy of one case, and compare with its truth."""
    truth = json.loads((folder / "truth.json").read_text())
    with tempfile.TemporaryDirectory(prefix="case-") as name:
        work = Path(name)
        _copy(folder, work, fixed=False)
        return _prove(folder, work, truth)


def _prove(folder: Path, work: Path, truth: dict[str, Any]) -> Told:
    fixer = Fixer(_RUNNER[0], Request("buggy.py", folder=str(work)), shown=False)
    try:
        fixed = fixer.fix()
    except AfterwardError as error:
        return Told(folder.name, [] if not truth["names"] else [str(error)])
    told = Told(folder.name, [])
    if not truth["names"]:
        told.wrong += ["changed"] if fixed.options else []
        return told
    found = _picked(fixed.report.findings, truth["names"])
    remedies = found.remedies if found is not None else ()
    _compare(told, remedies, {truth["fix_kind"], *truth.get("also_ok", [])})
    if fixed.options:
        files.write(fixed.originals, fixed.options[0])
        status, printed = _printed(work, "buggy.py")
        told.wrong += [] if status == 0 else [f"not clean: {printed[-200:]}"]
        if truth.get("prints") != "varies" and status == 0 and printed != _as_fixed(folder):
            told.wrong.append("does not train as fixed")
    if found is not None:
        told.fault = f"{found.code} {found.name}"
        _advice(told, remedies)
    return told


def _copy(folder: Path, work: Path, *, fixed: bool) -> None:
    """The case as it is before, or after, its fix."""
    for item in folder.iterdir():
        if item.name in ("truth.json", "__pycache__", "buggy.py" if fixed else "fixed.py"):
            continue
        if not fixed and item.name.endswith("_fixed.py"):
            continue
        (shutil.copytree if item.is_dir() else shutil.copy)(item, work / item.name)


def _as_fixed(folder: Path) -> str:
    with tempfile.TemporaryDirectory(prefix="fixed-") as name:
        _copy(folder, Path(name), fixed=True)
        return _printed(Path(name), "fixed.py")[1]


def _printed(folder: Path, program: str) -> tuple[int | None, str]:
    output = folder / "printed.txt"
    status = forking.forked(lambda: (warnings.simplefilter("ignore"), forking.as_main(program)), folder, 120, output)
    return status, output.read_text(encoding="utf-8", errors="replace")


def _picked(findings: tuple[Diagnosis, ...], names: list[str]) -> Diagnosis | None:
    loud = [f for f in findings if f.severity in (Severity.ERROR, Severity.WARNING)]
    return next((f for f in loud if f.name in names), loud[0] if loud else None)


def _compare(told: Told, remedies: tuple[Remedy, ...], kinds: set[str]) -> None:
    first = remedies[0] if remedies else None
    if first is None or first.kind not in kinds:
        told.wrong.append(f"remedy {first.kind if first else None}, not {' or '.join(sorted(kinds))}")
    if first is None or first.proof is None or first.proof.status != "proven":
        told.wrong.append("not proven")
    told.recommended = f"`{first.kind}`" if first is not None and first.kind in kinds else ""
    lines = [
        f"{r.kind}: {r.proof.status if r.proof else ''} {proof_text(r.proof) if r.proof else ''}" for r in remedies
    ]
    told.detail = "\n".join([*lines, first.patch or "" if first is not None else ""])


def _advice(told: Told, remedies: tuple[Remedy, ...]) -> None:
    retained = next((r for r in remedies if r.kind == "retain_graph"), None)
    if retained is None or retained.proof is None or retained.proof.status == "not_applicable":
        return
    told.advice = proof_text(retained.proof)
    fails = {"fails", "raised"} & {note.kind for note in retained.proof.notes}
    if retained.proof.status != "proven":
        told.verdict = "fails next" if fails else "runs, and is wrong in another way"
    elif remedies[0] is retained:
        told.verdict = "is right"
    elif retained.proof.same_gradients is False:
        told.verdict = "runs, and computes other gradients"
    elif retained.proof.same_gradients:
        told.verdict = "runs, with the same gradients in the first steps, and keeps the graph"
    else:
        told.verdict = "runs; the gradients were not compared"


def table(told: list[Told]) -> str:
    rows = [each for each in told if each.verdict and not each.fault.startswith(("AFT2", "AFT3", "AFT4"))]
    counts = Counter(row.verdict for row in rows)
    return HEAD.format(
        total=len(rows),
        summary="\n".join(f"| {verdict} | {count} |" for verdict, count in counts.most_common()),
        rows="\n".join(
            f"| {row.name} | {row.fault} | {row.verdict}: {row.advice} | {row.recommended} |"
            for row in sorted(rows, key=lambda row: (row.verdict, row.name))
        ),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="")
    parser.add_argument("--table", type=Path)
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    cases = sorted(p.parent.resolve() for folder in options.folders for p in folder.glob("*/truth.json"))
    cases = [case for case in cases if any(word in case.name for word in options.only.split(","))]
    told: list[Told] = []
    page = options.table.resolve() if options.table is not None else None
    with ProcessPoolExecutor(options.jobs, get_context("spawn"), _begin) as pool:
        for each in pool.map(prove, cases):
            told.append(each)
            print(f"{'MISS' if each.wrong else 'ok  '} {each.name:42s} {', '.join(each.wrong)}", flush=True)
            if options.verbose or each.wrong:
                print("".join(f"         {line}\n" for line in each.detail.splitlines()), end="", flush=True)
    right = sum(not each.wrong for each in told)
    print(f"fix: {right}/{len(told)} cases exactly right")
    if page is not None:
        page.write_text(table(told), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
