"""Goes along into the processes that a program starts with `multiprocessing`.

A forked process inherits the watch. A spawned one (and one of a fork server) begins again: the data that
`multiprocessing` sends ahead carries an invitation, which begins a watch before the program's main module is loaded.
"""

from __future__ import annotations

import builtins
import importlib.util
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from types import ModuleType
from typing import Any, Protocol

from afterward.observe.marks.arrivals import Done, told_when_imported
from afterward.observe.marks.importing import OnGap, marked_code
from afterward.observe.marks.pickling import FUTURES
from afterward.observe.marks.stack import without_our_frames
from afterward.observe.marks.statements import Statements
from afterward.observe.marks.tape import unnoticed
from afterward.observe.marks.userfiles import is_user_file

PROCESS, SPAWN = "multiprocessing.process", "multiprocessing.spawn"


class Family(Protocol):
    """What is told of a process's life. `began` and `ended` are called in the child."""

    def invitation(self) -> str: ...
    def began(self) -> None: ...
    def failed(self, error: BaseException | None) -> None: ...
    def ended(self, status: int) -> None: ...


class _Invitation:
    """Once unpickled in a new process, its source has been executed there."""

    def __init__(self, source: str) -> None:
        self.source = source

    def __reduce__(self) -> Any:
        return exec, (self.source, {})


@contextmanager
def children_announced(family: Family) -> Iterator[None]:
    """Within this block, processes that the program starts are watched too."""
    with ExitStack() as hooks:
        _when_imported(PROCESS, lambda module: _follow(module, family, hooks), hooks)
        _when_imported(SPAWN, lambda module: _invite(module, family, hooks), hooks)
        yield


def _invite(spawn: ModuleType, family: Family, hooks: ExitStack) -> None:
    original: Callable[..., dict[str, Any]] | None = getattr(spawn, "get_preparation_data", None)
    if original is None:
        return

    def get_preparation_data(*args: Any, **kwargs: Any) -> dict[str, Any]:
        data = original(*args, **kwargs)
        data["afterward"] = _Invitation(family.invitation())
        return data

    _put(spawn, "get_preparation_data", get_preparation_data, hooks)


def _follow(process: ModuleType, family: Family, hooks: ExitStack) -> None:
    kind = getattr(process, "BaseProcess", None)
    original: Callable[..., int] | None = getattr(kind, "_bootstrap", None)
    if original is None:
        return

    def bootstrap(self: Any, *args: Any, **kwargs: Any) -> int:
        family.began()
        with _last_exception_told(family):
            status = original(self, *args, **kwargs)
        family.ended(status)
        return status

    _put(kind, "_bootstrap", bootstrap, hooks)


@contextmanager
def _last_exception_told(family: Family) -> Iterator[None]:
    """Within this block, the family learns of the exception that ends a process: it is printed where it is caught.

    Not by a call of ours around the process's work: that would be seen in what is printed.
    """
    printed = traceback.print_exc

    @wraps(printed)
    def print_exc(*args: Any, **kwargs: Any) -> None:
        if sys._getframe(1).f_globals.get("__name__") == PROCESS:
            family.failed(sys.exc_info()[1])
        printed(*args, **kwargs)

    traceback.print_exc = print_exc
    try:
        yield
    finally:
        traceback.print_exc = printed


def _put(owner: Any, name: str, replacement: Any, hooks: ExitStack) -> None:
    original = getattr(owner, name)
    setattr(owner, name, replacement)
    hooks.callback(setattr, owner, name, original)


def _when_imported(name: str, done: Done, hooks: ExitStack) -> None:
    """Tell of a module as soon as it is there. We do not import it ourselves: that it is there shows."""
    if name in sys.modules:
        done(sys.modules[name])
    else:
        hooks.enter_context(told_when_imported(lambda each: each == name, done))


def mark_main(statements: Statements, on_gap: OnGap) -> None:
    """In a process of which something else is the main module (a spawned one's, a profiler, a debugger): the program's
    own main file, which is read and compiled there, gets marks as well. From then on `compile` is Python's again."""
    plain = builtins.compile

    def compile_main(source: Any, filename: Any, mode: Any, flags: int = 0, *args: Any, **kwargs: Any) -> Any:
        caller = sys._getframe(1)
        try:
            text = None if flags or is_user_file(caller.f_code.co_filename) else _text_of(filename, mode)
            if text is not None and importlib.util.decode_source(text) == _decoded(source):
                builtins.compile = plain
                return marked_code(text, filename, statements, on_gap)
            inherit = 0 if kwargs.pop("dont_inherit", args[:1] and args[0]) else caller.f_code.co_flags & FUTURES
            return plain(source, filename, mode, flags | inherit, True, *args[1:], **kwargs)
        except BaseException as error:
            error.__traceback__ = without_our_frames(error.__traceback__)
            return error

    builtins.compile = unnoticed(compile_main)


def _text_of(file: Any, mode: Any) -> bytes | None:
    """What is in a file of the program's that is about to be compiled as a whole."""
    if mode != "exec" or not isinstance(file, str) or not is_user_file(file):
        return None
    try:
        with open(file, "rb") as source:
            return source.read()
    except OSError:
        return None


def _decoded(source: Any) -> str | None:
    if isinstance(source, bytes):
        return importlib.util.decode_source(source)
    return source if isinstance(source, str) else None
