"""`afterward rules`: every rule, a line each."""

from __future__ import annotations

import argparse
from typing import Any

from afterward.tasks.rules import listed


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser("rules", help="list the rules", description="List the rules, a line each.")
    parser.set_defaults(perform=perform)


def perform(options: argparse.Namespace) -> int:
    rows = listed()
    width = max(len(name) for _, name, _, _ in rows)
    for code, name, severity, summary in rows:
        print(f"{code}  {name:<{width}}  {severity:<7}  {summary}")
    return 0
