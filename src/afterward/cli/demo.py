"""`afterward demo`: list the shipped examples, run one and explain it."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from afterward.cli._output import print_row
from afterward.cli._parser import Parser

if TYPE_CHECKING:
    from afterward.tasks.demo import Example, Outcome, Program

_ERRORS = {
    "second_backward": 'raised "Trying to backward through the graph a second time"',
    "inplace": 'raised "modified by an inplace operation"',
    "no_grad": 'raised "does not require grad"',
}


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "demo",
        help="list the shipped examples, or run one and explain it",
        usage="afterward demo [--source] [--html FILE] [NAME [PROGRAM [-- ARGUMENTS ...]]]",
        description="Lists the shipped examples; with NAME, runs one as `afterward run` would, and explains it. "
        "The status is 0 if the example did what it says, 1 if not.",
        examples=("afterward demo", "afterward demo gan", "afterward demo --source gan wrong"),
    )
    parser.add_argument("--source", action="store_true", help="print the program instead of running it")
    parser.add_argument("--html", metavar="FILE", help="also write the run's report as a page")
    parser.add_argument("example", metavar="NAME", nargs="?", help="an example, such as same-loss-twice")
    parser.add_argument("program", metavar="PROGRAM", nargs="?", help="one of its programs (default: the first)")
    parser.add_argument("arguments", nargs="*", metavar="ARGUMENTS", help="passed on to the program")
    parser.set_defaults(perform=perform)


def perform(options: argparse.Namespace) -> int:
    from afterward.tasks import demo as task

    if options.example is None:
        _list(task.examples())
        return 0
    example = task.find_example(options.example)
    program = task.chosen(example, options.program)
    if options.source:
        print(program.path.read_text(encoding="utf-8"), end="")
        return 0
    task.require(example)
    _introduce(program)
    outcome = _run(program, options)
    _conclude(program, outcome)
    _lead_on(example, program)
    return 0 if outcome.as_told else 1


def _list(examples: list[Example]) -> None:
    width = max(len(example.name) for example in examples)
    for example in examples:
        print_row((f"{example.name:<{width}}",), example.title)
        print_row((" " * width,), example.summary)
    print("\n`afterward demo NAME` runs one and explains it; `--source` prints it.")


def _introduce(program: Program) -> None:
    print(f"{program.full_name}: {program.title}\n")
    if program.read:
        _fact("you may have read", program.read)
    _fact("what happens", program.happens)
    print(f"\n$ afterward run {program.full_name}.py", flush=True)


def _fact(name: str, text: str) -> None:
    print_row((f"  {name:<17}",), text)


def _run(program: Program, options: argparse.Namespace) -> Outcome:
    """By the door that everyone uses, from a folder in which the program lies as a file of the reader's own."""
    from afterward.cli import run as door
    from afterward.tasks import demo as task

    parser = Parser(prog="afterward")
    door.add_parser(parser.add_subparsers())
    page = ["--html", str(Path(options.html).absolute())] if options.html else []
    here = Path.cwd()
    with task.copied(program) as folder:
        report = folder / "report.json"
        os.chdir(folder)
        try:
            file = f"{program.full_name}.py"
            words = ["run", "--format", "json", "--out", str(report), *page, file, *options.arguments]
            door.perform(parser.parse_args(words))
        finally:
            os.chdir(here)
        return task.judged(program, report)


def _conclude(program: Program, outcome: Outcome) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    ended = _ERRORS.get(outcome.error, "ran to its end")
    found = " and ".join(outcome.codes) or "nothing"
    print()
    print_row((), f"The program {ended}; afterward found {found}.")
    if not outcome.as_told:
        expected = _ERRORS.get(program.raises, "runs to its end")
        print_row((), f"Here that differs from what we saw: it {expected}, with {program.finds or 'nothing'} found.")


def _lead_on(example: Example, program: Program) -> None:
    rows = [
        (f"afterward demo {example.name} {other.name}", other.title)
        for other in example.programs
        if other.name != program.name
    ]
    rows.append((f"afterward demo --source {example.name} {program.name}", "this program"))
    if program.finds:
        rows.append((f"afterward explain {program.finds}", "the page of the code"))
    width = max(len(command) for command, _ in rows)
    print()
    for command, what in rows:
        print_row((f"  {command:<{width}}",), what)
