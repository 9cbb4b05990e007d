"""The command line: one file per command, each with `add_parser` and a function that returns a status."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from afterward import __version__
from afterward.errors import AfterwardError

COMMANDS = ("run", "check", "fix", "merge", "lsp", "report", "explain", "rules", "demo")


def command_line(commands: Sequence[str] = COMMANDS) -> argparse.ArgumentParser:
    """The command line with these commands: each is imported only where it is wanted."""
    parser = argparse.ArgumentParser(
        prog="afterward",
        description="Says where a PyTorch graph was built, freed and used again, and what to change.",
    )
    parser.add_argument("--version", action="version", version=f"afterward {__version__}")
    subparsers = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name in commands:
        import_module(f"afterward.cli.{name}").add_parser(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    words = sys.argv[1:] if argv is None else argv
    wanted = words[:1] if words and words[0] in COMMANDS else COMMANDS
    options = command_line(wanted).parse_args(argv)
    try:
        status: int = options.perform(options)
        return status
    except AfterwardError as error:
        print(f"afterward: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return 1
