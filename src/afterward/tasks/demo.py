"""The shipped examples, for those who list, show and run them."""

from __future__ import annotations

import importlib.util
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from afterward.errors import ExampleNotRunnable
from afterward.gallery import Example, Program, examples, find_example

__all__ = ["Example", "Outcome", "Program", "chosen", "copied", "examples", "find_example", "judged", "require"]


@dataclass(frozen=True)
class Outcome:
    """What a run of an example came to, and whether the example's page says so."""

    error: str
    codes: tuple[str, ...]
    as_told: bool


def chosen(example: Example, program: str | None) -> Program:
    return example.program(program) if program else example.programs[0]


def require(example: Example, is_there: Callable[[str], object] = importlib.util.find_spec) -> None:
    """Say in one line what has to be installed for an example to run."""
    if not is_there("torch"):
        raise ExampleNotRunnable("the examples need PyTorch, 2.4 or later: pip install torch")
    if example.needs is not None and not is_there(example.needs[0]):
        module, extra = example.needs
        raise ExampleNotRunnable(f"the example {example.name} needs {module}: pip install 'afterward[{extra}]'")


@contextmanager
def copied(program: Program) -> Iterator[Path]:
    """The program in a folder of its own, as a reader's file: what lies in our package is not watched."""
    with tempfile.TemporaryDirectory(prefix="afterward-demo-", ignore_cleanup_errors=True) as folder:
        place = Path(folder, program.example)
        place.mkdir()
        shutil.copy(program.path, place)
        yield Path(folder)


def judged(program: Program, report: Path) -> Outcome:
    """Compare a JSON report of the program with what its page says."""
    return compared(program, json.loads(report.read_text(encoding="utf-8")))


def compared(program: Program, report: dict[str, object]) -> Outcome:
    ended, found = report["program"], report["findings"]
    assert isinstance(ended, dict)
    assert isinstance(found, list)
    error = ended["error"] or ""
    codes = tuple(
        finding["code"] for finding in found if finding["severity"] != "info" or finding["code"] == program.finds
    )
    expected = (program.finds,) if program.finds else ()
    ran = bool(error) or ended["exit"] == 0
    return Outcome(error, codes, ran and error == program.raises and codes == expected)
