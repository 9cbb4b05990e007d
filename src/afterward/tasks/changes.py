"""Waits until one of some files changes: by asking for their times, which works on every file system."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable

State = dict[str, tuple[int, int]]


def state_of(files: Iterable[str]) -> State:
    """When each file was last changed, and how large it is. One that is not there has no entry."""
    found: State = {}
    for file in files:
        try:
            status = os.stat(file)
        except OSError:
            continue
        found[file] = (status.st_mtime_ns, status.st_size)
    return found


def wait_for_change(
    files: Callable[[], Iterable[str]], before: State, pause: float = 0.3, sleep: Callable[[float], None] = time.sleep
) -> list[str]:
    """The files that changed, came or went. An editor writes in several strokes, so it waits until they rest."""
    while True:
        sleep(pause)
        now = state_of(files())
        if now == before:
            continue
        while True:
            sleep(pause / 3)
            settled = state_of(files())
            if settled == now:
                break
            now = settled
        return sorted(file for file in {*before, *now} if before.get(file) != now.get(file))
