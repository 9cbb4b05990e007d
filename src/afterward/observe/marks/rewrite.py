"""Inserts marks into the reader's source as it is compiled: one before each statement, and at each way out.

A mark is a constant of the compiled code (`marking`), so no namespace of the program shows it; line and column numbers
stay those of the source, so tracebacks and `inspect.getsource` do not change.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Protocol, TypeVar

from afterward.follow.nodes import FUNCTIONS, LOOPS
from afterward.follow.reading import head_end
from afterward.observe.marks.marking import PLACEHOLDER
from afterward.observe.marks.statements import ENTER, EXIT, FIRST, LOOP, NEXT, RESUME, SUSPEND, Statement, Statements

MARK = "__afterward_mark__"
RETURN = "__afterward_return__"

# Compilers that read a function's bytecode and would stumble over a call they cannot type.
BYTECODE_COMPILERS = {"numba", "pyccel", "taichi", "pytensor", "bodo"}

_SILENT = (ast.Pass, ast.Break, ast.Global, ast.Nonlocal)
_LOOPS = LOOPS
_TELLS_NO_TURN = (*_SILENT, *_LOOPS, ast.Continue)  # as the first statement of a loop's body

_Node = TypeVar("_Node", bound=ast.AST)


def reads_bytecode(tree: ast.Module) -> bool:
    """Does this module use a compiler that must see its functions as they were written?"""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        else:
            continue
        if any(name.split(".")[0] in BYTECODE_COMPILERS for name in names):
            return True
    return False


def _has_own_range(tree: ast.Module) -> bool:
    """Does the module give the name `range` to something of its own?"""
    for node in ast.walk(tree):
        names = (getattr(node, "asname", None), getattr(node, "name", None), getattr(node, "arg", None))
        if "range" in names or (isinstance(node, ast.Name) and node.id == "range" and isinstance(node.ctx, ast.Store)):
            return True
    return False


def mark_module(tree: ast.Module, file: str, statements: Statements) -> ast.Module:
    """The same module with marks; `statements` learns what each mark stands for."""
    scope = _Scope(Module(file, statements, _has_own_range(tree), Constants()), "<module>")
    tree.body = scope.body_of_function(tree.body)
    return tree


class Form(Protocol):
    """How marks are written."""

    def mark(self, number: int) -> ast.expr: ...
    def after(self, number: int, value: ast.expr) -> ast.expr: ...


class Constants:
    """Marks that become constants of the compiled code: `-MARK`, and `(value, -MARK)[0]` after a value."""

    def __init__(self) -> None:
        self.count = 0

    def mark(self, number: int) -> ast.expr:
        self.count += 1  # each its own: what is equal would be one constant
        return ast.UnaryOp(ast.USub(), ast.Constant(f"{PLACEHOLDER}{number} {self.count}"))

    def after(self, number: int, value: ast.expr) -> ast.expr:
        both = ast.Tuple([value, self.mark(number)], ast.Load())
        return ast.Subscript(both, ast.Constant(0), ast.Load())


class Names:
    """Marks by names that live in `builtins`, for code that others compile: a notebook's cells."""

    def mark(self, number: int) -> ast.expr:
        return ast.Call(ast.Name(MARK, ast.Load()), [ast.Constant(number)], [])

    def after(self, number: int, value: ast.expr) -> ast.expr:
        return ast.Call(ast.Name(RETURN, ast.Load()), [ast.Constant(number), value], [])


@dataclass(frozen=True, slots=True)
class Module:
    """What the scopes of one file share."""

    file: str
    statements: Statements
    has_own_range: bool
    form: Form


