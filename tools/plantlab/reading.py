"""What operators look for in a program: backward calls, optimizers and their steps, model calls, names."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from plantlab.source import Block, Source

OPTIMIZERS = (
    "SGD",
    "Adam",
    "AdamW",
    "RMSprop",
    "Adagrad",
    "Adadelta",
    "Adamax",
    "NAdam",
    "RAdam",
    "LBFGS",
    "Rprop",
    "ASGD",
)


def called(node: ast.AST | None) -> str:
    """The last name of what is called: `step` of `opt.step()`, `zeros` of `torch.zeros(3)`."""
    if not isinstance(node, ast.Call):
        return ""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def is_call(statement: ast.stmt, name: str) -> bool:
    """Is the whole statement a call of this method?"""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and isinstance(statement.value.func, ast.Attribute)
        and statement.value.func.attr == name
    )


def receiver(source: Source, statement: ast.stmt) -> str:
    """`opt` of the statement `opt.step()`."""
    assert isinstance(statement, ast.Expr)
    assert isinstance(statement.value, ast.Call)
    assert isinstance(statement.value.func, ast.Attribute)
    return source.code(statement.value.func.value)


def is_backward(statement: ast.stmt) -> bool:
    return is_call(statement, "backward")


def optimizers(source: Source) -> dict[str, ast.Assign]:
    """Each optimizer's name (`opt`, `self.opt`) with the statement that builds it."""
    found: dict[str, ast.Assign] = {}
    for node in source.walk():
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and called(node.value) in OPTIMIZERS:
            found[source.code(node.targets[0])] = node
    return found


def is_step(source: Source, statement: ast.stmt) -> bool:
    """A step without a closure, of what is built as an optimizer or is named like one."""
    if not is_call(statement, "step") or statement.value.args:  # type: ignore[attr-defined]
        return False
    name = receiver(source, statement)
    return name in optimizers(source) or "opt" in name.lower()


def calls(source: Source, name: str) -> Iterator[ast.Call]:
    for node in source.walk():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name:
            yield node


def pairs(block: Block) -> Iterator[tuple[int, int]]:
    for first in range(len(block)):
        for second in range(first + 1, len(block)):
            yield first, second


def bound(node: ast.AST) -> set[str]:
    """Names that it binds, anywhere inside."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def read(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def holds_backward(node: ast.AST) -> bool:
    return any(called(n) == "backward" for n in ast.walk(node))


def model_of(optimizer: ast.Assign) -> str | None:
    """`net` of `SGD(net.parameters(), ...)`."""
    assert isinstance(optimizer.value, ast.Call)
    for argument in optimizer.value.args[:1]:
        if called(argument) == "parameters" and isinstance(argument.func, ast.Attribute):  # type: ignore[attr-defined]
            return ast.unparse(argument.func.value)  # type: ignore[attr-defined]
    return None


def is_fresh(value: ast.expr) -> bool:
    """Does it make a state without a graph: `torch.zeros(...)`, `x.new_zeros(...)`, `net.init_hidden(...)`, a tuple?"""
    if isinstance(value, (ast.Tuple, ast.List)):
        return bool(value.elts) and all(is_fresh(e) for e in value.elts)
    name = called(value)
    return name in ("zeros", "new_zeros", "zeros_like", "empty") or name.startswith("init_")
