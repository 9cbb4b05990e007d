"""Marks the program's own modules as Python imports them, and notices when torch arrives."""

from __future__ import annotations

import ast
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import CodeType, ModuleType
from typing import Any

from afterward.observe.marks.arrivals import told_when_imported
from afterward.observe.marks.marking import marking_of
from afterward.observe.marks.pickling import plain_when_marshalled, plain_when_pickled
from afterward.observe.marks.rewrite import mark_module, reads_bytecode
from afterward.observe.marks.stack import without_our_frames
from afterward.observe.marks.statements import Statements
from afterward.observe.marks.tape import as_method
from afterward.observe.marks.userfiles import is_user_file

try:
    from afterward.observe.marks._tape import exchange as exchange
except ImportError:  # none was built, one for an older afterward, or this Python has no use for it
    exchange = None  # type: ignore[assignment]

OnGap = Callable[[str], None]
TOLD_OF = ("torch", "torch._dynamo")  # the compiler comes later than torch itself, if at all


def marked_code(data: bytes, file: str, statements: Statements, on_gap: OnGap) -> CodeType:
    """Compile source with marks. Raises `SyntaxError` just as Python would."""
    data = statements.patched.get(file, data)
    known = statements.compiled.get(file)
    if known is not None and statements.sources[file] == _decoded(data):
        return known
    tree = ast.parse(data, file)
    if reads_bytecode(tree):
        on_gap(f"{file} uses a compiler that reads bytecode: its lines cannot be distinguished")
    elif statements.full:
        on_gap(f"{file} is not marked: too many statements in this program")
    else:
        statements.sources[file] = _decoded(data)
        statements.compiled.pop(file, None)
        try:
            code = compile(mark_module(tree, file, statements), file, "exec", dont_inherit=True)
            known = statements.compiled[file] = marking_of(statements).bind(code)
            return known
        except (ValueError, TypeError, RecursionError, SyntaxError) as error:
            on_gap(f"{file} could not be marked: {type(error).__name__}")
    return compile(data, file, "exec", dont_inherit=True)


def _decoded(data: bytes) -> str:
    try:
        return importlib.util.decode_source(data)
    except (UnicodeDecodeError, SyntaxError):
        return data.decode("utf-8", "replace")


@contextmanager
def sources_marked(statements: Statements, on_gap: OnGap) -> Iterator[None]:
    """Within this block, Python's own loader of source files gives code with marks for files of the program's.

    It reads and writes `__pycache__` as ever, and is the same class: nothing shows but the code.
    """
    loader = importlib.machinery.SourceFileLoader
    plain: Any = loader.get_code

    def get_code(self: Any, name: str) -> Any:
        try:
            code = plain(self, name)
            path = self.path
            if code is None or type(self) is not loader or type(path) is not str or not is_user_file(path):
                return code
            try:
                return marked_code(self.get_data(path), path, statements, on_gap)
            except Exception as error:
                on_gap(f"{path} could not be marked: {type(error).__name__}")
                return code
        except BaseException as error:
            error.__traceback__ = without_our_frames(error.__traceback__)
            return error

    setattr(loader, "get_code", as_method(get_code))  # noqa: B010
    try:
        yield
    finally:
        delattr(loader, "get_code")  # it inherits the plain one


@contextmanager
def imports_marked(statements: Statements, on_gap: OnGap, on_torch: Callable[[str], None]) -> Iterator[None]:
    """Within this block, modules of the program get marks as they are imported."""
    with ExitStack() as hooks:

        def pickle_plainly(module: ModuleType) -> None:
            hooks.enter_context(plain_when_pickled(module, statements))

        for name, module in list(sys.modules.items()):
            if _is_cloudpickle(name):
                pickle_plainly(module)
        hooks.enter_context(told_when_imported(_is_cloudpickle, pickle_plainly))
        hooks.enter_context(told_when_imported(_is_torch, lambda module: on_torch(module.__name__)))
        hooks.enter_context(sources_marked(statements, on_gap))
        hooks.enter_context(plain_when_marshalled(statements))
        yield


@contextmanager
def imports_noticed(statements: Statements, on_gap: OnGap, on_torch: Callable[[str], None]) -> Iterator[None]:
    """Within this block, say so when torch is imported; modules get marks where the running program gets them."""
    if exchange is not None:
        with imports_marked(statements, on_gap, on_torch):
            yield
        return
    if "torch" in sys.modules:
        yield
        return
    with told_when_imported(_is_torch, lambda module: on_torch(module.__name__)):
        yield


def _is_torch(name: str) -> bool:
    return name in TOLD_OF


def _is_cloudpickle(name: str) -> bool:
    """There are vendored copies of it."""
    return name.endswith("cloudpickle")