class _Scope:
    """One function (or the module): statements in it share a scope number."""

    def __init__(self, module: Module, function: str) -> None:
        self.module = module
        self.function = function
        self.number = module.statements.new_scope()
        self.loops: list[tuple[int, int | None]] = []  # (numbers of the loop statement and of its next-iteration mark)
        self.entered = False
        self.exit_number = -1

    def body_of_function(self, body: list[ast.stmt]) -> list[ast.stmt]:
        head, rest = _split_head(body)
        if not rest:
            return body
        self.exit_number = self._number(rest[-1], EXIT)
        marked = self.block(rest)
        if not isinstance(rest[-1], (ast.Return, ast.Raise)):
            marked.append(self._mark(self.exit_number))
        return head + marked

    def block(self, body: list[ast.stmt], flags_of_first: int = 0) -> list[ast.stmt]:
        marked: list[ast.stmt] = []
        for statement in body:
            if isinstance(statement, ast.Continue) and self.loops:
                marked += self._iteration_ends()
            elif not isinstance(statement, _SILENT):
                flags = 0 if self.entered else ENTER
                if statement is body[0]:
                    flags |= flags_of_first
                if isinstance(statement, _LOOPS):
                    flags |= LOOP
                number = self._number(statement, flags)
                marked.append(self._mark(number, None if self.entered else statement))
                self.entered = True
                self._inside(statement, number)
                if isinstance(statement, ast.Return) and statement.value is None:
                    marked.append(self._mark(self.exit_number))
            marked.append(statement)
        return marked

    def _inside(self, statement: ast.stmt, number: int) -> None:
        """Mark what lies inside a statement: nested blocks, nested functions, ways out."""
        _Lambdas(self).visit_head(statement)
        if isinstance(statement, FUNCTIONS):
            inner = _Scope(self.module, f"{self.function}.{statement.name}")
            statement.body = inner.body_of_function(statement.body)
            return
        if isinstance(statement, ast.ClassDef):
            outer_name, self.function = self.function, f"{self.function}.{statement.name}"
            head, rest = _split_head(statement.body)
            statement.body = head + self.block(rest)
            self.function = outer_name
            return
        if isinstance(statement, _LOOPS):
            self._inside_loop(statement, number)
        else:
            for field in ("body", "orelse", "finalbody"):
                nested = getattr(statement, field, None)
                if isinstance(nested, list) and nested and isinstance(nested[0], ast.stmt):
                    setattr(statement, field, self.block(nested))
            for handler in [*getattr(statement, "handlers", []), *getattr(statement, "cases", [])]:
                handler.body = self.block(handler.body)
        if isinstance(statement, ast.Return) and statement.value is not None:
            statement.value = self._expressions(statement.value, statement)
            statement.value = ast.fix_missing_locations(self._wrapped(self.exit_number, statement.value, statement))
        else:
            for name, value in ast.iter_fields(statement):
                if isinstance(value, ast.expr):
                    setattr(statement, name, self._expressions(value, statement))

    def _inside_loop(self, loop: ast.For | ast.AsyncFor | ast.While, number: int) -> None:
        first_tells = self._next_iteration_runs_nothing(loop) and not isinstance(loop.body[0], _TELLS_NO_TURN)
        self.loops.append((number, None if first_tells else self._number(loop, NEXT)))
        last = loop.body[-1]
        loop.body = self.block(loop.body, FIRST if first_tells else 0)
        if not isinstance(last, (ast.Return, ast.Raise, ast.Continue, ast.Break)):
            loop.body += self._iteration_ends()
        self.loops.pop()
        loop.orelse = self.block(loop.orelse)

    def _next_iteration_runs_nothing(self, loop: ast.For | ast.AsyncFor | ast.While) -> bool:
        """Is there nothing between two iterations but counting: no code of the program's, no operation of torch's?"""
        if isinstance(loop, ast.While):
            return isinstance(loop.test, ast.Constant)
        head = loop.iter
        by_range = isinstance(head, ast.Call) and isinstance(head.func, ast.Name) and head.func.id == "range"
        return by_range and isinstance(loop.target, ast.Name) and not self.module.has_own_range

    def _iteration_ends(self) -> list[ast.stmt]:
        next_number = self.loops[-1][1]
        return [] if next_number is None else [self._mark(next_number)]

    def _expressions(self, value: ast.expr, statement: ast.stmt) -> ast.expr:
        """A `yield` is a way out and, later, a way in."""
        if not any(isinstance(node, ast.Yield) for node in ast.walk(value)):
            return value
        changed = _Yields(self, statement).visit(value)
        assert isinstance(changed, ast.expr)
        return changed

    def _number(self, statement: ast.stmt, flags: int) -> int:
        end_line, end_column = head_end(statement)
        return self.module.statements.add(
            Statement(
                self.module.file,
                statement.lineno,
                end_line,
                statement.col_offset,
                end_column,
                self.number,
                self.function.removeprefix("<module>.") if self.function != "<module>" else "",
                flags,
                tuple(loop for loop, _ in self.loops),
            )
        )

    def _mark(self, number: int, first: ast.stmt | None = None) -> ast.stmt:
        """A mark before a statement. The first of a call has its line, or else it would have that of the `def`."""
        mark = ast.Expr(self.module.form.mark(number))
        return _nowhere(mark) if first is None else ast.fix_missing_locations(ast.copy_location(mark, _begins(first)))

    def _wrapped(self, number: int, value: ast.expr | None, user: ast.AST) -> ast.expr:
        """A value, and a mark once it has been computed. The mark has the line of what uses the value: there a tracer
        of lines is told of one, if of any, and not again."""
        inner = value if value is not None else ast.Constant(None)
        return ast.copy_location(self.module.form.after(number, inner), user)

    def body_of_lambda(self, body: ast.expr) -> ast.expr:
        """A lambda's body as if it were a function with the one statement `return body`."""
        statement = as_return(body)
        self.exit_number = self._number(statement, EXIT)
        enter = self.module.form.mark(self._number(statement, ENTER))
        both = ast.BoolOp(ast.Or(), [enter, body])  # a mark gives None
        ast.copy_location(both, _begins(body))
        return ast.fix_missing_locations(self._wrapped(self.exit_number, both, body))


