"""Calls of the Linux kernel that Python has no function for."""

from __future__ import annotations

import ctypes
import os


class NotAllowed(OSError):
    """This system does not let us make such a view."""


def libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def mount_at(source: str, target: str, kind: str | None, flags: int, options: str = "") -> None:
    words = [os.fsencode(source), os.fsencode(target), kind.encode() if kind else None]
    checked(libc().mount(*words, ctypes.c_ulong(flags), os.fsencode(options) if options else None), f"mount {target}")


def mounted(source: str, target: str, kind: str, options: str) -> bool:
    try:
        mount_at(source, target, kind, 0, options)
    except OSError:
        return False
    return True


def checked(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise NotAllowed(number, os.strerror(number), what)
