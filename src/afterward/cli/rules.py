"""`afterward rules`: every rule, a line each."""

from __future__ import annotations

import argparse
from typing import Any

from afterward.cli._output import print_row
from afterward.tasks.rules import listed


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "rules",
        help="list the rules",
        description="Lists the rules: code, name, severity, fault.",
        examples=("afterward rules",),
    )
    parser.set_defaults(perform=perform)


def perform(options: argparse.Namespace) -> int:
    rows = listed()
    width = max(len(name) for _, name, _, _ in rows)
    for code, name, severity, summary in rows:
        print_row((code, f"{name:<{width}}", f"{severity:<7}"), summary)
    print("\n`afterward explain CODE` prints the page of a rule.")
    return 0
