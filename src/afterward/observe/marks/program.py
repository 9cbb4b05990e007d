"""Runs a program as `python FILE ARGUMENTS` or `python -m MODULE ARGUMENTS` would, with marks in its own code."""

from __future__ import annotations

import builtins
import importlib.machinery
import os
import sys
from collections.abc import Callable, Sequence
from operator import attrgetter
from types import CodeType, ModuleType
from typing import Any

from afterward.errors import ProgramNotFound
from afterward.observe.looking import usable_stream
from afterward.observe.marks.importing import OnGap, marked_code
from afterward.observe.marks.own_modules import own_modules
from afterward.observe.marks.stack import without_our_frames
from afterward.observe.marks.statements import Statements

try:
    from afterward.observe.marks import _tape

    _tape.apart  # noqa: B018 - one that was built for an older afterward is none
except (ImportError, AttributeError):
    _tape = None  # type: ignore[assignment]


def run_program(
    target: str, arguments: Sequence[str], *, as_module: bool, statements: Statements, on_gap: OnGap
) -> BaseException | None:
    """Execute the program as `__main__`. Gives back what it raised, as it was raised."""
    main = _new_main()
    run: tuple[Any, ...]
    if as_module:
        sys.argv = ["-m", *arguments]
        _put_first(os.getcwd())
        run = _as_module(target, alter_argv=True)
    elif _is_folder_or_archive(target):
        sys.argv = [target, *arguments]
        _put_first(_absolute(target))
        run = _as_module("__main__", alter_argv=False)
    else:
        sys.argv = [target, *arguments]
        _put_first(os.path.dirname(os.path.realpath(target)))
        try:
            code = _file_code(main, target, statements, on_gap)
        except (SyntaxError, ValueError) as error:  # of the program: nothing of it has run
            error.__traceback__ = None
            return error
        run = (code, main.__dict__)
    sys.modules["__main__"] = main
    if "__mp_main__" in sys.modules:  # multiprocessing's alias, made when it was imported: results are unpickled by it
        sys.modules["__mp_main__"] = main
    return _apart(*run)


def _new_main() -> ModuleType:
    """A main module as Python has it before anything runs in it."""
    main = ModuleType("__main__")
    # In Python's own order, which is that of `vars()` and of `globals()`.
    names = {"__loader__": importlib.machinery.BuiltinImporter, "__annotations__": {}, "__builtins__": builtins}
    main.__dict__.update(names)
    return main


def _apart(what: Any, *arguments: Any) -> BaseException | None:
    """Execute code, or call a function, with none of our frames below it where that can be had."""
    if _tape is not None:
        return _tape.apart(what, *arguments)
    try:
        if isinstance(what, CodeType):
            exec(what, *arguments)
        else:
            what(*arguments)
    except BaseException as error:
        error.__traceback__ = without_our_frames(error.__traceback__)
        return error
    return None


def print_error(error: BaseException) -> None:
    """The program's last words, as Python prints them: by the program's own hook, if it has one."""
    if _tape is not None:
        _tape.print_error(error)
    else:
        sys.excepthook(type(error), error, error.__traceback__)


def exit_code(error: BaseException | None) -> Any:
    """What a `SystemExit` says, asked for once, as Python asks: it may be a property of the program's own."""
    if not issubclass(type(error), SystemExit):
        return None
    found: list[Any] = []
    return found[0] if _apart(found.extend, map(attrgetter("code"), (error,))) is None else error


def print_exit(code: Any) -> None:
    """What is no number, Python writes to the program's own `sys.stderr`, and what that raises is lost."""
    if code is None or issubclass(type(code), int):
        return
    stream = vars(sys).get("stderr")
    if stream is None:
        stream = usable_stream("stderr")
    texts: list[str] = []
    if _apart(texts.extend, map(str, (code,))) is None:
        _apart(stream.write, texts[0])
    if _apart(stream.write, "\n") is not None:
        _apart(usable_stream("stderr").write, "\n")


def _as_module(name: str, *, alter_argv: bool) -> tuple[Callable[..., Any], str, bool]:
    import runpy

    if name != "__main__":
        _be_sure_of(name)
    return getattr(runpy, "_run_module_as_main"), name, alter_argv  # noqa: B009 - what `python -m` itself calls


def _be_sure_of(name: str) -> None:
    """Where there is no such module, we say so ourselves: nothing of the program has run then."""
    if (
        importlib.machinery.PathFinder.find_spec(name.partition(".")[0]) is None
        and name not in sys.builtin_module_names
    ):
        raise ProgramNotFound(f"no module named {name}")


def _is_folder_or_archive(path: str) -> bool:
    if os.path.isdir(path):
        if not os.path.isfile(os.path.join(path, "__main__.py")) and not os.path.isfile(
            os.path.join(path, "__main__.pyc")
        ):
            raise ProgramNotFound(f"can't find '__main__' module in '{path}': name the program's file")
        return True
    import zipimport

    try:
        zipimport.zipimporter(path)
    except zipimport.ZipImportError:
        return False
    return True


def _absolute(path: str) -> str:
    """As Python makes the name of a program absolute: without a look at what the parts of it are."""
    return path if os.path.isabs(path) else os.path.join(os.getcwd(), path.removeprefix("./"))


def _put_first(folder: str) -> None:
    """The program's folder takes the place of ours; there is none where Python was told to put nothing there."""
    if sys.flags.isolated or getattr(sys.flags, "safe_path", False):
        return
    sys.path[0] = folder
    own_modules.begin(folder)


def _file_code(main: ModuleType, target: str, statements: Statements, on_gap: OnGap) -> CodeType:
    full = _absolute(target)
    main.__file__ = full
    main.__dict__["__cached__"] = None
    main.__loader__ = importlib.machinery.SourceFileLoader("__main__", full)
    if target.endswith(".pyc"):
        found: Any = importlib.machinery.SourcelessFileLoader("__main__", full).get_code("__main__")
        code: CodeType = found
        return code
    return marked_code(_read(target), full, statements, on_gap)


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise ProgramNotFound(f"can't open file '{path}': {error.strerror}") from None
