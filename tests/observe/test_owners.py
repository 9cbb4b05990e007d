"""What libraries hold for the program."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from afterward.observe.provenance.owners import held_by_libraries

LIBRARY = """
class Runner:
    def run(self, function):
        return function()
"""


def _runner() -> Any:
    space: dict[str, Any] = {}
    exec(compile(LIBRARY, "library.py", "exec"), space)
    return space["Runner"]()


def _is_user(file: str) -> bool:
    return file == __file__


def test_only_calls_that_the_program_has_led_to_are_searched() -> None:
    trainer, test_runner = _runner(), _runner()
    frames: list[FrameType] = []

    def program() -> list[Any]:
        frames.append(sys._getframe())
        found: list[Any] = trainer.run(training_step)
        return found

    def training_step() -> list[Any]:
        frames.append(sys._getframe())
        return list(held_by_libraries(reversed(frames), _is_user))

    found = _called_by(test_runner, program)
    assert found == [trainer]


def _called_by(runner: Any, function: Callable[[], list[Any]]) -> list[Any]:
    result: list[Any] = runner.run(function)
    return result
