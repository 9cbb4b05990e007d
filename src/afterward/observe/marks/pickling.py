"""Functions that travel by value (joblib, ray, dask through cloudpickle) travel without marks.

Where they arrive nothing has put the marks' names into `builtins`. So a pickler that takes code objects apart is given
the code as Python alone would have compiled it.
"""

from __future__ import annotations
import __future__

import linecache
import marshal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from inspect import CO_NESTED
from types import CodeType, ModuleType
from typing import Any

from afterward.observe.marks.marking import Mark
from afterward.observe.marks.rewrite import MARK, RETURN
from afterward.observe.marks.statements import Statements
from afterward.observe.marks.tape import unnoticed

FUTURES = 0
for _name in __future__.all_feature_names:
    FUTURES |= getattr(__future__, _name).compiler_flag
FUTURES &= ~CO_NESTED  # that of an old future, with which the compiler marks a function inside of another
_AWAIT = 0x2000  # ast.PyCF_ALLOW_TOP_LEVEL_AWAIT: a notebook's cell may await


@contextmanager
def plain_when_pickled(module: ModuleType, statements: Statements) -> Iterator[None]:
    """Within this block, a cloudpickle module (there are vendored copies) pickles marked code as plain code."""
    table = _table(module)
    if table is None:
        yield
        return
    reduce: Callable[[CodeType], Any] = table[CodeType]

    def reduce_plain(code: CodeType) -> Any:
        return reduce(plain_code(code, statements))

    table[CodeType] = reduce_plain
    try:
        yield
    finally:
        if table.get(CodeType) is reduce_plain:
            table[CodeType] = reduce


@contextmanager
def plain_when_marshalled(statements: Statements) -> Iterator[None]:
    """Within this block, `marshal` writes marked code as plain code."""
    dumps, dump = marshal.dumps, marshal.dump

    def plain_dumps(value: Any, *args: Any) -> Any:
        return _answer(lambda: dumps(_without_marks(value, statements), *args))

    def plain_dump(value: Any, *args: Any) -> Any:
        return _answer(lambda: dump(_without_marks(value, statements), *args))

    marshal.dumps, marshal.dump = unnoticed(plain_dumps), unnoticed(plain_dump)
    try:
        yield
    finally:
        marshal.dumps, marshal.dump = dumps, dump


def _answer(call: Callable[[], Any]) -> Any:
    """What a call gives, or raises: that is handed back, to be raised without our frames."""
    try:
        return call()
    except BaseException as error:
        error.__traceback__ = None
        return error


def _without_marks(value: Any, statements: Statements) -> Any:
    if isinstance(value, CodeType):
        return plain_code(value, statements)
    if type(value) in (tuple, list) and any(isinstance(one, CodeType) for one in value):
        return type(value)(_without_marks(one, statements) for one in value)
    return value


def _table(module: ModuleType) -> dict[Any, Any] | None:
    for name in ("Pickler", "CloudPickler"):
        table = getattr(vars(module).get(name), "_dispatch_table", None)
        if isinstance(table, dict) and CodeType in table:
            return table
    return None


def plain_code(code: CodeType, statements: Statements) -> CodeType:
    """The same code without marks; as it is, where it has none or its source is not at hand."""
    marks = [mark for one in codes_in(code) for mark in one.co_consts if type(mark) is Mark]
    by_name = any(name in one.co_names for one in codes_in(code) for name in (MARK, RETURN))
    if not marks and not by_name:
        return code
    file = code.co_filename
    text = statements.sources.get(file) or "".join(linecache.getlines(file))
    flags = (code.co_flags & FUTURES) | _AWAIT
    pieces = _pieces(text, file, flags)
    own: list[int] = [mark.ordinal for mark in code.co_consts if type(mark) is Mark]
    if own and own[0] < len(pieces) and _place(pieces[own[0]]) == _place(code):
        return pieces[own[0]]
    same = [one for one in pieces if _place(one) == _place(code)]
    return same[0] if len(same) == 1 else code


@lru_cache(8)
def _pieces(text: str, file: str, flags: int) -> list[CodeType]:
    """The code of a file as Python compiles it. What two pieces share is written once by a pickler: it must be one."""
    try:
        return list(codes_in(compile(text, file, "exec", flags=flags, dont_inherit=True)))
    except (SyntaxError, ValueError, RecursionError):
        return []


def _place(code: CodeType) -> tuple[Any, ...]:
    return (code.co_firstlineno, getattr(code, "co_qualname", code.co_name), code.co_varnames[: code.co_argcount])


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """A code object and those inside it, in the order in which they are written."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from codes_in(inner)
