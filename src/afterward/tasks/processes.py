"""Ends a process with everything that it has started, also what has left its group."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from pathlib import Path

_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Become the parent of what our children leave behind, so that it can be found and ended."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_all(pid: int) -> None:
    """Kill this process, its group, and what was left to us; all of it is gone afterwards."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)
    while children := _children():
        for child in children:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(child, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child, 0)


def _children() -> list[int]:
    """Only Linux leaves orphans to us; then all our children are what a trial left."""
    me = os.getpid()
    try:
        return [int(word) for word in Path(f"/proc/{me}/task/{me}/children").read_text().split()]
    except OSError:
        return []
