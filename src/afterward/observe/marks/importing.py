"""Marks the program's own modules as Python imports them, and notices when torch arrives."""

from __future__ import annotations

import ast
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.abc import Loader, MetaPathFinder
from types import CodeType, ModuleType
from typing import Any

from afterward.observe.marks.marking import marking_of
from afterward.observe.marks.pickling import plain_when_pickled
from afterward.observe.marks.rewrite import mark_module, reads_bytecode
from afterward.observe.marks.statements import Statements
from afterward.observe.marks.userfiles import is_user_file

OnGap = Callable[[str], None]
TOLD_OF = ("torch", "torch._dynamo")  # the compiler comes later than torch itself, if at all


def marked_code(data: bytes, file: str, statements: Statements, on_gap: OnGap) -> CodeType:
    """Compile source with marks. Raises `SyntaxError` just as Python would."""
    data = statements.patched.get(file, data)
    tree = ast.parse(data, file)
    if reads_bytecode(tree):
        on_gap(f"{file} uses a compiler that reads bytecode: its lines are not told apart")
    elif statements.full:
        on_gap(f"{file} is not marked: too many statements in this program")
    else:
        statements.sources[file] = _decoded(data)
        try:
            code = compile(mark_module(tree, file, statements), file, "exec", dont_inherit=True)
            return marking_of(statements).bind(code)
        except (ValueError, TypeError, RecursionError, SyntaxError) as error:
            on_gap(f"{file} could not be marked: {type(error).__name__}")
    return compile(data, file, "exec", dont_inherit=True)


def _decoded(data: bytes) -> str:
    try:
        return importlib.util.decode_source(data)
    except (UnicodeDecodeError, SyntaxError):
        return data.decode("utf-8", "replace")


class _MarkingLoader(importlib.machinery.SourceFileLoader):
    """Reads source as ever, but compiles it with marks, and neither reads nor writes `__pycache__`."""

    statements: Statements
    on_gap: OnGap

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return marked_code(self.get_data(path), path, self.statements, self.on_gap)


class _TellingLoader(Loader):
    """Loads a module as ever, then says so."""

    def __init__(self, loader: Any, done: Callable[[ModuleType], None]) -> None:
        self.loader = loader
        self.done = done

    def create_module(self, spec: Any) -> ModuleType | None:
        module: ModuleType | None = self.loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        # The program sees the loader that Python chose, not us.
        module.__loader__ = self.loader
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        self.done(module)


class _Finder(MetaPathFinder):
    def __init__(self, statements: Statements | None, on_gap: OnGap, on_torch: Callable[[str], None]) -> None:
        self.statements = statements
        self.on_gap = on_gap
        self.on_torch = on_torch
        self.pickling = ExitStack()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        spec = self._found_by_others(fullname, path, target)
        if spec is None:
            return None
        if fullname in TOLD_OF and spec.loader is not None:
            spec.loader = _TellingLoader(spec.loader, lambda module: self.on_torch(fullname))
        elif self.statements is None:
            return spec
        elif fullname.endswith("cloudpickle") and hasattr(spec.loader, "exec_module"):
            spec.loader = _TellingLoader(spec.loader, self.pickle_plainly)
        elif type(spec.loader) is importlib.machinery.SourceFileLoader and is_user_file(spec.origin or "<none>"):
            loader = _MarkingLoader(spec.loader.name, spec.loader.path)
            loader.statements, loader.on_gap = self.statements, self.on_gap
            spec.loader = loader
        return spec

    def pickle_plainly(self, module: ModuleType) -> None:
        if self.statements is not None:
            self.pickling.enter_context(plain_when_pickled(module, self.statements))

    def _found_by_others(self, fullname: str, path: Any, target: Any) -> importlib.machinery.ModuleSpec | None:
        for finder in list(sys.meta_path):
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                return spec
        return None


@contextmanager
def imports_marked(statements: Statements, on_gap: OnGap, on_torch: Callable[[str], None]) -> Iterator[None]:
    """Within this block, modules of the program get marks as they are imported."""
    finder = _Finder(statements, on_gap, on_torch)
    for name, module in list(sys.modules.items()):
        if name.endswith("cloudpickle"):
            finder.pickle_plainly(module)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        finder.pickling.close()


@contextmanager
def torch_noticed(on_torch: Callable[[str], None]) -> Iterator[None]:
    """Within this block, say so when torch is imported; nothing is marked."""
    if "torch" in sys.modules:
        yield
        return
    finder = _Finder(None, lambda what: None, on_torch)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
