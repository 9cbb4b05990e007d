"""`afterward check`: predict the faults from source, without running anything."""

from __future__ import annotations

import argparse
import linecache
import os
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from afterward.errors import AfterwardError
from afterward.model.diagnosis import Report, Severity
from afterward.render.paths import printable

if TYPE_CHECKING:
    from afterward.tasks import check as task
    from afterward.tasks.check_settings import Settings

# The module of each format and its function; loaded when asked for, so that other commands start fast.
_FORMATS = {
    "text": ("afterward.render.text", "as_texts"),
    "concise": ("afterward.render.concise", "as_concise"),
    "json": ("afterward.render.json_report", "as_json"),
    "sarif": ("afterward.render.sarif", "as_sarif"),
    "github": ("afterward.render.github", "as_github"),
    "junit": ("afterward.render.junit", "as_junit"),
}


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "check",
        help="predict failing backward passes from source, without running anything",
        description="Reads Python files and notebooks and predicts which backward passes would fail. Runs nothing, and "
        "needs neither torch nor the program's libraries. "
        "Exit status: 0 clean, 1 findings, 2 could not do its work.",
        examples=(
            "afterward check src/ train.py",
            "afterward check --select AFT1,AFT2 --format sarif --out findings.sarif .",
            "afterward check -            # a loop pasted into the terminal, then Ctrl-D",
        ),
    )
    parser.add_argument("paths", nargs="*", default=["."], metavar="PATH", help="files, folders, globs; - for stdin")
    parser.add_argument(
        "--format", choices=tuple(_FORMATS), default="text", help="format of the report (default: text)"
    )
    parser.add_argument("--out", metavar="FILE", help="write the report to FILE")
    parser.add_argument("--select", metavar="CODES", help="only these codes or names (AFT1: all of AFT1xx)")
    parser.add_argument("--ignore", metavar="CODES", help="not these codes or names")
    parser.add_argument("--exclude", action="append", default=[], metavar="GLOB", help="skip files and folders")
    parser.add_argument("--statistics", action="store_true", help="count the findings by code")
    parser.add_argument("--show-gaps", action="store_true", help="list code that could not be analysed")
    parser.add_argument("--jobs", type=int, default=0, metavar="N", help="processes (default: all cores)")
    parser.add_argument("--watch", action="store_true", help="check again whenever a file changes, until Ctrl-C")
    parser.add_argument("--fix", action="store_true", help="write changes that do not change gradients (runs nothing)")
    parser.add_argument("--no-cache", action="store_true", help="do not use the results of an earlier check")
    parser.set_defaults(perform=perform)


def perform(options: argparse.Namespace) -> int:
    settings = _settings(options)
    return _watch(options, settings) if options.watch else _once(options, settings)


def _given() -> bytes:
    """What was piped in, kept where the renderers look for the lines of a file that is not on disk."""
    data = sys.stdin.buffer.read()
    lines = data.decode("utf-8", "replace").splitlines(keepends=True)
    linecache.cache["<stdin>"] = (len(data), None, lines, "<stdin>")
    return data


def _once(options: argparse.Namespace, settings: Settings) -> int:
    from afterward.tasks import check as task

    stdin = _given() if task.STDIN in options.paths else None
    progress = _Progress()
    try:
        result = task.check(options.paths, settings, stdin, progress.show if progress.wanted else None)
    finally:
        progress.close()
    for line in result.errors:
        _say(line)
    _report(result.report, options)
    if options.fix:
        _fix(result.report)
    if options.show_gaps or stdin is not None:
        _gaps(result.report, options.show_gaps or not _looked(result.report))
    if options.statistics:
        _statistics(result)
    _last_line(result.report, options, len(result.errors), stdin is not None)
    return result.exit


def _looked(report: Report) -> bool:
    return report.looked_at is not None and report.looked_at.training_loops > 0


def _gaps(report: Report, unknown: bool) -> None:
    """What was not analysed, and then the places where something was not known."""
    missed = report.looked_at.not_analysed if report.looked_at is not None else ()
    for one in missed:
        _say(f"not analysed: {_relative(one.file)}:{one.line}: {one.reason}")
    said = {f"{one.file}:{one.line}: {one.reason}" for one in missed}
    for gap in report.gaps if unknown else ():
        if gap not in said:
            _say(f"not known: {_relative(gap)}")


def _last_line(report: Report, options: argparse.Namespace, unread: int, pasted: bool) -> None:
    """What was looked at, without which "clean" could mean "did not look"; what was found, and what to do next."""
    looked_at = report.looked_at
    if looked_at is None:
        return
    from afterward.cli._output import say

    if pasted and not report.findings and not unread and not _looked(report):
        say(_NOT_ANALYSED if looked_at.not_analysed else _NO_PASS)
        return
    parts = [_count(looked_at.files, "file"), _count(looked_at.training_loops, "training loop")]
    if looked_at.not_analysed:
        parts.append(f"{len(looked_at.not_analysed):,} not analysed" + ("" if options.show_gaps else " (--show-gaps)"))
    say(f"{_verdict(report, unread)} {', '.join(parts)}.{_next(report)}")


# Of a text that was piped in.
_NOT_ANALYSED = "Nothing could be checked: no call of `backward()` in the text could be analysed."
_NO_PASS = "No problems found, but the text has no call of `backward()`: most faults show only there."


