"""The programs that both engines are asked about: cases, shipped examples, and random ones, made by name alone."""

from __future__ import annotations

import contextlib
import io
import random
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import afterward
from enginelab import trainings

KINDS = ("training", "operations")  # programs as people write them; statements in any order
TRIES = 200  # programs that are made for one that ends in an error of autograd

Source = Path | str


def cases(folders: list[Path]) -> Iterator[tuple[str, Source]]:
    for folder in folders:
        for file in sorted(folder.glob("*/buggy.py")):
            yield file.parent.name, file.parent


def examples() -> Iterator[tuple[str, Source]]:
    """The shipped programs that are wrong."""
    gallery = Path(afterward.__file__).parent / "gallery"
    for file in sorted(gallery.glob("*/wrong.py")):
        yield file.parent.name, file.read_text(encoding="utf-8")


def names(kinds: tuple[str, ...], count: int, seed: int) -> list[str]:
    """The names of so many random programs, the kinds in turn."""
    return [f"{kinds[number % len(kinds)]}-{seed}-{number}" for number in range(count)]


def named(name: str) -> str:
    """The random program of this name: the first of those made for it that ends in an error of autograd."""
    make = _MAKERS[name.split("-")[0]]
    for attempt in range(TRIES):
        text = make(f"{name}-{attempt}")
        if _fails(text):
            return text
    raise LookupError(name)


def _training(seed: str) -> str:
    return trainings.program(seed)


def _operations(seed: str) -> str:
    from lifelab.generate import Writer
    from lifelab.source import to_source

    chance = random.Random(seed)
    return to_source(Writer(chance.randrange).program())


_MAKERS: dict[str, Callable[[str], str]] = {"training": _training, "operations": _operations}


def _fails(text: str) -> bool:
    from lifelab.on_check import what_happens

    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        happens = what_happens(text)
    return happens is not None and happens[1] in ("second_backward", "inplace")
