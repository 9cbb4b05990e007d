"""Marks for a program that was not compiled with them: from `sys.monitoring`, or `sys.settrace` before Python 3.12.

Dearer than compiled marks (docs/watch.md has the measured cost), but just as exact.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import opcode
import sys
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import CodeType, FrameType
from typing import Any

from afterward.follow.nodes import LOOPS
from afterward.follow.reading import head_end
from afterward.observe.looking import warn
from afterward.observe.marks.exchanging import Exchange, exchange_for
from afterward.observe.marks.marking import is_mark, marking_of
from afterward.observe.marks.monitored import MARKER, can_monitor, monitored
from afterward.observe.marks.notebook_cells import name_of_cell
from afterward.observe.marks.statements import ENTER, EXIT, HEAD, LOOP, RESUME, SUSPEND, WHOLE, Statement
from afterward.observe.marks.userfiles import is_user_file
from afterward.observe.provenance.sources import Sources
from afterward.observe.recording.recorder import Recorders

TRACED = "afterward: a debugger or a coverage tool traces this program, so no line can be named; use `afterward run`"


@contextmanager
def lines_marked(recorders: Recorders, on_gap: Callable[[str], None]) -> Iterator[None]:
    """Within this block, every line of the program's own files that begins is marked."""
    running, exchange = sys._getframe(2), exchange_for(recorders.statements, on_gap)
    marker = LineMarker(recorders, exchange)
    marker.enter_running_calls(running)
    if exchange is None:
        with _lines_told(marker, running):
            yield
        return
    try:
        with nullcontext() if exchange.is_done(running) else _lines_told(marker, running):
            yield
    finally:
        exchange.undo(sys._getframe())


@contextmanager
def _lines_told(marker: LineMarker, running: FrameType) -> Iterator[None]:
    """Within this block, the interpreter tells of the lines of what has no marks."""
    if not hasattr(sys, "monitoring") and sys.gettrace() is not None:
        # There is one place for a tracer before Python 3.12. Without marks no line is named, and none that is stale.
        warn(TRACED)
        marker.stop()
        yield
        return
    with _source(marker, running):
        yield


def _source(marker: LineMarker, running: FrameType) -> AbstractContextManager[None]:
    if can_monitor():
        return monitored(marker, marking_of(marker.recorders.statements), running)
    return _monitoring(marker) if hasattr(sys, "monitoring") else _tracing(marker)


