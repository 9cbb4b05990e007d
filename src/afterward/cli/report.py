"""`afterward report`: a saved history as a page, or its life lines as pictures."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from afterward.errors import HistoryUnreadable, ReportNotWritten
from afterward.model.saved import SavedRun, read_saved

LARGEST = 1 << 30


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "report",
        help="make a page from a history that `afterward run --history` saved",
        description="Reads a history that `afterward run --history FILE` has saved, and makes a page of it.",
        examples=("afterward report run.history", "afterward report --svg life.svg run.history"),
    )
    parser.add_argument("history", metavar="HISTORY", help="the saved history")
    parser.add_argument("-o", "--out", metavar="FILE", help="the page (default: HISTORY.html; - for standard output)")
    parser.add_argument("--svg", metavar="FILE", help="write a life line as an SVG picture instead of the page")
    parser.add_argument("--finding", metavar="N", type=int, default=1, help="the finding that --svg draws (default: 1)")
    parser.set_defaults(perform=perform)


def perform(options: argparse.Namespace) -> int:
    run = _read(Path(options.history))
    if options.svg is not None:
        _write(options.svg, _picture(run, options.finding))
        if options.out is None:
            return 0
    from afterward.render.html import as_html

    _write(options.out or str(Path(options.history).with_suffix(".html")), as_html(run))
    return 0


def _read(path: Path) -> SavedRun:
    try:
        if path.stat().st_size > LARGEST:
            raise HistoryUnreadable(f"cannot read {path}: it is too large to be a history")
        data = path.read_bytes()
    except OSError as error:
        raise HistoryUnreadable(f"cannot read {path}: {error.strerror or error}") from None
    try:
        return read_saved(data)
    except HistoryUnreadable as error:
        raise HistoryUnreadable(f"cannot read {path}: {error}") from None


def _picture(run: SavedRun, number: int) -> str:
    from afterward.render.lifeline import picture

    findings = len(run.report.findings)
    if not 1 <= number <= max(findings, 1):
        held = "no finding" if findings == 0 else "1 finding" if findings == 1 else f"{findings} findings"
        raise ReportNotWritten(f"there is no finding {number}: the history holds {held}")
    drawn = picture(run, number - 1)
    if drawn is None:
        what = f"finding {number}" if findings else "a run without findings"
        raise ReportNotWritten(f"the history holds nothing to draw for {what}")
    return drawn


def _write(file: str, text: str) -> None:
    if file == "-":
        sys.stdout.write(text)
        return
    try:
        Path(file).write_text(text, encoding="utf-8")
    except OSError as error:
        raise ReportNotWritten(f"cannot write to {file}: {error.strerror or error}") from None
    print(f"wrote {file}", file=sys.stderr)
