"""`afterward fix`: run, diagnose, patch in memory, run again; show the patch that is proven, and write it if asked."""

from __future__ import annotations

import argparse
import shlex
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from afterward.cli._output import claimed, finish_interrupted, write_report
from afterward.errors import AfterwardError
from afterward.model.diagnosis import Report
from afterward.model.facts import Note
from afterward.render.concise import as_concise
from afterward.render.json_report import as_json
from afterward.render.paths import shown
from afterward.render.progress import trial_progress
from afterward.render.proofs import note_text
from afterward.render.terminal import show
from afterward.render.text import as_text

if TYPE_CHECKING:
    from afterward.tasks.fix import Fixed


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "fix",
        help="run a program, and find the change that cures its backward passes by trying it",
        usage="afterward fix [options] (FILE | -m MODULE) [ARGUMENTS ...]",
        description="Runs the program, diagnoses it, patches it in memory, and runs it again to prove the patch.",
    )
    parser.add_argument("-m", dest="module", action="store_true", help="run a module, as `python -m` does")
    parser.add_argument("--write", action="store_true", help="write the proven patch to the files")
    parser.add_argument("--pick", type=int, default=1, metavar="N", help="take the Nth of the proven patches")
    parser.add_argument(
        "--limit", type=float, default=60.0, metavar="SECONDS", help="for each run that is to prove a patch (60)"
    )
    parser.add_argument("--proof-args", metavar="'ARGS'", help="other arguments for those runs: '--epochs 1'")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="of the report (default: text)")
    parser.add_argument("--out", metavar="FILE", help="write the report to FILE")
    parser.add_argument("--html", metavar="FILE", help="write the report, with the change and its proof, as a page")
    parser.add_argument("target", metavar="FILE", help="the program or notebook (with -m: the module)")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENTS", help="passed on to the program")
    parser.set_defaults(perform=perform)


def perform(options: argparse.Namespace) -> int:
    finish_interrupted()
    out, page = claimed(options.out), claimed(options.html)
    try:
        fixed = _search(options)
    except KeyboardInterrupt:
        print("\nafterward: stopped; nothing was written", file=sys.stderr)
        return 130
    _tell(fixed.report, options)
    if out is not None:
        write_report(out, as_json(fixed.report) if options.format == "json" else _texts(fixed.report))
    if page is not None:
        from afterward.render.html import as_html

        write_report(page, as_html(fixed.saved()))
    if not fixed.report.findings:
        print("afterward: nothing to fix", file=sys.stderr)
        return 0
    if not fixed.proven:
        reason = f": {note_text(fixed.hindered)}" if fixed.hindered else ""
        print(f"afterward: no change that was tried could be proven{reason}", file=sys.stderr)
        return 1
    if not 1 <= options.pick <= len(fixed.options):
        raise AfterwardError(f"--pick {options.pick}: {len(fixed.options)} of the changes are proven")
    if options.write or _agreed(fixed, options):
        _write(fixed, options.pick - 1)
    elif not sys.stdin.isatty():
        print("afterward: `--write` writes this change", file=sys.stderr)
    return 0


def _search(options: argparse.Namespace) -> Fixed:
    from afterward.tasks.fix import Fixer
    from afterward.tasks.trial import Request
    from afterward.tasks.trial_runner import TrialRunner

    with ExitStack() as stack:
        runner = stack.enter_context(TrialRunner(_tell_limits))
        request = Request(options.target, tuple(options.arguments), options.module, stdin=_piped())
        progress = stack.enter_context(trial_progress(sys.stderr))
        proof = tuple(shlex.split(options.proof_args)) if options.proof_args is not None else None
        if sys.stderr.isatty():  # what is loaded takes seconds, and the program may print nothing for longer
            print(f"afterward: running {options.target}", file=sys.stderr, flush=True)
        return Fixer(runner, request, options.limit, progress, proof, diagnosed=_diagnosed).fix()


def _diagnosed(report: Report) -> None:
    """One line for each finding, before the changes are tried: that may take a while."""
    for line in as_concise(report).splitlines():
        print(f"afterward: {line}", file=sys.stderr)
    print("afterward: testing changes", file=sys.stderr, flush=True)


def _piped() -> bytes | None:
    """What is piped in is kept: each run gets all of it. A terminal cannot be read twice; a trial gets nothing."""
    try:
        return None if sys.stdin is None or sys.stdin.isatty() else sys.stdin.buffer.read()
    except (OSError, ValueError):
        return None


def _tell_limits(note: Note) -> None:
    print(f"afterward: {note_text(note)}", file=sys.stderr)


def _tell(report: Report, options: argparse.Namespace) -> None:
    if options.format == "json" and options.out is None:
        sys.stdout.write(as_json(report))
        return
    for found in report.findings:
        print(file=sys.stderr)
        show(found, sys.stderr)


def _texts(report: Report) -> str:
    return "\n".join(as_text(found) for found in report.findings)


def _agreed(fixed: Fixed, options: argparse.Namespace) -> bool:
    """On a terminal, ask."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    names = ", ".join(shown(file) for file in fixed.options[options.pick - 1])
    print(f"write this change to {names}? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _write(fixed: Fixed, number: int) -> None:
    from afterward.tasks.files import write

    texts = fixed.options[number]
    write(fixed.originals, texts)
    for file in texts:
        print(f"afterward: changed {shown(file)}", file=sys.stderr)
