"""What a statement says: which names it assigns, and which it reads."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from afterward.follow.nodes import FUNCTIONS, children, inside, kept
from afterward.model.methods import PUTTING


def spelled(node: ast.AST) -> str:
    """An expression as it is written, with double quotes: `ast` has single ones."""
    text = ast.unparse(node)
    return text if '"' in text else text.replace("'", '"')


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


def statements_in(holder: ast.stmt) -> Iterator[ast.stmt]:
    """The statements directly inside a compound one."""
    for child in children(holder):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, (ast.ExceptHandler, ast.match_case)):
            yield from child.body


def holders(statements: Iterable[ast.stmt]) -> dict[ast.stmt, ast.stmt]:
    """For each statement inside of one of these, the one that directly holds it."""
    return {inner: holder for holder in statements for inner in statements_in(holder)}


def outward(held: Mapping[ast.stmt, ast.stmt], statement: ast.stmt) -> Iterator[ast.stmt]:
    """The statements that hold this one, innermost first, up to the function it is in."""
    current = held.get(statement)
    while current is not None:
        yield current
        if isinstance(current, FUNCTIONS):
            return
        current = held.get(current)


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


def head_end(statement: ast.stmt) -> tuple[int, int | None]:
    """Where a statement ends; for a compound one, where its head ends."""
    for field in ("items", "iter", "test", "subject"):
        part = getattr(statement, field, None)
        if part is None or not (hasattr(statement, "body") or hasattr(statement, "cases")):
            continue
        last = part[-1].context_expr if isinstance(part, list) else part
        return last.end_lineno, last.end_col_offset
    if hasattr(statement, "body"):
        return statement.lineno, None
    return statement.end_lineno or statement.lineno, statement.end_col_offset


def parts_run(statement: ast.stmt | None) -> list[ast.AST]:
    """All syntax of what runs when a statement runs; none without a statement."""
    return [node for part in head(statement) for node in inside(part)] if statement is not None else []


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
    names += [Name(node.target.id, node.target) for node in parts_run(statement) if isinstance(node, ast.NamedExpr)]
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


_GROWING = PUTTING | {"register_buffer"}


def _grown(call: ast.Call) -> list[Name]:
    """`memory.append(x)` and its like put a value into `memory`."""
    function = call.func
    if isinstance(function, ast.Attribute) and function.attr in _GROWING and call.args:
        owner = function.value
        while (
            isinstance(owner, ast.Call) and isinstance(owner.func, ast.Attribute) and owner.func.attr in _ITEM_METHODS
        ):
            owner = owner.func.value  # `log.setdefault(key, []).append(x)`
        return list(_flat(owner))
    if isinstance(function, ast.Name) and function.id == "setattr" and len(call.args) == 3:
        owner, name = call.args[:2]
        if isinstance(name, ast.Constant) and isinstance(name.value, str):
            return [Name(f"{spelled(owner)}.{name.value}", ast.Attribute(owner, name.value, ast.Store()))]
    return []


def _flat(target: ast.expr) -> Iterator[Name]:
    if isinstance(target, (ast.Tuple, ast.List)):
        for element in target.elts:
            yield from _flat(element)
    elif isinstance(target, ast.Starred):
        yield from _flat(target.value)
    elif isinstance(target, (ast.Name, ast.Attribute, ast.Subscript)):
        yield Name(spelled(target), target)


@lru_cache(maxsize=8192)
def reads(statement: ast.stmt) -> list[Name]:
    """What a statement reads, in source order: the longest chains first (`self.cell.h` before `self.cell`)."""
    names: list[Name] = []
    for node in parts_run(statement):
        if isinstance(node, ast.Call):
            names += _by_call(node)
        elif isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            loaded = isinstance(node.ctx, ast.Load)
            augmented = isinstance(statement, ast.AugAssign) and node is statement.target
            if loaded or augmented:
                names.append(Name(spelled(node), node))
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
            return [Name(f"{spelled(first)}.{second.value}", call)]
    elif isinstance(function, ast.Attribute) and isinstance(function.value, (ast.Name, ast.Attribute, ast.Subscript)):
        owner = spelled(function.value)
        if first is not None and function.attr in _ITEM_METHODS:
            return [Name(f"{owner}[{spelled(first)}]", call)]
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
    for call in parts_run(statement):
        if not isinstance(call, ast.Call):
            continue
        function = call.func
        called = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        # A loss of three values compares them with each other: `bpr_loss(user, taken, other)`.
        if called not in _LOSSES and not (called.endswith("_loss") and len(call.args) <= 2):
            continue
        wanted = [*call.args[1:2], *(k.value for k in call.keywords if k.arg == "target")]
        if any(inner is name for argument in wanted for inner in inside(argument)):
            return True
    return False


def cut_name(statement: ast.stmt | None, node: ast.AST | None) -> str:
    """What a value is called that loses its graph here: by the name that the statement gives it, else as it is read."""
    given = targets(statement) if statement is not None else []
    return given[0].text.removesuffix(".requires_grad") if given else cut_value(node)


def cut_value(node: ast.AST | None) -> str:
    """What was cut: `x` in `x.detach()`, `losses` in `torch.tensor(losses)`."""
    if isinstance(node, ast.Attribute):
        return ast.unparse(node.value)
    if isinstance(node, ast.Compare):
        return ast.unparse(node.left)
    if isinstance(node, ast.Call):
        if node.args and not is_literal(node.args[0]):
            names = list(dict.fromkeys(inner.id for inner in inside(node.args[0]) if isinstance(inner, ast.Name)))
            if len(names) > 1 and isinstance(node.args[0], ast.ListComp):
                return ""  # which of them it was, nothing says
            return names[0] if names else ast.unparse(node.args[0])
        if isinstance(node.func, ast.Attribute):
            return ast.unparse(node.func.value)
    return ""


def whole(target: ast.expr) -> ast.expr:
    """What a write to a part changes: `x[2:3]` and `x.data` write to `x`."""
    while isinstance(target, ast.Subscript) or (
        isinstance(target, ast.Attribute) and target.attr in ("data", "T", "mT")
    ):
        target = target.value
    return target


def is_literal(node: ast.expr) -> bool:
    return all(
        isinstance(n, (ast.Constant, ast.List, ast.Tuple, ast.Load, ast.UnaryOp, ast.USub)) for n in ast.walk(node)
    )


_CUTS = ("detach", "item", "tolist", "numpy", "argmax")


def is_cut_off(value: ast.expr | None) -> bool:
    """Is the last thing that an expression does to its value to cut it off: `generator(noise).detach()`?"""
    if isinstance(value, ast.Attribute):
        return value.attr == "data"
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        return value.func.id == "float"
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _CUTS


_READ_ALL = frozenset({"locals", "globals", "vars", "eval", "exec", "__all__"})


@kept
def names_read(tree: ast.AST) -> frozenset[str] | None:
    """The names that a file or function reads anywhere, or shares with others; None where it may read any: by
    `locals()`, or as what it exports."""
    nodes = inside(tree)
    names = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store)}
    names |= {node.target.id for node in nodes if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)}
    names |= {name for node in nodes if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names}
    return None if names & _READ_ALL else frozenset(names)