def _verdict(report: Report, unread: int) -> str:
    assert report.looked_at is not None
    counts = Counter(found.severity for found in report.findings)
    found = [_count(counts[one], one.value) for one in Severity if counts[one] and one is not Severity.INFO]
    found += [f"{counts[Severity.INFO]:,} info"] if counts[Severity.INFO] else []
    if not found and unread >= report.looked_at.files:
        return "Nothing could be checked:"
    if not found:
        everything = report.looked_at.training_loops and not report.looked_at.not_analysed
        return "All clear:" if everything else "No problems found:"
    files = len({one.primary.site.file for one in report.findings})
    return f"{', '.join(found)} in {_count(files, 'file')}. Checked"


def _next(report: Report) -> str:
    worst = sorted(report.findings, key=lambda found: list(Severity).index(found.severity))
    file = next((found.primary.site.file for found in worst if found.remedies), None)
    if file is None or not os.path.isfile(file):
        return ""
    return f" `afterward fix {printable(_relative(file))}` tests the changes."


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}" if number else f"no {word}s"


def _fix(report: Report) -> None:
    """Write what can be cured without a run. The status stays that of the check: check again to see it clean."""
    from afterward.cli._output import finish_interrupted
    from afterward.tasks.check_fix import rewrite
    from afterward.tasks.files import write

    finish_interrupted()
    done = rewrite(report.findings)
    for found, remedy in done.cured:
        file = found.primary.site.file
        write({file: done.originals[file]}, {file: done.texts[file]})
        _say(f"{_relative(file)}:{found.primary.site.line}: {found.code}: {remedy.kind}, written; not run")
    left = len(report.findings) - len(done.cured)
    if left:
        _say(f"{left} not fixed: these change gradients. `afterward fix` tests such changes.")


def _watch(options: argparse.Namespace, settings: Settings) -> int:
    """Check, wait for a change, and check again. Ctrl-C ends it, with the status of the last check."""
    from afterward.tasks import check as task
    from afterward.tasks.changes import state_of, wait_for_change

    if task.STDIN in options.paths:
        raise AfterwardError("--watch needs files: standard input does not change")
    status = 0
    try:
        while True:
            before = state_of(task.files_of(options.paths, settings))
            if sys.stdout.isatty():
                sys.stdout.write("\x1b[2J\x1b[3J\x1b[H")
            status = _once(options, settings)
            sys.stdout.flush()
            _say(f"watching {_count(len(before), 'file')}; Ctrl-C ends it")
            changed = wait_for_change(lambda: task.files_of(options.paths, settings), before)
            more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
            _say(f"{_relative(changed[0])}{more} changed")
    except KeyboardInterrupt:
        return status


def _say(line: str) -> None:
    print(f"afterward: {printable(line)}", file=sys.stderr, flush=True)


def _settings(options: argparse.Namespace) -> Settings:
    """The command line goes before pyproject.toml."""
    from afterward.tasks.check_settings import Settings, configured

    table = configured(os.getcwd())
    unknown = set(table) - {"select", "ignore", "exclude"}
    if unknown:
        raise AfterwardError(f"pyproject.toml: [tool.afterward] has no setting called {sorted(unknown)[0]}")

    def words(name: str, given: str | None) -> tuple[str, ...]:
        if given is not None:
            return tuple(word.strip() for word in given.split(",") if word.strip())
        found = table.get(name, [])
        if not isinstance(found, list) or not all(isinstance(word, str) for word in found):
            raise AfterwardError(f"pyproject.toml: [tool.afterward] {name} must be a list of texts")
        return tuple(found)

    exclude = (*options.exclude, *words("exclude", None))
    cache = not options.no_cache
    return Settings(
        words("select", options.select), words("ignore", options.ignore), exclude, jobs=options.jobs, cache=cache
    )


def _report(report: Report, options: argparse.Namespace) -> None:
    if options.out is not None:
        from afterward.cli._output import write_report

        write_report(Path(options.out), _as(options.format)(report))
    elif options.format != "text":
        sys.stdout.write(_as(options.format)(report))
    elif report.findings:
        from afterward.render.terminal import show
        from afterward.tasks.sketch import with_changes

        for found in with_changes(report.findings, _sources(report)):
            show(found, sys.stdout)


def _sources(report: Report) -> dict[str, str]:
    """The files that have findings, as far as they can be edited."""
    texts = {}
    for file in {found.primary.site.file for found in report.findings}:
        with suppress(OSError, UnicodeDecodeError):
            texts[file] = Path(file).read_text(encoding="utf-8")
    return texts


def _as(name: str) -> Callable[[Report], str]:
    module, function = _FORMATS[name]
    made: Callable[[Report], str] = getattr(import_module(module), function)
    return made


def _statistics(result: task.Result) -> None:
    counts = Counter((found.code, found.name) for found in result.report.findings)
    for (code, name), count in sorted(counts.items()):
        print(f"{count:>5}  {code}  {name}", file=sys.stderr)
    errors = sum(found.severity is Severity.ERROR for found in result.report.findings)
    rate = result.files / result.seconds if result.seconds > 0 else 0
    print(
        f"afterward: {result.files} files in {result.seconds:.2f} s ({rate:.0f} a second), {errors} errors, "
        f"{len(result.report.gaps)} places not known",
        file=sys.stderr,
    )


def _relative(gap: str) -> str:
    return gap.removeprefix(os.getcwd() + os.sep)


class _Progress:
    """A bar on the terminal, when a check takes long enough to want one."""

    def __init__(self) -> None:
        self.wanted = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self.bar: Any = None
        self.task: Any = None

    def show(self, done: int, total: int) -> None:
        if total < 100:
            return
        if self.bar is None:
            from afterward.render.progress import progress_bar

            self.bar = progress_bar()
            self.bar.start()
            self.task = self.bar.add_task("checking", total=total)
        self.bar.update(self.task, completed=done)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.stop()
