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
from afterward.observe.marks.pickling import plain_when_marshalled, plain_when_pickled
from afterward.observe.marks.rewrite import mark_module, reads_bytecode
from afterward.observe.marks.stack import without_our_frames
from afterward.observe.marks.statements import Statements
from afterward.observe.marks.tape import as_method
from afterward.observe.marks.userfiles import is_user_file

OnGap = Callable[[str], None]
TOLD_OF = ("torch", "torch._dynamo")  # the compiler comes later than torch itself, if at all


def marked_code(data: bytes, file: str, statements: Statements, on_gap: OnGap) -> CodeType:
    """Compile source with marks. Raises `SyntaxError` just as Python would."""
    data = statements.patched.get(file, data)
    tree = ast.parse(data, file)
    if reads_bytecode(tree):
        on_gap(f"{file} uses a compiler that reads bytecode: its lines cannot be distinguished")
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
        with sources_marked(statements, on_gap), plain_when_marshalled(statements):
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
