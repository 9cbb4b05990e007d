"""The program's own calls on the stack."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Container, Iterable, Iterator, Sequence
from types import FrameType, TracebackType
from typing import Any

from afterward.observe.node_numbers import works_for_the_program

try:
    from afterward.observe.marks._tape import locals_of as locals_of
except ImportError:  # none was built, or one for an older afterward

    def locals_of(frame: FrameType, /) -> dict[str, Any]:
        """The variables of a frame."""
        return frame.f_locals


def outward(frame: FrameType | None) -> Iterator[FrameType]:
    """A frame and those around it, innermost first. A thread of the engine's works for the program, which waits in it:
    what is around a hook there is the program's own call of `backward`."""
    while frame is not None:
        yield frame
        frame = frame.f_back
    if works_for_the_program():
        frame = sys._current_frames().get(threading.main_thread().ident or 0)
        while frame is not None:
            yield frame
            frame = frame.f_back


def user_frames(frame: FrameType | None, is_user: Any) -> Iterable[FrameType]:
    return (one for one in outward(frame) if is_user(one.f_code.co_filename))


_DOORS = tuple(
    os.path.join("torch", *rest) for rest in (("autograd", "graph.py"), ("autograd", "__init__.py"), ("_tensor.py",))
)


def called_by_library(frame: FrameType | None, is_user: Any) -> bool:
    """Was a pass begun by a library on its own account, such as `torch.func`, and not by the program itself?"""
    ours = os.path.dirname(os.path.dirname(__file__))  # all of `observe`
    for one in outward(frame):
        file = one.f_code.co_filename
        if not file.startswith(ours) and not file.endswith(_DOORS):
            return not is_user(file)
    return False


def function_around(frame: FrameType, is_user: Any) -> str | None:
    """The name of the custom function whose backward made this call of the engine."""
    engine = frame.f_code
    innermost: str | None = None
    for caller in outward(frame.f_back):
        if caller.f_code is engine:
            return innermost
        if is_user(caller.f_code.co_filename) and caller.f_code.co_name in ("backward", "vjp"):
            first = caller.f_code.co_varnames[0] if caller.f_code.co_varnames else ""
            innermost = type(locals_of(caller).get(first)).__name__.removesuffix("Backward")
    return None


FRAMES = 64  # of a library's calls, at most


def library_calls(frame: FrameType | None, is_user: Any) -> tuple[str, ...]:
    """The calls of a library between the program's own statement and the engine, innermost first, as file and line."""
    ours = os.path.dirname(os.path.dirname(__file__))
    found: list[str] = []
    for one in outward(frame):
        file = one.f_code.co_filename
        if len(found) == FRAMES or is_user(file):
            break
        if not file.startswith(ours) and not file.endswith(_DOORS):
            found.append(f"{file}:{one.f_lineno}")
    return tuple(found)


def step_around(frames: Sequence[FrameType], optimizers: Container[int]) -> tuple[int, int]:
    """The optimizer, by its address, whose step is running further out on this stack, as it does around its closure;
    and how many of the program's own frames, innermost first, lie inside of it. (0, 0): none is."""
    inside = 0
    for frame in outward(frames[0] if frames else None):
        if frame in frames:
            inside = frames.index(frame) + 1
        elif frame.f_code.co_name == "step" and id(locals_of(frame).get("self")) in optimizers:
            return id(locals_of(frame)["self"]), inside
    return 0, 0


def runs_inside_another(frame: FrameType | None, engine: Any) -> bool:
    """Is a pass running already, further out on this stack? A checkpoint's backward and some functions make one."""
    met, code = 0, getattr(engine, "__code__", None)
    for one in outward(frame):
        met += one.f_code is code
        if met > 1:
            return True
    return False


_HERE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def without_our_frames(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback as Python alone would have it."""
    kept = []
    while traceback is not None:
        if not traceback.tb_frame.f_code.co_filename.startswith(_HERE + os.sep):
            kept.append(traceback)
        traceback = traceback.tb_next
    result: TracebackType | None = None
    for one in reversed(kept):
        try:
            result = TracebackType(result, one.tb_frame, one.tb_lasti, one.tb_lineno)
        except TypeError:  # an entry without a line, as generated code may have
            result = TracebackType(result, one.tb_frame, one.tb_lasti, -1)
    return result
