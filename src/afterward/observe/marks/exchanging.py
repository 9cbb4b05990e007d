"""Puts marks into a program that runs already: its functions and the calls that are running get the code with marks.

For Python 3.11, whose only other way to tell of a line is a tracer: that costs every line a call. A function takes
other code at any time. A call that runs takes it while a function that it has called runs (`_exchange.c`); until all of
them have, the tracer goes on.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from types import AsyncGeneratorType, CodeType, CoroutineType, FrameType, FunctionType, GeneratorType
from typing import Any
from weakref import WeakKeyDictionary

from afterward.observe.marks.importing import exchange, marked_code
from afterward.observe.marks.marking import marking_of
from afterward.observe.marks.pickling import FUTURES, codes_in
from afterward.observe.marks.statements import Statements
from afterward.observe.marks.userfiles import is_user_file

_CALLS = ("CALL", "BINARY_SUBSCR")  # what calls a Python function without another loop of the interpreter
_SUSPENDED = (GeneratorType, CoroutineType, AsyncGeneratorType)


_plain: WeakKeyDictionary[CodeType, CodeType] = WeakKeyDictionary()  # of code with marks, those of other watches too


class Exchange:
    """The code with marks of what runs without."""

    def __init__(self, statements: Statements, on_gap: Callable[[str], None]) -> None:
        self.statements = statements
        self.on_gap = on_gap
        self._marked: dict[tuple[str, CodeType], CodeType] = {}  # by file and code without marks
        self._files: set[str] = set()
        self._tries = self._scans = 0

    def lacks_marks(self, code: CodeType) -> bool:
        """Is it the program's own, and without marks of this watch?"""
        return is_user_file(code.co_filename) and code not in marking_of(self.statements).bound

    def is_done(self, frame: FrameType | None) -> bool:
        """Give what can be had now the code with marks, from this call outwards; is there nothing left without?"""
        calls = [one for one in _outward(frame) if is_user_file(one.f_code.co_filename)]
        lacking = [one for one in calls if self.lacks_marks(one.f_code)]
        left = [one for one in lacking if not self._exchanged(one, self.with_marks(one.f_code))]
        if len(left) < len(lacking) or not self._tries:
            self._functions()
        self._tries += 1
        return bool(calls) and not left and self._none_waits()

    def undo(self, frame: FrameType | None) -> None:
        """Give everything its own code back, as far as it can be had now; marks that are left do nothing."""
        for function in _all(FunctionType):
            plain = _plain.get(function.__code__)
            if plain is not None:
                function.__code__ = plain
        for one in _outward(frame):
            self._exchanged(one, _plain.get(one.f_code))

    def _functions(self) -> None:
        for function in _all(FunctionType):
            code = function.__code__
            if self.lacks_marks(code) and (marked := self.with_marks(code)) is not None:
                function.__code__ = marked
                _plain[marked] = _plain.get(code, code)  # the very same will be given back

    def _none_waits(self) -> bool:
        """Is there no generator of the program's that was left, and will go on without marks?"""
        self._scans += 1
        if self._scans & (self._scans - 1):  # ever more rarely: it goes through all that is alive
            return False
        frames = (_frame_of(one) for kind in _SUSPENDED for one in _all(kind))
        return not any(frame is not None and self.lacks_marks(frame.f_code) for frame in frames)

    def _exchanged(self, frame: FrameType, code: CodeType | None) -> bool:
        unit = _same_call(frame.f_code, frame.f_lasti // 2, code) if code is not None else None
        return code is not None and unit is not None and exchange(frame, code, unit)

    def with_marks(self, code: CodeType) -> CodeType | None:
        """The same code with marks; None where it cannot be had."""
        file = code.co_filename
        if file not in self._files:
            self._files.add(file)
            self._mark_file(file, code.co_flags & FUTURES)
        return self._marked.get((file, _plain.get(code, code)))

    def _mark_file(self, file: str, flags: int) -> None:
        """Compile a file as Python does, and with marks. Code that is not what the file says stays as it is."""
        try:
            with open(file, "rb") as stream:
                data = stream.read()
            plain = compile(data, file, "exec", flags=flags, dont_inherit=True)
            marked = marked_code(data, file, self.statements, self.on_gap)
        except (OSError, SyntaxError, ValueError, RecursionError):
            return
        for one, other in zip(codes_in(plain), codes_in(marked), strict=True):
            self._marked[file, one] = other
            if one != other:
                _plain[other] = one


def exchange_for(statements: Statements, on_gap: Callable[[str], None]) -> Exchange | None:
    """What puts marks into what runs; None where this Python has another way."""
    return Exchange(statements, on_gap) if exchange is not None else None


def _all(kind: type) -> Iterator[Any]:
    return (one for one in gc.get_objects() if type(one) is kind)


def _outward(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _frame_of(suspended: Any) -> FrameType | None:
    for name in ("gi_frame", "cr_frame", "ag_frame"):
        if hasattr(suspended, name):
            frame: FrameType | None = getattr(suspended, name)
            return frame
    return None


def _same_call(code: CodeType, unit: int, other: CodeType) -> int | None:
    """Where an instruction that calls stands in the same function with marks, or without."""
    ways = _calls_of(code), _calls_of(other)
    for key, units in ways[0].items():
        if unit in units and len(ways[1].get(key, ())) == len(units):
            return ways[1][key][units.index(unit)]
    return None


def _calls_of(code: CodeType) -> dict[Any, list[int]]:
    """The last units of the instructions that call, by what they stand for in the source."""
    import dis

    found: dict[Any, list[int]] = {}
    numbers = {dis.opmap[name] for name in _CALLS}
    units, places = code.co_code[::2], list(code.co_positions())  # type: ignore[attr-defined,unused-ignore]
    for at, what in enumerate(units):
        if what in numbers:
            last = at
            while last + 1 < len(units) and units[last + 1] == 0:  # a cache
                last += 1
            found.setdefault((what, places[at]), []).append(last)
    return found
