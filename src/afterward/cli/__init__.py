"""The command line: one file per command, each with `add_parser` and a function that returns a status."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from afterward import __version__
from afterward.cli import check, demo, explain, fix, lsp, merge, report, rules, run
from afterward.errors import AfterwardError

COMMANDS = (run, check, fix, merge, lsp, report, explain, rules, demo)


def command_line() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="afterward",
        description="Says where a PyTorch graph was built, freed and used again, and what to change.",
    )
    parser.add_argument("--version", action="version", version=f"afterward {__version__}")
    subparsers = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add_parser(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    options = command_line().parse_args(argv)
    try:
        status: int = options.perform(options)
        return status
    except AfterwardError as error:
        print(f"afterward: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return 1
