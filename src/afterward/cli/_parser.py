"""Arguments as we read them: help with examples, and a misspelt option is answered with the one that was meant."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from afterward.errors import alike


class _Help(argparse.HelpFormatter):
    """Paragraphs are wrapped; examples stay as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if text.startswith(EXAMPLES) else super()._fill_text(text, width, indent)


EXAMPLES = "examples:"


class Parser(argparse.ArgumentParser):
    def __init__(self, *, examples: Sequence[str] = (), **named: Any) -> None:
        self.examples = tuple(examples)
        epilog = "\n  ".join((EXAMPLES, *self.examples)) if self.examples else None
        super().__init__(epilog=epilog, formatter_class=_Help, **named)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As a command has it: what is unknown is an error here, where the command's own options are known. It is said
        before what is missing: `run --hmtl` lacks a file too, but that is not what its writer has to hear."""
        asked = [action for action in self._actions if action.required and action.nargs is None]
        for action in asked:
            action.required = False
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            word = str(unknown[0])
            options = [name for action in self._actions for name in action.option_strings]
            self.error(f"there is no option {word}{alike(word.split('=')[0], options)}")
        missing = [str(action.metavar or action.dest) for action in asked if getattr(found, action.dest, None) is None]
        if missing:
            self.error(f"the following arguments are required: {', '.join(missing)}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        print(f"{self.prog}: {message}", file=sys.stderr)
        if self.examples:
            print(f"For example: {self.examples[0].split('  #')[0].rstrip()}", file=sys.stderr)
        print(f"`{self.prog} --help` says more.", file=sys.stderr)
        sys.exit(2)


def add_format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="format of the report (default: text)"
    )


def add_program(parser: argparse.ArgumentParser, what: str) -> None:
    """FILE and its arguments, which are all that follows."""
    parser.add_argument("target", metavar="FILE", help=what)
    rest = parser.add_argument(
        "arguments", nargs=argparse.REMAINDER, metavar="ARGUMENTS", help="passed on to the program"
    )
    rest.required = False  # argparse would ask for them where FILE is missing
