"""Reads what the program's statements say: which names they assign, and which they read."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from afterward.model.site import Site
from afterward.observe.marks.rewrite import as_return
from afterward.observe.marks.statements import Statement, Statements


@dataclass(frozen=True, slots=True)
class Name:
    """A name, attribute or item as the program writes it."""

    text: str
    node: ast.expr

    @property
    def is_plain(self) -> bool:
        return isinstance(self.node, ast.Name)

    @property
    def kind(self) -> str:
        if isinstance(self.node, ast.Call):  # `getattr(owner, "name")`, or an item by a method
            return "attribute" if isinstance(self.node.func, ast.Name) else "item"
        return {ast.Name: "local", ast.Attribute: "attribute"}.get(type(self.node), "item")


class Sources:
    """The syntax trees of the marked files, parsed when somebody asks."""

    def __init__(self, statements: Statements) -> None:
        self.statements = statements
        self._trees: dict[str, dict[tuple[int, int], ast.stmt]] = {}
        self._around: dict[str, dict[ast.stmt, ast.stmt]] = {}
        self._sites: dict[int, Site] = {}

    def text(self, file: str) -> str:
        if file not in self.statements.sources:
            try:
                with open(file, encoding="utf-8", errors="replace") as handle:
                    self.statements.sources[file] = handle.read()
            except OSError:  # a cell of a notebook is no file, but Python's own tracebacks can show it
                self.statements.sources[file] = "".join(linecache.getlines(file))
        return self.statements.sources[file]

    def statement(self, number: int) -> ast.stmt | None:
        entry = self.statements.table[number]
        return self.statement_at(entry.file, entry.line, entry.column)

    def statement_at(self, file: str, line: int, column: int) -> ast.stmt | None:
        if file not in self._trees:
            self._trees[file] = _by_position(self.text(file))
        return self._trees[file].get((line, column))

    def statement_on(self, file: str, line: int) -> ast.stmt | None:
        """The innermost statement that a line belongs to."""
        self.statement_at(file, line, 0)
        around = [one for one in self._trees[file].values() if one.lineno <= line <= (one.end_lineno or one.lineno)]
        return min(around, key=lambda one: (one.end_lineno or one.lineno) - one.lineno, default=None)

    def definition(self, file: str, line: int, name: str) -> ast.FunctionDef | None:
        """The function that begins on a line of a marked file; one that is decorated is not what it says."""
        self.statement_at(file, line, 0)
        for (first, _), found in self._trees[file].items():
            if first == line and isinstance(found, ast.FunctionDef) and found.name == name:
                return found if not found.decorator_list else None
        return None

    def statements_of(self, file: str) -> list[ast.stmt]:
        """All statements of a file, in the order in which they are written."""
        self.statement_at(file, 1, 0)
        return sorted(self._trees[file].values(), key=lambda one: (one.lineno, one.col_offset))

    def around(self, file: str, statement: ast.stmt) -> Iterator[ast.stmt]:
        """The statements that hold this one, innermost first, up to the function it is in."""
        if file not in self._around:
            self.statement_at(file, 1, 0)
            outer = set(self._trees[file].values())
            self._around[file] = {inner: holder for holder in outer for inner in _statements_in(holder)}
        current = self._around[file].get(statement)
        while current is not None:
            yield current
            if isinstance(current, (ast.FunctionDef, ast.AsyncFunctionDef)):
                return
            current = self._around[file].get(current)

    def site(self, entry: Statement, moment: int | None = None) -> Site:
        """Columns in code points, as the reader counts them; `ast` counts bytes."""
        known = self._sites.get(id(entry))
        if known is not None and not self.statements.runs:  # a cell of a notebook changes its name
            return known
        lines = self._lines(entry.file)
        column = _points(lines, entry.line, entry.column)
        end = None if entry.end_column is None else _points(lines, entry.end_line, entry.end_column)
        site = Site(self.statements.file_at(entry.file, moment), entry.line, entry.end_line, column, end)
        self._sites[id(entry)] = site  # the table of statements keeps its entries for good
        return site

    def site_of(self, file: str, node: ast.expr | ast.stmt) -> Site:
        lines = self._lines(file)
        end_line = node.end_lineno or node.lineno
        end_column = _points(lines, end_line, node.end_col_offset or 0)
        return Site(file, node.lineno, end_line, _points(lines, node.lineno, node.col_offset), end_column)

    def line(self, file: str, number: int) -> str:
        lines = self._lines(file)
        return lines[number - 1] if 0 < number <= len(lines) else ""

    def _lines(self, file: str) -> tuple[str, ...]:
        return _split(self.text(file))


@lru_cache(maxsize=64)
def _split(text: str) -> tuple[str, ...]:
    return tuple(text.splitlines())


def _points(lines: tuple[str, ...], line: int, column: int) -> int:
    if not 0 < line <= len(lines) or lines[line - 1].isascii():
        return column
    return len(lines[line - 1].encode()[:column].decode(errors="ignore"))


def _by_position(text: str) -> dict[tuple[int, int], ast.stmt]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return {}
    lambdas = (as_return(node.body) for node in ast.walk(tree) if isinstance(node, ast.Lambda))
    found = {(statement.lineno, statement.col_offset): statement for statement in lambdas}
    return found | {(node.lineno, node.col_offset): node for node in ast.walk(tree) if isinstance(node, ast.stmt)}


def _statements_in(holder: ast.stmt) -> Iterator[ast.stmt]:
    """The statements directly inside a compound one."""
    for child in ast.iter_child_nodes(holder):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, (ast.ExceptHandler, ast.match_case)):
            yield from child.body


def head(statement: ast.stmt) -> list[ast.AST]:
    """The parts of a statement that run when it runs: of a compound one, its head."""
    if isinstance(statement, (ast.For, ast.AsyncFor)):
        return [statement.target, statement.iter]
    if isinstance(statement, (ast.While, ast.If)):
        return [statement.test]
    if isinstance(statement, (ast.With, ast.AsyncWith)):
        return list(statement.items)
    if hasattr(statement, "body") or hasattr(statement, "cases"):
        return []
    return [statement]


@lru_cache(maxsize=8192)
def targets(statement: ast.stmt) -> list[Name]:
    """What a statement assigns to, left to right: names, attributes, items."""
    found: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        found = list(statement.targets)
    elif isinstance(statement, (ast.AugAssign, ast.AnnAssign, ast.For, ast.AsyncFor)):
        found = [statement.target]
    elif isinstance(statement, (ast.With, ast.AsyncWith)):
        found = [item.optional_vars for item in statement.items if item.optional_vars is not None]
    names = [name for target in found for name in _flat(target)]
    for part in head(statement):
        names += [Name(node.target.id, node.target) for node in ast.walk(part) if isinstance(node, ast.NamedExpr)]
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        names += _grown(statement.value)
    if sets(statement):
        names += _flat(statement.value.func.value)  # type: ignore[attr-defined]
    return names


def sets(statement: ast.stmt) -> bool:
    """Is it `token = variable.set(x)`, as a context variable is given its value?"""
    value = statement.value if isinstance(statement, (ast.Assign, ast.Expr)) else None
    called = value.func if isinstance(value, ast.Call) and len(value.args) == 1 else None
    return isinstance(called, ast.Attribute) and called.attr == "set"


def _grown(call: ast.Call) -> list[Name]:
    """`memory.append(x)` and its like put a value into `memory`."""
    growing = {
        "append",
        "appendleft",
        "extend",
        "insert",
        "add",
        "put",
        "push",
        "update",
        "setdefault",
        "register_buffer",
    }
    function = call.func
    if isinstance(function, ast.Attribute) and function.attr in growing and call.args:
        owner = function.value
        while (
            isinstance(owner, ast.Call) and isinstance(owner.func, ast.Attribute) and owner.func.attr in _ITEM_METHODS
        ):
            owner = owner.func.value  # `log.setdefault(key, []).append(x)`
        return list(_flat(owner))
    if isinstance(function, ast.Name) and function.id == "setattr" and len(call.args) == 3:
        owner, name = call.args[:2]
        if isinstance(name, ast.Constant) and isinstance(name.value, str):
            return [Name(f"{ast.unparse(owner)}.{name.value}", ast.Attribute(owner, name.value, ast.Store()))]
    return []


def _flat(target: ast.expr) -> Iterator[Name]:
    if isinstance(target, (ast.Tuple, ast.List)):
        for element in target.elts:
            yield from _flat(element)
    elif isinstance(target, ast.Starred):
        yield from _flat(target.value)
    elif isinstance(target, (ast.Name, ast.Attribute, ast.Subscript)):
        yield Name(ast.unparse(target), target)


@lru_cache(maxsize=8192)
def reads(statement: ast.stmt) -> list[Name]:
    """What a statement reads, in source order: the longest chains first (`self.cell.h` before `self.cell`)."""
    names: list[Name] = []
    for part in head(statement):
        for node in ast.walk(part):
            if isinstance(node, ast.Call):
                names += _by_call(node)
            elif isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
                loaded = isinstance(node.ctx, ast.Load)
                augmented = isinstance(statement, ast.AugAssign) and node is statement.target
                if loaded or augmented:
                    names.append(Name(ast.unparse(node), node))
    owners = {name.text.rpartition("[")[0] for name in names}
    return sorted(names, key=lambda name: name.text in owners)  # `past` after `past[-1]`, also where it is grown


_ITEM_METHODS = {"get", "pop", "setdefault"}
_END_METHODS = {"pop": -1, "popleft": 0}


def _by_call(call: ast.Call) -> list[Name]:
    """`cache.get("past")` reads `cache["past"]`, `queue.popleft()` reads `queue[0]`, `getattr(m, "h")` reads `m.h`."""
    function = call.func
    first, second = (*call.args, None, None)[:2]
    if isinstance(function, ast.Name) and first is not None:
        if function.id == "getattr" and isinstance(second, ast.Constant) and isinstance(second.value, str):
            return [Name(f"{ast.unparse(first)}.{second.value}", call)]
    elif isinstance(function, ast.Attribute) and isinstance(function.value, (ast.Name, ast.Attribute, ast.Subscript)):
        owner = ast.unparse(function.value)
        if first is not None and function.attr in _ITEM_METHODS:
            return [Name(f"{owner}[{ast.unparse(first)}]", call)]
        if first is None and function.attr in _END_METHODS:
            return [Name(f"{owner}[{_END_METHODS[function.attr]}]", call)]
    return []


def last_name(text: str) -> str:
    """`net.layers[1].state[4]` is called `state` where the layer itself writes of it."""
    while text.endswith("]") and "[" in text:
        text = text[: _opening(text)]
    return text.split(".")[-1]


def _opening(text: str) -> int:
    """Where the last pair of brackets opens."""
    depth = 0
    for place in range(len(text) - 1, -1, -1):
        depth += (text[place] == "]") - (text[place] == "[")
        if depth == 0:
            return place
    return 0


_LOSSES = {"kl_div", "cross_entropy", "binary_cross_entropy", "binary_cross_entropy_with_logits"}


def is_target(statement: ast.stmt | None, name: ast.expr) -> bool:
    """Is the name read as what a loss function compares with: its second argument, or `target=`?"""
    for part in head(statement) if statement is not None else ():
        for call in ast.walk(part):
            if not isinstance(call, ast.Call):
                continue
            function = call.func
            called = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
            # A loss of three values compares them with each other: `bpr_loss(user, taken, other)`.
            if called not in _LOSSES and not (called.endswith("_loss") and len(call.args) <= 2):
                continue
            wanted = [*call.args[1:2], *(k.value for k in call.keywords if k.arg == "target")]
            if any(inner is name for argument in wanted for inner in ast.walk(argument)):
                return True
    return False
