"""`afterward merge`: one report of what the processes of a job have left in a folder."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from afterward.cli._parser import add_format
from afterward.render.json_report import as_json
from afterward.render.terminal import show
from afterward.tasks.command import merge


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "merge",
        help="make one report of the processes of a job",
        description="Reads what processes with `AFTERWARD=1 AFTERWARD_FOLDER=FOLDER` (or `afterward run --into "
        "FOLDER`) wrote to FOLDER, and prints one report. Findings that several ranks share are shown once.",
        examples=("afterward merge found/",),
    )
    parser.add_argument("folder", metavar="FOLDER")
    add_format(parser)
    parser.set_defaults(perform=perform)


def perform(options: argparse.Namespace) -> int:
    report = merge(options.folder)
    if options.format == "json":
        sys.stdout.write(as_json(report))
        return 0
    for found in report.findings:
        print(file=sys.stderr)
        show(found, sys.stderr)
    if not report.findings:
        print("afterward: no problems found", file=sys.stderr)
    return 0
