"""`afterward explain`: the page of a code, of a message of PyTorch's, or of a traceback."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from afterward.cli._output import print_row
from afterward.render.terminal import wants_colour
from afterward.tasks.explaining import Explanation, explain


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "explain",
        help="explain a rule, or an error message of PyTorch",
        description="Prints the page of a rule, or the page of an error message of PyTorch. Needs no torch.",
        examples=(
            "afterward explain AFT103",
            'afterward explain "element 0 of tensors does not require grad"',
            "python train.py 2>&1 | afterward explain",
        ),
    )
    parser.add_argument(
        "what",
        nargs="*",
        metavar="CODE-OR-MESSAGE",
        help="a code (AFT103), a name (state-carried-over), an error message; a whole traceback is read from stdin",
    )
    parser.set_defaults(perform=perform)


def perform(options: argparse.Namespace) -> int:
    text = " ".join(options.what)
    if text in ("", "-"):
        if sys.stdin is None or sys.stdin.isatty():
            print("Paste the error message, then press Ctrl-D:", file=sys.stderr)
        text = sys.stdin.read() if sys.stdin is not None else ""
    found = explain(text)
    if wants_colour(sys.stdout):
        from afterward.render.page import show_page

        show_page(found.page, sys.stdout)
    else:
        print(found.page, end="")
    if found.rules:
        print()
        print_row((), _next(found))
    return 0


def _next(found: Explanation) -> str:
    """What to do next: see it in the reader's own program."""
    program, several = found.program or "train.py", len(found.rules) > 1
    return (
        f"Next: `afterward run {program}` names the line, the tensor and the cause in your program"
        f" ({'one of ' if several else ''}{', '.join(found.rules)})."
    )
