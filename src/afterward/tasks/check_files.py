"""Checks many files on all cores: each worker keeps what the files of a project share."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable, Iterator

from afterward.tasks.check_file import Shared, check_file, unreadable
from afterward.tasks.checked import Checked

Progress = Callable[[int, int], None]

_MANY = 12  # files, from which on processes pay
_CHUNK = 16
_YOUNG = 1_000_000  # objects made and not yet gone, from which on it pays to look for garbage


def check_files(files: list[str], jobs: int, progress: Progress | None) -> Iterator[Checked]:
    """What came of each file, in order."""
    jobs = jobs or os.cpu_count() or 1
    few = len(files) < _MANY or jobs == 1
    done = _one_by_one(files) if few else _on_cores(files, jobs)
    for number, checked in enumerate(done, 1):
        yield checked
        if progress is not None:
            progress(number, len(files))


def _one_by_one(files: list[str]) -> Iterator[Checked]:
    worker = Worker()
    was_on = gc.isenabled()
    gc.disable()
    try:
        for file in files:
            yield worker.check(file)
    finally:
        if was_on:
            gc.enable()


def _on_cores(files: list[str], jobs: int) -> Iterator[Checked]:
    """A worker that dies takes its pool along: the files it had are tried one by one, the rest go to a new pool."""
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    _warm_up()
    size = max(1, min(_CHUNK, len(files) // (4 * jobs)))
    chunks = [files[start : start + size] for start in range(0, len(files), size)]
    while chunks:
        with ProcessPoolExecutor(min(jobs, len(chunks)), initializer=begin) as pool:
            futures = [pool.submit(_check_some, chunk) for chunk in chunks]
            finished = 0
            try:
                for future in futures:
                    yield from future.result()
                    finished += 1
            except BrokenProcessPool:
                pass
        first, *chunks = chunks[finished:] or [[]]
        if len(first) == 1:
            yield unreadable(first[0], f"{first[0]}: could not be checked: the process ended")
        else:
            chunks = [*([file] for file in first), *chunks]


def _warm_up() -> None:
    """Load what every worker needs, once, before they branch off."""
    from afterward.model.life.table import table
    from afterward.rules import all_rules

    all_rules()
    table()


# In a worker


class Worker:
    """Checks one file after the other, and sees to garbage in between: while a file is checked, much lives and there is
    little to collect. Only what is new is looked at; what is left of that is shared by files, and stays."""

    def __init__(self) -> None:
        self.shared = Shared()

    def check(self, file: str) -> Checked:
        if self.shared.is_large:
            self.shared.sources.shelf.dismantle()
            self.shared = Shared()
        done = check_file(file, self.shared)
        if gc.get_count()[0] > _YOUNG:
            gc.collect(1)
        return done


WORKER = Worker()


def begin() -> None:
    """A process begins its work."""
    gc.freeze()
    gc.disable()


def _check_some(files: Iterable[str]) -> list[Checked]:
    return [WORKER.check(file) for file in files]