class _Lambdas(ast.NodeTransformer):
    """Marks the lambdas in a statement: one is often written in one place and called in another."""

    def __init__(self, scope: _Scope) -> None:
        self.scope = scope

    def visit_head(self, statement: ast.stmt) -> None:
        """Change what the statement itself says; the statements inside it are visited later."""
        for name, value in ast.iter_fields(statement):
            if isinstance(value, ast.expr):
                setattr(statement, name, self.visit(value))
            elif isinstance(value, ast.arguments):
                self.visit(value)
            elif isinstance(value, list):
                kept = (ast.stmt, ast.ExceptHandler, ast.match_case)
                value[:] = [self.visit(v) if isinstance(v, ast.AST) and not isinstance(v, kept) else v for v in value]

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        within = list(ast.walk(node.body))
        calls = any(isinstance(inner, ast.Call) for inner in within)  # a sort key that calls nothing stays as quick
        yields = any(isinstance(inner, (ast.Yield, ast.YieldFrom)) for inner in within)
        self.generic_visit(node)
        if calls and not yields:
            inner = _Scope(self.scope.module, f"{self.scope.function}.<lambda>")
            node.body = inner.body_of_lambda(node.body)
        return node


class _Yields(ast.NodeTransformer):
    def __init__(self, scope: _Scope, statement: ast.stmt) -> None:
        self.scope = scope
        self.statement = statement

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node

    def visit_Yield(self, node: ast.Yield) -> ast.AST:
        self.generic_visit(node)
        away = self.scope._number(self.statement, SUSPEND)
        back = self.scope._number(self.statement, RESUME)
        node.value = self.scope._wrapped(away, node.value, node)
        return ast.fix_missing_locations(self.scope._wrapped(back, node, node))


def _split_head(body: list[ast.stmt]) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """A docstring and `from __future__` imports must stay first."""
    count = 0
    for statement in body:
        docstring = count == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        if not (docstring or future):
            break
        count += 1
    return body[:count], body[count:]


# The part of a piece of source that is evaluated first.
_FIRST_PART: dict[type, str] = {
    ast.Return: "value", ast.Expr: "value", ast.Assign: "value", ast.AnnAssign: "value", ast.AugAssign: "target",
    ast.With: "items", ast.AsyncWith: "items", ast.withitem: "context_expr", ast.If: "test", ast.While: "test",
    ast.For: "iter", ast.AsyncFor: "iter", ast.Assert: "test", ast.Raise: "exc", ast.IfExp: "test", ast.Call: "func",
    ast.Attribute: "value", ast.Subscript: "value", ast.BinOp: "left", ast.BoolOp: "values", ast.Compare: "left",
    ast.UnaryOp: "operand", ast.Await: "value", ast.Yield: "value", ast.Starred: "value", ast.NamedExpr: "value",
}  # fmt: skip


def _begins(node: ast.AST) -> ast.AST:
    """What is evaluated first, which may stand on another line than the beginning does."""
    part = getattr(node, _FIRST_PART.get(type(node), ""), None)
    first = part[0] if isinstance(part, list) else part
    return _begins(first) if first is not None else node


def as_return(body: ast.expr) -> ast.Return:
    """What a lambda does, as a statement."""
    return ast.copy_location(ast.Return(body), body)


def _nowhere(inserted: _Node) -> _Node:
    """Give an inserted piece no line of its own, as what Python itself adds has none: a tracer of lines sees none."""
    for node in ast.walk(inserted):
        if isinstance(node, (ast.expr, ast.stmt)):
            node.lineno = node.end_lineno = node.col_offset = node.end_col_offset = -1
    return inserted
