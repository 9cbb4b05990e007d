"""`afterward explain`: the page behind a code."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from afterward.render.terminal import wants_colour
from afterward.tasks.rules import page_of


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser("explain", help="print the page of a rule", description="Print the page of a rule.")
    parser.add_argument("rule", metavar="CODE", help="a code such as AFT103, or a name such as state-carried-over")
    parser.set_defaults(perform=perform)


def perform(options: argparse.Namespace) -> int:
    page = page_of(options.rule)
    if wants_colour(sys.stdout):
        from afterward.render.page import show_page

        show_page(page, sys.stdout)
    else:
        print(page, end="")
    return 0
