"""The program's own calls on the stack."""

from __future__ import annotations

from collections.abc import Iterable
from types import FrameType
from typing import Any


def user_frames(frame: FrameType | None, is_user: Any) -> Iterable[FrameType]:
    while frame is not None:
        if is_user(frame.f_code.co_filename):
            yield frame
        frame = frame.f_back


def function_around(frame: FrameType, is_user: Any) -> str | None:
    """The name of the custom function whose backward made this call of the engine."""
    engine = frame.f_code
    caller: FrameType | None = frame.f_back
    innermost: str | None = None
    while caller is not None:
        if caller.f_code is engine:
            return innermost
        if is_user(caller.f_code.co_filename) and caller.f_code.co_name in ("backward", "vjp"):
            first = caller.f_code.co_varnames[0] if caller.f_code.co_varnames else ""
            innermost = type(caller.f_locals.get(first)).__name__.removesuffix("Backward")
        caller = caller.f_back
    return None
