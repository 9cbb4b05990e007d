"""`afterward fix`: run, diagnose, patch in memory, run again; show the patch that is proven, and write it if asked."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from afterward.cli._output import claimed, finish_interrupted, write_report, wrote
from afterward.cli._parser import add_format, add_program
from afterward.errors import AfterwardError
from afterward.model.diagnosis import Diagnosis, Report, Severity
from afterward.model.facts import Note
from afterward.render.json_report import as_json
from afterward.render.paths import shown as shown_name
from afterward.render.progress import trial_progress
from afterward.render.proofs import note_text
from afterward.render.terminal import show, show_changes, show_diagnosis
from afterward.render.text import as_texts

if TYPE_CHECKING:
    from afterward.tasks.fix import Fixed
    from afterward.tasks.trial import Request


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "fix",
        help="run a program, test the changes that would cure it, show the one that works",
        usage="afterward fix [options] (FILE | -m MODULE | -- COMMAND) [ARGUMENTS ...]",
        description="Runs the program, diagnoses it, tests each change on a copy, and shows the one that trains "
        "as it should. After `--`, runs any command (torchrun, accelerate launch): a change is then proven on all "
        "ranks that it starts. Your files are changed only with --write. "
        "Exit status: 0 a proven change, or nothing to fix; 1 none; 2 could not do its work.",
        examples=(
            "afterward fix train.py",
            "afterward fix --write train.py --epochs 3",
            "afterward fix --proof-args '--epochs 1' train.py --epochs 100",
            "afterward fix -- torchrun --nproc-per-node 2 train.py",
        ),
    )
    parser.add_argument("-m", dest="module", action="store_true", help="run a module, as `python -m` does")
    parser.add_argument("--write", action="store_true", help="apply the proven change to your files")
    parser.add_argument("--pick", type=int, default=1, metavar="N", help="take the Nth proven change")
    parser.add_argument(
        "--limit", type=float, default=60.0, metavar="SECONDS", help="time limit of each test run (default: 60)"
    )
    parser.add_argument("--proof-args", metavar="'ARGS'", help="other arguments for the test runs: '--epochs 1'")
    add_format(parser)
    parser.add_argument("--out", metavar="FILE", help="write the report to FILE")
    parser.add_argument("--html", metavar="FILE", help="write the report as a page for the browser")
    add_program(parser, "the program or notebook (with -m: the module)")
    parser.set_defaults(perform=perform)


def perform(options: argparse.Namespace) -> int:
    finish_interrupted()
    out, page = claimed(options.out), claimed(options.html)
    shown: list[Diagnosis] = []
    try:
        fixed = _search(options, shown)
    except KeyboardInterrupt:
        print("\nafterward: stopped; nothing was written", file=sys.stderr)
        return 130
    _report(fixed.report, options, shown)
    if out is not None:
        write_report(out, as_json(fixed.report) if options.format == "json" else as_texts(fixed.report))
    if page is not None:
        from afterward.render.html import as_html

        write_report(page, as_html(fixed.saved()))
        wrote(page)
    if not fixed.report.findings:
        print("afterward: nothing to fix", file=sys.stderr)
        return 0
    if not fixed.proven and all(found.severity is Severity.INFO for found in fixed.report.findings):
        print("afterward: nothing to fix: what is said above is advice", file=sys.stderr)
        return 0
    if not fixed.proven:
        reason = f": {note_text(fixed.hindered)}" if fixed.hindered else ""
        tried = any(remedy.proof is not None for found in fixed.report.findings for remedy in found.remedies)
        said = "none of the changes tried trains correctly" if tried else "no change was tested: make this one by hand"
        print(f"afterward: {said}{reason}", file=sys.stderr)
        return 1
    if not 1 <= options.pick <= len(fixed.options):
        raise AfterwardError(f"--pick {options.pick}: {len(fixed.options)} of the changes are proven")
    if options.write or _agreed(fixed, options):
        _write(fixed, options.pick - 1)
    elif not sys.stdin.isatty():
        print("afterward: run again with `--write` to apply this change", file=sys.stderr)
    return 0


def _search(options: argparse.Namespace, shown: list[Diagnosis]) -> Fixed:
    from afterward.tasks.fix import Fixer
    from afterward.tasks.trial_runner import TrialRunner

    with ExitStack() as stack:
        runner = stack.enter_context(TrialRunner(_report_limits))
        request = _request(options)
        progress = stack.enter_context(trial_progress(sys.stderr))
        proof = tuple(shlex.split(options.proof_args)) if options.proof_args is not None else None
        if options.module or request.command or os.path.exists(options.target):
            print(f"afterward: running {shown_name(options.target)}", file=sys.stderr, flush=True)

        def diagnosed(report: Report) -> None:
            """The diagnosis, before the changes are tried: that may take a while."""
            for found in report.findings:
                print(file=sys.stderr)
                show_diagnosis(found, sys.stderr)
            shown.extend(report.findings)
            print("afterward: testing changes", file=sys.stderr, flush=True)

        return Fixer(runner, request, options.limit, progress, proof, diagnosed=diagnosed).fix()


def _request(options: argparse.Namespace) -> Request:
    from afterward.tasks.command import command_of
    from afterward.tasks.trial import Request

    command = command_of(options.target, options.arguments, as_module=options.module)
    if command is None:
        return Request(options.target, tuple(options.arguments), options.module, stdin=_piped())
    if options.proof_args is not None:
        raise AfterwardError("--proof-args: which arguments of a command are the program's is not known")
    return Request(options.target, command=tuple(command), stdin=_piped())


def _piped() -> bytes | None:
    """What is piped in is kept: each run gets all of it. A terminal cannot be read twice; a trial gets nothing."""
    try:
        return None if sys.stdin is None or sys.stdin.isatty() else sys.stdin.buffer.read()
    except (OSError, ValueError):
        return None


def _report_limits(note: Note) -> None:
    print(f"afterward: {note_text(note)}", file=sys.stderr)


def _report(report: Report, options: argparse.Namespace, shown: list[Diagnosis]) -> None:
    """What became of the changes; a finding that was not shown before the trials is shown whole."""
    if options.format == "json" and options.out is None:
        sys.stdout.write(as_json(report))
    places = {found.key for found in shown}
    for found in report.findings:
        print(file=sys.stderr)
        (show_changes if found.key in places else show)(found, sys.stderr)


def _agreed(fixed: Fixed, options: argparse.Namespace) -> bool:
    """On a terminal, ask."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    names = ", ".join(shown_name(file) for file in fixed.options[options.pick - 1])
    print(f"write this change to {names}? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _write(fixed: Fixed, number: int) -> None:
    from afterward.tasks.files import write

    texts = fixed.options[number]
    write(fixed.originals, texts)
    for file in texts:
        print(f"afterward: changed {shown_name(file)}", file=sys.stderr)