class LineMarker:
    """Turns line, call and return events into marks."""

    def __init__(self, recorders: Recorders, exchange: Exchange | None = None) -> None:
        self.recorders = recorders
        self.exchange = exchange
        self.files = Sources(recorders.statements)
        self.outlines: dict[str, _Outline] = {}
        self.scopes: dict[CodeType, int] = {}
        self.numbers: dict[tuple[CodeType, int], int] = {}
        self.ways: dict[tuple[CodeType, int], int] = {}
        self.watched: dict[CodeType, bool] = {}
        self.names: dict[str, str] = {}
        self.last: dict[int, int] = {}  # the statement that each thread is in

    def stop(self) -> None:
        """Nothing is to be marked, nor was."""
        if self.exchange is not None:
            self.exchange.undo(sys._getframe())
        self.recorders.current().forget_marks()

    def is_watched(self, code: CodeType) -> bool:
        if self.exchange is not None:
            return self.exchange.lacks_marks(code)
        known = self.watched.get(code)
        if known is None:
            known = self.watched[code] = is_user_file(code.co_filename)
        return known

    def enter_running_calls(self, frame: FrameType | None) -> None:
        """The calls that were already running: they are on the stack though nothing saw them enter."""
        frames = []
        while frame is not None:
            if self.is_watched(frame.f_code):
                frames.append(frame)
            frame = frame.f_back
        for running in reversed(frames):
            self.entered(running.f_code)
            self.line(running.f_code, running.f_lineno)

    def entered(self, code: CodeType) -> None:
        self._mark(self.number_of_way(code, ENTER))

    def resumed(self, code: CodeType) -> None:
        self._mark(self.number_of_way(code, RESUME))

    def left(self, code: CodeType) -> None:
        self._mark(self.number_of_way(code, EXIT))

    def suspended(self, code: CodeType) -> None:
        self._mark(self.number_of_way(code, SUSPEND))

    def line(self, code: CodeType, line: int) -> None:
        self._mark(self.number_of_line(code, line))

    def number_of_line(self, code: CodeType, line: int) -> int:
        number = self.numbers.get((code, line))
        if number is None:
            number = self.numbers[code, line] = self._number(code, line)
        return number

    def _mark(self, number: int) -> None:
        thread = threading.get_ident()
        if self.last.get(thread) == number and not self.recorders.statements.table[number].flags:
            return  # another line of the same statement
        self.last[thread] = number
        self.recorders.mark(number)

    def _file(self, code: CodeType) -> str:
        """The file of a piece of code, or the name of a notebook's cell."""
        file = code.co_filename
        if file not in self.names:
            cell = name_of_cell(file)
            if cell is not None:
                self.recorders.statements.sources[cell] = "".join(linecache.getlines(file))
                linecache.cache[cell] = linecache.cache[file]  # so that it can be shown by that name
            self.names[file] = cell or file
        return self.names[file]

    def _scope(self, code: CodeType) -> int:
        scope = self.scopes.get(code)
        if scope is None:
            own = next((one.scope for _, one in self._marks_in(code)), None)
            scope = self.scopes[code] = own if own is not None else self.recorders.statements.new_scope()
        return scope

    def _marks_in(self, code: CodeType) -> Iterator[tuple[int, Statement]]:
        """The statements of the same code with marks: a call may go on in that, in the same loops."""
        marked = self.exchange.with_marks(code) if self.exchange is not None else None
        table = self.recorders.statements.table
        return ((mark.number, table[mark.number]) for mark in (marked.co_consts if marked else ()) if is_mark(mark))

    def number_of_way(self, code: CodeType, flag: int) -> int:
        """The number of a way into or out of a function."""
        number = self.ways.get((code, flag))
        if number is None:
            entry = Statement(
                self._file(code),
                code.co_firstlineno,
                code.co_firstlineno,
                0,
                None,
                self._scope(code),
                _name(code),
                flag,
                (),
            )
            number = self.ways[code, flag] = self.recorders.statements.add(entry)
        return number

    def _number(self, code: CodeType, line: int) -> int:
        file = self._file(code)
        outline = self.outlines.get(file)
        if outline is None:
            outline = self.outlines[file] = _Outline(self.files.text(file))
        statement = outline.statement_on(line)
        scope = self._scope(code)
        if statement is None:
            entry = Statement(file, line, line, 0, None, scope, _name(code), 0, ())
            return self.recorders.statements.add(entry)
        known = self.numbers.get((code, statement.lineno))
        if known is not None and statement.lineno != line:
            return known
        loops = tuple(self._loop(code, loop) for loop in outline.loops_around(statement))
        end_line, end_column = head_end(statement)
        flags = 0
        if isinstance(statement, LOOPS):
            flags = HEAD | WHOLE if statement.body[0].lineno == statement.lineno else HEAD
        entry = Statement(
            file,
            statement.lineno,
            end_line,
            statement.col_offset,
            end_column,
            scope,
            _name(code),
            flags,
            loops,
        )
        number = self.recorders.statements.add(entry)
        if flags:
            self.recorders.statements.heads[number] = self._marked_loop(code, statement, number)
        self.numbers[code, statement.lineno] = number
        return number

    def _loop(self, code: CodeType, loop: ast.stmt) -> int:
        number = self.numbers.get((code, loop.lineno))
        number = number if number is not None else self._number(code, loop.lineno)
        return self.recorders.statements.heads.get(number, number)

    def _marked_loop(self, code: CodeType, loop: ast.stmt, otherwise: int) -> int:
        """The number that a loop has in the same code with marks."""
        places = ((number, (one.line, one.column, one.flags & LOOP)) for number, one in self._marks_in(code))
        return next((number for number, place in places if place == (loop.lineno, loop.col_offset, LOOP)), otherwise)


def _name(code: CodeType) -> str:
    name = getattr(code, "co_qualname", code.co_name).replace("<locals>.", "")
    return "" if name == "<module>" else name


class _Outline:
    """The statements of a file by line, and the loops around each."""

    def __init__(self, text: str) -> None:
        self.by_line: list[tuple[int, ast.stmt]] = []
        self.loops: dict[ast.stmt, tuple[ast.stmt, ...]] = {}
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            return
        todo: list[tuple[ast.AST, tuple[ast.stmt, ...]]] = [(tree, ())]
        while todo:
            node, loops = todo.pop()
            inner = loops
            if isinstance(node, ast.stmt):
                self.loops[node] = loops
                self.by_line.append((node.lineno, node))
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                inner = ()
            elif isinstance(node, LOOPS):
                inner = (*loops, node)
                todo += [(child, loops) for child in node.orelse]
            orelse = set(getattr(node, "orelse", [])) if isinstance(node, LOOPS) else set()
            todo += [(child, inner) for child in ast.iter_child_nodes(node) if child not in orelse]
        self.by_line.sort(key=lambda pair: (pair[0], pair[1].col_offset))
        self.starts = [line for line, _ in self.by_line]

    def statement_on(self, line: int) -> ast.stmt | None:
        """The innermost statement that is running when a line begins: the last one to start on or before it."""
        position = bisect_right(self.starts, line) - 1 if self.by_line else -1
        while position >= 0:
            statement = self.by_line[position][1]
            if (statement.end_lineno or statement.lineno) >= line:
                # A loop and its body on one line are one to whoever sees lines only.
                return next((loop for loop in self.loops[statement] if loop.lineno == statement.lineno), statement)
            position -= 1
        return None

    def loops_around(self, statement: ast.stmt) -> tuple[ast.stmt, ...]:
        return self.loops[statement]


