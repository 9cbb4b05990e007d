"""Marks from `sys.monitoring`, answered in C (`_lines.c`): Python 3.12 and later.

Two tools share the work. One is told of every piece of code when it first runs, and says which are the program's own;
it is never told of the same one again. The other is told of the lines, calls and returns of those, for as long as
there is something to be noted in them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any, Protocol
from weakref import ref

from afterward.observe.looking import interruption
from afterward.observe.marks.marking import Marking
from afterward.observe.marks.statements import ENTER, EXIT, RESUME, SUSPEND

try:
    from afterward.observe.marks._tape import Lines
except ImportError:  # none was built, one for an older afterward, or this Python has no monitoring
    Lines = None  # type: ignore[assignment,misc]

MARKER, FINDER = 4, 3  # sys.monitoring has six places for tools; these are not reserved
_WAYS = (ENTER, EXIT, RESUME, SUSPEND)  # as in _lines.c


class Numbering(Protocol):
    """Gives numbers to lines, and to the ways into a function and out of it."""

    def is_watched(self, code: CodeType) -> bool: ...

    def number_of_line(self, code: CodeType, line: int) -> int: ...

    def number_of_way(self, code: CodeType, flag: int) -> int: ...


def can_monitor() -> bool:
    """Is there what it takes: this Python, the part in C, and two free places?"""
    monitoring = getattr(sys, "monitoring", None)
    return (
        monitoring is not None
        and Lines is not None
        and monitoring.get_tool(MARKER) is None
        and monitoring.get_tool(FINDER) is None
    )


def _answered(answer: Callable[..., Any], otherwise: Any) -> Callable[..., Any]:
    """For what asks inside the program: a mistake of ours is no answer."""

    def answered(*args: Any) -> Any:
        try:
            return answer(*args)
        except BaseException as error:
            return interruption(error) or otherwise

    return answered


@contextmanager
def monitored(marker: Numbering, marking: Marking, running: FrameType | None) -> Iterator[None]:
    """Within this block, the lines of the program's own files are marked; `running` and its callers run already."""
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
    of = monitoring.events
    local = of.LINE | of.PY_START | of.PY_RESUME | of.PY_RETURN | of.PY_YIELD | of.JUMP

    watched: dict[int, ref[CodeType]] = {}

    def knows(code: CodeType) -> bool:
        if not marker.is_watched(code):
            return False
        marking.board.attach(code, True)
        number = id(code)
        watched[number] = ref(code, lambda gone: watched.pop(number, None) and None)
        monitoring.set_local_events(MARKER, code, local)
        return True

    def line_of(code: CodeType, line: int) -> Any:
        return marking.mark_of(marker.number_of_line(code, line))

    def way_of(code: CodeType, which: int) -> Any:
        return marking.mark_of(marker.number_of_way(code, _WAYS[which]))

    lines = Lines(
        marking.board,
        monitoring.DISABLE,
        _answered(knows, False),
        _answered(line_of, None),
        _answered(way_of, None),
        monitoring.set_local_events,
        MARKER,
        local,
    )
    callbacks = {
        (MARKER, of.LINE): lines.line,
        (MARKER, of.PY_START): lines.entered,
        (MARKER, of.PY_RESUME): lines.resumed,
        (MARKER, of.PY_RETURN): lines.left,
        (MARKER, of.PY_YIELD): lines.suspended,
        (MARKER, of.PY_UNWIND): lines.unwound,
        (MARKER, of.JUMP): lines.jumped,
        (FINDER, of.PY_START): lines.first_entered,
        (FINDER, of.PY_RESUME): lines.first_resumed,
    }
    marking.number_of_line = marker.number_of_line
    monitoring.use_tool_id(MARKER, "afterward")
    monitoring.use_tool_id(FINDER, "afterward")
    try:
        for (tool, event), callback in callbacks.items():
            monitoring.register_callback(tool, event, callback)
        while running is not None:
            lines.known(running.f_code)
            running = running.f_back
        monitoring.set_events(MARKER, of.PY_UNWIND)
        monitoring.set_events(FINDER, of.PY_START | of.PY_RESUME)
        yield
    finally:
        lines.close()
        for code in [one() for one in list(watched.values())]:
            if code is not None:
                monitoring.set_local_events(MARKER, code, 0)
        for tool, event in callbacks:
            monitoring.register_callback(tool, event, None)
        for tool in (MARKER, FINDER):
            monitoring.set_events(tool, 0)
            monitoring.free_tool_id(tool)
        monitoring.restart_events()
