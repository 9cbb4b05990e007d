"""`afterward run`: run a program as Python would, and explain a backward pass that fails."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO

from afterward.cli._output import claimed, next_line, write_report, wrote
from afterward.cli._parser import add_format, add_program
from afterward.errors import ReportNotWritten
from afterward.tasks import run as task
from afterward.tasks.children import ASKED
from afterward.tasks.command import command_of, leave_error_file, run_command
from afterward.tasks.run import our_imports, print_error, print_exit, usable_stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from afterward.model.diagnosis import Diagnosis, Report
    from afterward.render.live import LiveView
    from afterward.tasks.children import Household


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "run",
        help="run a program, watch its backward passes and explain what breaks",
        usage="afterward run [options] (FILE | -m MODULE | -- COMMAND) [ARGUMENTS ...]",
        description="Runs the program as `python FILE ARGUMENTS` would, and explains a failing backward pass. "
        "After `--`, runs any command (torchrun, accelerate launch, bash, make) and watches every Python process that "
        "it starts. The output and the exit status are the program's own.",
        examples=(
            "afterward run train.py --epochs 3",
            "afterward run -m package.train",
            "afterward run --html report.html train.py",
            "afterward run -- torchrun --nproc-per-node 2 train.py",
        ),
    )
    parser.add_argument("-m", dest="module", action="store_true", help="run a module, as `python -m` does")
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="print a summary line even if no problem was found"
    )
    add_format(parser)
    parser.add_argument("--out", metavar="FILE", help="write the report to FILE instead of the terminal")
    parser.add_argument("--memory", action="store_true", help="count what graphs hold in memory, by line (slower)")
    parser.add_argument("--live", action="store_true", help="show live progress on stderr")
    parser.add_argument("--html", metavar="FILE", help="write the report as a page for the browser")
    parser.add_argument("--history", metavar="FILE", help="save what was recorded, for `afterward report`")
    parser.add_argument("--pdb", action="store_true", help="after an error, open the debugger in the failing frame")
    parser.add_argument("--into", metavar="FOLDER", help="write findings to FOLDER, for `afterward merge`")
    add_program(parser, "the program (with -m: the module)")
    parser.set_defaults(perform=perform)


def perform(options: argparse.Namespace) -> int:
    out, page, history = claimed(options.out), claimed(options.html), claimed(options.history)
    folder = os.getcwd()
    view = _view(options)
    watching: list[task.Watched] = []

    def prepare(watched: task.Watched) -> None:
        watching.append(watched)
        if options.memory:
            watched.session.keep_account()
        if view is not None:
            watched.live(view.show)

    try:
        command = _command(options)
        if command is not None:
            outcome = run_command(command)
        else:
            outcome = task.run(
                options.target,
                options.arguments,
                as_module=options.module,
                prepare=prepare,
                ended=_last_words,
                into=options.into,
                joins=_trial_joined(),
            )
    finally:
        if view is not None:
            view.close(watching[0].standing() if watching else None)
    with our_imports(), _complaining():
        if not outcome.is_silent:
            leave_error_file(outcome.error, _texts(outcome.report))
        if options.into is None:  # else the job's own report says it
            _report(outcome, options)
        if out is not None:
            write_report(out, _json(outcome.report) if options.format == "json" else _texts(outcome.report))
        if history is not None or page is not None:
            _draw(outcome, page, history, folder)
        if options.pdb:
            _debug(outcome)
    return _leave(outcome)


@contextmanager
def _complaining() -> Iterator[None]:
    """The program has run, and ends as it ends, whatever becomes of a report about it."""
    try:
        yield
    except ReportNotWritten as error:
        print(f"afterward: {error}", file=usable_stream("stderr"), flush=True)


def _trial_joined() -> Callable[[Household], None] | None:
    """What has this process measured, where it belongs to a trial of `afterward fix`."""
    if ASKED not in os.environ:
        return None
    from afterward.tasks.rank_trial import join_trial

    return join_trial


def _with_changes(outcome: task.Outcome) -> tuple[Diagnosis, ...]:
    """For a reader, each help with the changed lines, where the source alone shows that they cure the fault."""
    findings = outcome.report.findings
    if all(found.caught for found in findings):
        return findings
    from afterward.tasks.sketch import with_changes

    return with_changes(findings, outcome.saved().sources)


def _command(options: argparse.Namespace) -> list[str] | None:
    return command_of(options.target, options.arguments, as_module=options.module)


def _draw(outcome: task.Outcome, page: Path | None, history: Path | None, folder: str) -> None:
    from afterward.model.saved import as_saved
    from afterward.render.html import as_html
    from afterward.tasks.sketch import sketched

    saved = sketched(outcome.saved())
    if history is not None:
        write_report(history, as_saved(saved, folder))
        wrote(history)
    if page is not None:
        write_report(page, as_html(saved))
        wrote(page)


def _debug(outcome: task.Outcome) -> None:
    from afterward.render.text import as_text
    from afterward.tasks.debugging import debug

    debug(outcome, as_text)


def _view(options: argparse.Namespace) -> LiveView | None:
    if not options.live:
        return None
    from afterward.render.live import LiveView

    return LiveView(sys.stderr)


def _last_words(error: BaseException | None, code: object) -> None:
    """What Python prints when a program has ended so."""
    if issubclass(type(error), SystemExit):
        print_exit(code)
    elif error is not None:
        print_error(error)


def _leave(outcome: task.Outcome) -> int:
    """The status to leave with. A program that an interrupt ended died by that signal, and so do we."""
    if issubclass(type(outcome.error), KeyboardInterrupt):
        sys.excepthook = lambda *error: None  # it was printed before
        raise KeyboardInterrupt
    if outcome.exit < 0:  # a command that a signal ended
        with suppress(OSError):  # a signal that nothing can handle has no handler to put back
            signal.signal(-outcome.exit, signal.SIG_DFL)
        os.kill(os.getpid(), -outcome.exit)
    return outcome.exit


def _report(outcome: task.Outcome, options: argparse.Namespace) -> None:
    if outcome.is_silent and not (options.memory or options.verbose or options.format == "json"):
        return
    report, to_file = outcome.report, options.out is not None
    stream = usable_stream("stderr")
    in_full = not to_file or options.format == "json"
    findings = _with_changes(outcome) if in_full else report.findings
    for line in dict.fromkeys(_line(found) for found in findings if found.caught):  # one may be caught many times
        print(line, file=stream)
    if in_full:
        for found in findings:
            _report_finding(found, stream)
        next_line(findings, stream, _again(options))
    if options.memory and in_full:
        print(file=stream)
        print(_account(report), file=stream)
    if options.format == "json" and not to_file:
        usable_stream("stdout").write(_json(report))
    if options.verbose:
        print(f"afterward: {report.summary}", file=stream)
        for gap in report.gaps:
            print(f"afterward: not seen: {gap}", file=stream)


def _again(options: argparse.Namespace) -> str:
    """The program, or the command that starts it, as `afterward fix` takes it."""
    command = _command(options)
    if command is not None:
        return shlex.join(["--", *command])
    return shlex.join([*(["-m"] if options.module else []), options.target, *options.arguments])


def _line(found: Diagnosis) -> str:
    """What is said of an error that the program caught."""
    from afterward.render.paths import shown
    from afterward.render.wording import headline

    site = found.primary.site
    return f"afterward: {shown(site.file)}:{site.line}: {found.code} {headline(found)}; the program caught the error"


def _report_finding(found: Diagnosis, stream: TextIO) -> None:
    from afterward.render.terminal import show

    if not found.caught:
        print(file=stream)
        show(found, stream)


def _json(report: Report) -> str:
    from afterward.render.json_report import as_json

    return as_json(report)


def _texts(report: Report) -> str:
    if not report.findings and report.memory is None:
        return ""
    from afterward.render.text import as_texts

    texts = [as_texts(report)] if report.findings else []
    return "\n".join([*texts, *([_account(report)] if report.memory is not None else [])])


def _account(report: Report) -> str:
    from afterward.render.memory import as_table

    return as_table(report.memory) if report.memory is not None else "memory: no backward pass was seen"