def _yields(frame: FrameType) -> bool:
    """Is this "return" event a `yield`? Then the frame will go on later."""
    if not frame.f_code.co_flags & inspect.CO_GENERATOR or frame.f_lasti < 0:
        return False
    return frame.f_code.co_code[frame.f_lasti] == opcode.opmap["YIELD_VALUE"]


@contextmanager
def _tracing(marker: LineMarker) -> Iterator[None]:
    previous = sys.gettrace()
    waiting: set[int] = set()  # frames of generators that have yielded

    def local(frame: FrameType, event: str, argument: Any) -> Any:
        if not marker.is_watched(frame.f_code):  # it has taken other code
            frame.f_trace = None
            return None
        if event == "line":
            marker.line(frame.f_code, frame.f_lineno)
        elif event == "return" and _yields(frame):
            waiting.add(id(frame))
            marker.suspended(frame.f_code)
        elif event == "return":
            marker.left(frame.f_code)
        return local

    def enter(frame: FrameType, event: str, argument: Any) -> Any:
        if marker.exchange is not None and _called_by_user(frame) and marker.exchange.is_done(frame):
            end()
            return None
        if not marker.is_watched(frame.f_code):
            return None
        if id(frame) in waiting:
            waiting.discard(id(frame))
            marker.resumed(frame.f_code)
        else:
            marker.entered(frame.f_code)
        return local

    def end() -> None:
        if sys.gettrace() is enter:
            sys.settrace(previous)
        if threading.gettrace() is enter:
            threading.settrace(previous)  # type: ignore[arg-type]
        marker.recorders.is_marking = lambda: True

    sys.settrace(enter)
    threading.settrace(enter)
    marker.recorders.is_marking = lambda: _is_still_ours(enter)
    frame: FrameType | None = sys._getframe()
    while frame is not None:  # calls that are running already are traced from their next line on
        if marker.is_watched(frame.f_code):
            frame.f_trace = local
        frame = frame.f_back
    try:
        yield
    finally:
        end()


def _called_by_user(frame: FrameType) -> bool:
    """Was this call made by one of the program's own? That may take other code now."""
    return frame.f_back is not None and is_user_file(frame.f_back.f_code.co_filename)


def _is_still_ours(tracer: Any) -> bool:
    """A debugger that the program has called (`breakpoint()`) takes the tracer's place, and leaves it empty."""
    return sys.gettrace() is tracer or threading.current_thread() is not threading.main_thread()


def _line_at(code: CodeType, offset: int) -> int:
    return next((line for start, end, line in code.co_lines() if start <= offset < end and line is not None), 0)


@contextmanager
def _monitoring(marker: LineMarker) -> Iterator[None]:
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
    events = monitoring.events

    def guarded(report: Callable[..., None]) -> Callable[..., Any]:
        def callback(code: CodeType, *details: Any) -> Any:
            if not marker.is_watched(code):
                return monitoring.DISABLE
            report(code, *details)
            return None

        return callback

    def unwound(code: CodeType, *details: Any) -> None:
        if marker.is_watched(code):
            marker.left(code)

    def jumped(code: CodeType, offset: int, destination: int) -> Any:
        """Back to the line that it came from: another iteration of a loop on one line, which is no new line."""
        line = _line_at(code, offset)
        if destination >= offset or line != _line_at(code, destination) or not marker.is_watched(code):
            return monitoring.DISABLE
        marker.line(code, line)
        return None

    callbacks: dict[int, Callable[..., Any]] = {
        events.LINE: guarded(marker.line),
        events.PY_START: guarded(lambda code, offset: marker.entered(code)),
        events.PY_RESUME: guarded(lambda code, offset: marker.resumed(code)),
        events.PY_RETURN: guarded(lambda code, offset, value: marker.left(code)),
        events.PY_YIELD: guarded(lambda code, offset, value: marker.suspended(code)),
        events.PY_UNWIND: unwound,
        events.JUMP: jumped,
    }
    monitoring.use_tool_id(MARKER, "afterward")
    try:
        wanted = 0
        for event, callback in callbacks.items():
            monitoring.register_callback(MARKER, event, callback)
            wanted |= event
        monitoring.set_events(MARKER, wanted)
        yield
    finally:
        monitoring.set_events(MARKER, 0)
        for event in callbacks:
            monitoring.register_callback(MARKER, event, None)
        monitoring.free_tool_id(MARKER)
        monitoring.restart_events()
