"""The command line: one file per command, each with `add_parser` and a function that returns a status."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from afterward import __version__
from afterward.cli._parser import Parser
from afterward.errors import AfterwardError, alike

COMMANDS = ("run", "check", "fix", "explain", "demo", "rules", "report", "merge", "lsp")


def command_line(commands: Sequence[str] = COMMANDS) -> Parser:
    """The command line with these commands: each is imported only where it is wanted."""
    parser = Parser(
        prog="afterward",
        description="Says why PyTorch's `backward()` failed, or why a model silently does not train: where the graph "
        "was built, freed and used again, through which variable, and what to change.",
        examples=(
            "afterward run train.py       # run it as usual, and explain what breaks",
            "afterward check src/         # predict these faults from source; runs nothing",
            "afterward fix train.py       # test the changes that would cure it",
            "afterward explain AFT103     # the page of a code, or of an error message",
            "afterward demo               # shipped examples, wrong and right",
        ),
    )
    parser.add_argument("--version", action="version", version=f"afterward {__version__}")
    subparsers = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name in commands:
        import_module(f"afterward.cli.{name}").add_parser(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    if not words or words[0] == "help":
        words = [*words[1:2], "--help"]
    known = words[0] in COMMANDS
    parser = command_line(words[:1] if known else COMMANDS)
    if not known and not words[0].startswith("-"):
        parser.error(f"there is no command {words[0]!r}{alike(words[0], COMMANDS)}")
    options = parser.parse_args(words)
    try:
        status: int = options.perform(options)
        return status
    except AfterwardError as error:
        from afterward.cli._output import say

        say(f"afterward: {error}")
        return 2
    except BrokenPipeError:
        return 1
