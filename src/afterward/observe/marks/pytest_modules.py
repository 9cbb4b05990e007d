"""Marks in test modules: pytest loads them by a loader of its own, which rewrites their assertions.

They are marked first and rewritten then, so that the marks stand where the reader's statements do. What was marked is
not kept as bytecode on disk.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from afterward.observe.marks.importing import OnGap
from afterward.observe.marks.marking import marking_of
from afterward.observe.marks.rewrite import mark_module
from afterward.observe.marks.statements import Statements
from afterward.observe.marks.userfiles import is_user_file


@contextmanager
def pytest_modules_marked(statements: Statements, on_gap: OnGap, config: Any) -> Iterator[None]:
    """Within this block, test modules of the program get marks as pytest loads them."""
    home = sys.modules.get("_pytest.assertion.rewrite")
    hook, rewrite = getattr(home, "AssertionRewritingHook", None), getattr(home, "rewrite_asserts", None)
    if hook is None or rewrite is None:
        on_gap("this pytest loads test modules elsewhere: their lines cannot be distinguished")
        yield
        return
    plain = hook.exec_module

    def exec_module(self: Any, module: ModuleType) -> None:
        file = str(getattr(module.__spec__, "origin", ""))
        code = None
        if is_user_file(file):
            try:
                code = _marked(file, statements, rewrite, config)
            except Exception as error:  # whatever is wrong with it, pytest says so in its own way
                on_gap(f"{file} could not be marked: {type(error).__name__}")
        if code is None:
            plain(self, module)
        else:
            self._rewritten_names[module.__name__] = Path(file)
            exec(code, module.__dict__)

    hook.exec_module = exec_module
    try:
        yield
    finally:
        hook.exec_module = plain


def _marked(file: str, statements: Statements, rewrite: Any, config: Any) -> CodeType:
    data = Path(file).read_bytes()
    tree = ast.parse(data, file)
    statements.sources[file] = data.decode("utf-8", "replace")
    tree = mark_module(tree, file, statements)
    rewrite(tree, data, file, config)
    return marking_of(statements).bind(compile(tree, file, "exec", dont_inherit=True))
