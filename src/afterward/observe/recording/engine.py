"""Stands at the one door through which every backward pass goes.

The function behind `.backward()` and `autograd.grad()` is recompiled from its own source with calls of
ours in it. Its frame, file and lines stay what they were, so tracebacks read as without us.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any

from afterward.observe import compat

BEGINS = "__afterward_pass_begins__"
FAILED = "__afterward_pass_failed__"
ENDED = "__afterward_pass_ended__"

WAITED_FOR = "__afterward_end_is_waited_for__"

Hook = Callable[[Any, tuple[Any, ...], dict[str, Any]], None]


@contextmanager
def passes_announced(begins: Hook, failed: Hook, ended: Hook | None = None, waiting: Any = ()) -> Iterator[bool]:
    """Within this block, `begins` sees each pass before it runs, `failed` each one that raises; `ended` sees the end of
    each one for as long as `waiting` contains True: asking a set costs less than a call."""
    function = compat.backward_entry()
    code = _announcing_code(function, ended is not None) if function is not None else None
    if code is None:
        yield False
        return
    original = function.__code__
    hooks = {BEGINS: begins, FAILED: failed, ENDED: ended, WAITED_FOR: waiting}
    # Constants of the code: a name would show in a namespace of the program's, such as that of all builtins.
    constants: Any = [hooks.get(one, one) if type(one) is str else one for one in code.co_consts]
    function.__code__ = code.replace(co_consts=tuple(constants))
    try:
        yield True
    finally:
        function.__code__ = original


def _announcing_code(function: Any, until_it_ends: bool) -> CodeType | None:
    """The function's own code with the calls inserted; None where its shape is not the one we know."""
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return None
    definition = tree.body[0]
    if not isinstance(definition, ast.FunctionDef) or not definition.args.args:
        return None
    arguments = definition.args
    if arguments.vararg is None or arguments.kwarg is None or function.__code__.co_freevars:
        return None
    given = [arguments.args[0].arg, arguments.vararg.arg, arguments.kwarg.arg]

    ast.increment_lineno(tree, first - 1)
    before = definition.body[0]

    def there(node: ast.AST) -> Any:
        """All of what is ours is on the line of the first statement: a traceback may show it."""
        for each in ast.walk(node):
            ast.copy_location(each, before)
        return node

    def call(name: str) -> ast.stmt:
        # Not the constant alone: Python warns of a call of a text, before ours has taken its place.
        hook = ast.BoolOp(ast.Or(), [ast.Constant(name), ast.Constant(None)])
        made: ast.stmt = there(ast.Expr(ast.Call(hook, [ast.Name(g, ast.Load()) for g in given], [])))
        return made

    handler = there(ast.ExceptHandler(ast.Name("BaseException", ast.Load()), None, [call(FAILED), ast.Raise()]))
    waited_for = ast.Compare(ast.Constant(True), [ast.In()], [ast.Constant(WAITED_FOR)])
    ends = [there(ast.If(waited_for, [call(ENDED)], []))] if until_it_ends else []
    guarded = ast.copy_location(ast.Try(body=definition.body, handlers=[handler], orelse=[], finalbody=ends), before)
    definition.body = [call(BEGINS), guarded]
    space: dict[str, Any] = {}
    exec(compile(tree, function.__code__.co_filename, "exec", dont_inherit=True), function.__globals__, space)
    code: CodeType = space[function.__name__].__code__
    if hasattr(function.__code__, "co_qualname"):
        name: dict[str, Any] = {"co_qualname": function.__code__.co_qualname}  # Python 3.11 and later
        code = code.replace(**name)
    return code
