"""Puts marks into compiled code as constants, so that a mark looks up no name in a namespace of the program's.

`rewrite` writes `-"placeholder"` before a statement; here each placeholder becomes a `Mark`, which writes itself down
when it is negated. `_marks.c` says when a mark is switched off.
"""

from __future__ import annotations

import inspect
import opcode
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import CodeType
from typing import Any
from weakref import WeakSet

from afterward.observe.looking import interruption
from afterward.observe.marks.statements import (
    ENTER,
    EXIT,
    FIRST,
    HEAD,
    KEEPS,
    NEXT,
    RESUME,
    SUSPEND,
    TOLD,
    Statement,
    Statements,
)  # fmt: skip

try:
    from afterward.observe.marks import _tape

    _tape.Board  # noqa: B018 - one that was built for an older afterward is none
except (ImportError, AttributeError):
    _tape = None  # type: ignore[assignment]

PLACEHOLDER = "\0afterward "  # then the number of the statement, and a number of its own
_ENTERS, _TURNS, _LINE, _TELLS = 1, 2, 4, 8  # as in _marks.c
_NO_STATEMENT = EXIT | NEXT | SUSPEND | RESUME | TOLD | KEEPS


class PythonBoard:
    """What `Board` does, without C: marks are always on."""

    def __init__(self) -> None:
        self.call: Callable[[int], None] | None = None

    def use(self, tape: Any, call: Callable[[int], None] | None = None) -> None:
        self.call = call

    def attach(self, code: CodeType, is_call: bool) -> None:
        """There is nothing to switch."""

    def off(self) -> int:
        return 0


class PythonMark:
    """What `Mark` does, without C."""

    __slots__ = ("board", "number", "ordinal")

    def __init__(self, board: PythonBoard, number: int, flags: int, ordinal: int) -> None:
        self.board = board
        self.number = number
        self.ordinal = ordinal

    def __neg__(self) -> None:
        if self.board.call is not None:
            self.board.call(self.number)


Mark: Any = _tape.Mark if _tape is not None else PythonMark


def _configure() -> None:
    names = (
        "EXTENDED_ARG", "LOAD_CONST", "UNARY_NEGATIVE", "POP_TOP", "BUILD_TUPLE", "BINARY_SUBSCR", "JUMP_FORWARD",
        "LOAD_FAST", "LOAD_FAST__LOAD_CONST", "JUMP_IF_TRUE_OR_POP", "COPY", "TO_BOOL", "POP_JUMP_IF_TRUE",
        "EXTENDED_ARG_QUICK",
    )  # fmt: skip
    numbers = {**opcode.opmap, **_specialized()}
    _tape.configure(*(numbers.get(name, 0) for name in names))


def _specialized() -> dict[str, int]:
    """The numbers of instructions that only a running interpreter has: Python counts them, and does not say so."""
    names: list[str] = list(getattr(opcode, "_specialized_instructions", ()))
    free = iter(number for number in range(1, 256) if number not in set(opcode.opmap.values()))
    return dict(zip(names, free, strict=False))


if _tape is not None:
    _configure()


def marking_of(statements: Statements) -> Marking:
    """What puts marks for these statements into code."""
    if statements.marking is None:
        statements.marking = Marking(statements)
    marking: Marking = statements.marking
    return marking


def _asked(answer: Callable[..., int]) -> Callable[..., Any]:
    """For the board, which asks inside the program: a mistake of ours is no answer."""

    def asked(*args: Any) -> Any:
        try:
            return answer(*args)
        except BaseException as error:
            return interruption(error) or -1

    return asked


