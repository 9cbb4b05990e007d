"""Runs a program as `python FILE ARGS` or `python -m MODULE ARGS` would, with marks in its own code."""

from __future__ import annotations

import builtins
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Sequence
from types import CodeType, ModuleType, TracebackType
from typing import Any

from afterward.errors import ProgramNotFound
from afterward.observe.marks.importing import OnGap, marked_code
from afterward.observe.marks.statements import Statements

_HERE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def run_program(
    target: str, arguments: Sequence[str], *, as_module: bool, statements: Statements, on_gap: OnGap
) -> None:
    """Execute the program as `__main__`. Whatever it raises comes out as it was raised."""
    main = ModuleType("__main__")
    main.__dict__["__builtins__"] = builtins
    if as_module:
        code = _prepare_module(main, target, arguments, statements, on_gap)
    else:
        code = _prepare_file(main, target, arguments, statements, on_gap)
    sys.modules["__main__"] = main
    if "__mp_main__" in sys.modules:  # multiprocessing's alias, made when it was imported: results are unpickled by it
        sys.modules["__mp_main__"] = main
    exec(code, main.__dict__)


def _prepare_file(
    main: ModuleType, target: str, arguments: Sequence[str], statements: Statements, on_gap: OnGap
) -> CodeType:
    path = target
    if os.path.isdir(path):
        inner = os.path.join(path, "__main__.py")
        if not os.path.isfile(inner):
            raise ProgramNotFound(f"can't find '__main__.py' in '{target}'")
        sys.path[0], path = path, inner
    else:
        sys.path[0] = os.path.dirname(os.path.realpath(path))
    sys.argv = [target, *arguments]
    full = os.path.abspath(path)
    main.__file__ = full if sys.version_info >= (3, 9) else path
    main.__dict__["__cached__"] = None
    main.__loader__ = importlib.machinery.SourceFileLoader("__main__", full)
    return marked_code(_read(path), full, statements, on_gap)


def _prepare_module(
    main: ModuleType, target: str, arguments: Sequence[str], statements: Statements, on_gap: OnGap
) -> CodeType:
    sys.path[0] = os.getcwd()
    sys.argv = ["-m", *arguments]
    spec = _module_spec(target)
    loader: Any = spec.loader
    origin = spec.origin or ""
    sys.argv[0] = origin
    main.__file__ = origin
    main.__spec__ = spec
    main.__loader__ = loader
    main.__package__ = spec.parent
    main.__dict__["__cached__"] = spec.cached
    return marked_code(loader.get_data(origin), origin, statements, on_gap)


def _module_spec(name: str) -> importlib.machinery.ModuleSpec:
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(name + ".__main__")
    except (ImportError, ValueError) as error:
        raise ProgramNotFound(f"no module named {name}: {error}") from None
    if spec is None or not hasattr(spec.loader, "get_data") or not (spec.origin or "").endswith(".py"):
        raise ProgramNotFound(f"no module named {name} that can be run")
    return spec


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise ProgramNotFound(f"can't open file '{path}': {error.strerror}") from None


def without_our_frames(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback as Python alone would have it."""
    kept = []
    while traceback is not None:
        if not traceback.tb_frame.f_code.co_filename.startswith(_HERE + os.sep):
            kept.append(traceback)
        traceback = traceback.tb_next
    result: TracebackType | None = None
    for one in reversed(kept):
        result = TracebackType(result, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return result