class Marking:
    """The marks of one program: what `rewrite` left a place for becomes a constant of the code."""

    def __init__(self, statements: Statements) -> None:
        self.statements = statements
        self.board: Any = _tape.Board(_asked(self._locate), _asked(self._keeps)) if _tape is not None else PythonBoard()
        self._use: tuple[Any, ...] = (None,)
        self.number_of_line: Callable[[CodeType, int], int] | None = None  # of code without marks, where lines are told
        self.bound: WeakSet[CodeType] = WeakSet()  # all code that went through here, with marks or nothing to mark
        self._lines: dict[int, Any] = {}
        self._told: dict[int, int] = {}
        self._kept: dict[int, int] = {}

    def use(self, tape: Any, call: Callable[[int], None] | None = None) -> None:
        """Have marks written to a tape in C, or have `call` called for each; with neither, they do nothing."""
        self._use = (tape, call)
        self.board.use(*self._use)
        _in_use.discard(self)
        if tape is not None:
            _in_use.add(self)

    def bind(self, code: CodeType) -> CodeType:
        """The same code with marks where placeholders were."""
        ordinals = iter(range(1 << 30))
        return self._bound(code, ordinals)

    def _bound(self, code: CodeType, ordinals: Iterator[int]) -> CodeType:
        ordinal = next(ordinals)
        constants, marked = [], False
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                constants.append(self._bound(constant, ordinals))
            elif type(constant) is str and constant.startswith(PLACEHOLDER):
                constants.append(self._mark(int(constant.split(" ")[1]), ordinal))
                marked = True
            else:
                constants.append(constant)
        bound = code.replace(co_consts=tuple(constants))
        self.bound.add(bound)
        if marked:
            self.board.attach(bound, bool(code.co_flags & inspect.CO_OPTIMIZED) or code.co_name == "<module>")
        return bound

    def _mark(self, number: int, ordinal: int, flags: int = 0) -> Any:
        says = self.statements.table[number].flags
        flags |= (_ENTERS if says & (ENTER | RESUME) else 0) | (_TURNS if says & (NEXT | FIRST | HEAD) else 0)
        return Mark(self.board, number, flags, ordinal)

    def mark_of(self, number: int) -> Any:
        """The mark that stands for a line of code, and is in none."""
        if number not in self._lines:
            tells = _TELLS if self.statements.table[number].flags else 0
            self._lines[number] = self._mark(number, 0, _LINE | tells)
        return self._lines[number]

    # What the board asks for while marks are off

    def _locate(self, code: CodeType, unit: int) -> int:
        """The number that tells of a call which is at this instruction."""
        table = self.statements.table
        line, column = _position(code, unit)
        inside = [
            (table[number].line, table[number].column, number)
            for number in (mark.number for mark in code.co_consts if type(mark) is Mark)
            if not table[number].flags & _NO_STATEMENT and (table[number].line, table[number].column) <= (line, column)
        ]
        holding = [one for one in inside if table[one[2]].end_line >= line]
        if inside:
            number = max(holding or inside)[2]
        elif self.number_of_line is not None:
            number = self.number_of_line(code, line)
        else:
            return -1
        if number not in self._told:
            self._told[number] = self.statements.add(replace(table[number], flags=TOLD))
            self.statements.told[self._told[number]] = number
        return self._told[number]

    def _keeps(self, calls: int) -> int:
        """The number that tells that so many calls are those that were running before."""
        if calls not in self._kept:
            self._kept[calls] = self.statements.add(Statement("", calls, calls, 0, None, -1, "", KEEPS, ()))
        return self._kept[calls]


_in_use: set[Marking] = set()


def _position(code: CodeType, unit: int) -> tuple[int, int]:
    """The line of an instruction, and its column where this Python tells it."""
    if hasattr(code, "co_positions"):
        for number, (line, _, column, _) in enumerate(code.co_positions()):
            if number == unit:
                return line or code.co_firstlineno, column if column is not None else 1 << 30
    for start, end, line in code.co_lines():
        if start <= 2 * unit < end and line is not None:
            return line, 1 << 30
    return code.co_firstlineno, 0


def is_mark(thing: object) -> bool:
    return type(thing) is Mark
