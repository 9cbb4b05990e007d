"""What a pasted tree lacks: the class around methods, the method around statements, the end of a `forward`."""

from __future__ import annotations

import ast
import sys
from dataclasses import replace
from functools import reduce

from afterward.follow.nodes import FUNCTIONS, inside
from afterward.interpret.fragments import vocabulary
from afterward.interpret.fragments.around import around_of
from afterward.model.methods import PASSES

_DEFINES = (*FUNCTIONS, ast.ClassDef)
_OF_MODULES = frozenset({"parameters", "named_parameters", "state_dict", "modules", "zero_grad"})
_BASES = {"training_step": "lightning.pytorch.LightningModule", "forward": "torch.nn.Module"}
_KNOWN = vocabulary.LIBRARIES | sys.stdlib_module_names
_TRAINS = PASSES | {"step", "zero_grad"}


def completed(tree: ast.Module) -> ast.Module:
    """A pasted tree with what was around it."""
    around = around_of(tree)
    dropped = (one for one in tree.body if isinstance(one, ast.ImportFrom) and _is_of_unseen(one))
    unseen = frozenset(one.asname or one.name for node in dropped for one in node.names)
    body = [_in_place(one) for one in tree.body if not _is_of_unseen(one)]
    tree = ast.Module([*body, *_after_returns(tree)], tree.type_ignores)
    tree = _as_forward(tree)
    for function in [one for one in ast.walk(tree) if isinstance(one, FUNCTIONS) and one.name == "forward"]:
        _ended(function)
    made = _as_classes(tree)
    made._around = replace(around, unseen=unseen)  # type: ignore[attr-defined]
    return made


def _is_of_unseen(node: ast.stmt) -> bool:
    """An import from a module of the program, which was not copied: its names are known by their use alone."""
    if not isinstance(node, ast.ImportFrom):
        return False
    return bool(node.level) or (node.module or "").split(".")[0] not in _KNOWN


def _in_place(node: ast.stmt) -> ast.stmt:
    """A `return` outside a function ends one that was not copied whole: what follows it is there all the same."""
    if not isinstance(node, ast.Return):
        return node
    return ast.copy_location(ast.Pass() if node.value is None else ast.Expr(node.value), node)


def _after_returns(tree: ast.Module) -> list[ast.stmt]:
    """What stands in a function after its `return` was copied from elsewhere: it is taken out."""
    found = []
    for function in (one for one in ast.walk(tree) if isinstance(one, FUNCTIONS)):
        end = next((n for n, one in enumerate(function.body, 1) if isinstance(one, ast.Return)), len(function.body))
        found += function.body[end:]
        del function.body[end:]
    return found


def _as_classes(tree: ast.Module) -> ast.Module:
    """The methods of a class that were copied without it, as a class; some names say of which."""
    methods = [one for one in tree.body if _is_method(one)]
    if not methods:
        return tree
    made = ast.ClassDef("Fragment", [], [], methods, [])
    names = {getattr(one, "name", "") for one in methods}
    bases = [path for name, path in _BASES.items() if name in names]
    if not bases and any(_is_of_module(one) for method in methods for one in inside(method)):
        bases = [_BASES["forward"]]
    made.bases = [ast.parse(one, mode="eval").body for one in bases[:1]]
    if "type_params" in ast.ClassDef._fields:
        made.type_params = []  # type: ignore[attr-defined]
    ast.fix_missing_locations(ast.copy_location(made, methods[0]))
    made.end_lineno, made.end_col_offset = methods[-1].end_lineno, methods[-1].end_col_offset
    for part in (one for base in made.bases for one in ast.walk(base)):
        if isinstance(part, ast.expr):
            ast.copy_location(part, methods[0])
    position = tree.body.index(methods[0])
    rest = [one for one in tree.body if one not in methods]
    return ast.Module([*rest[:position], made, *rest[position:]], tree.type_ignores)


def _is_method(node: ast.stmt) -> bool:
    return isinstance(node, FUNCTIONS) and bool(node.args.args) and node.args.args[0].arg == "self"


def _is_of_module(node: ast.AST) -> bool:
    """`self(x)`, `self.parameters()`: what only an object with a `forward` is asked for."""
    if not isinstance(node, ast.Call):
        return False
    asked = node.func.value if isinstance(node.func, ast.Attribute) and node.func.attr in _OF_MODULES else node.func
    return isinstance(asked, ast.Name) and asked.id == "self"


def _as_forward(tree: ast.Module) -> ast.Module:
    """Statements that call parts of `self` and come to no pass are taken out of a `forward`."""
    body = [one for one in tree.body if not isinstance(one, (ast.Import, ast.ImportFrom, ast.Pass))]
    nodes = [node for one in body for node in ast.walk(one)]
    attributes = {one.attr for one in nodes if isinstance(one, ast.Attribute)}
    if not body or attributes & _TRAINS or any(isinstance(one, _DEFINES) for one in nodes):
        return tree
    if not any(isinstance(one, ast.Call) and _is_of_self(one.func) for one in nodes):
        return tree
    set_here = _assigned(body)
    first = body[0]
    made = ast.parse("def forward(self): pass").body[0]
    assert isinstance(made, ast.FunctionDef)
    read = [one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)]
    free = [one for one in dict.fromkeys(read) if one not in set_here and one != "self"]
    called = {one.func.id for one in nodes if isinstance(one, ast.Call) and isinstance(one.func, ast.Name)}
    made.args.args += [ast.arg(one) for one in free if one not in called and one not in _MODULES]
    made.body = body
    ast.copy_location(made, first)
    made.end_lineno, made.end_col_offset = body[-1].end_lineno, body[-1].end_col_offset
    for part in made.args.args:
        ast.copy_location(part, first)
    return ast.Module([made], tree.type_ignores)


_MODULES = frozenset({"torch", "nn", "F", "np", "math"})


def _is_of_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def _ended(function: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    """A `forward` that was cut off before its `return` gives back what it computed."""
    ends = (ast.Return, ast.Raise, ast.Yield, ast.YieldFrom)
    if any(isinstance(one, ends) for one in inside(function)):
        return
    names = list(_assigned(function.body))
    if not names:
        return
    last = function.body[-1]
    if isinstance(last, ast.Expr) and isinstance(last.value, (ast.Name, ast.Constant)):
        function.body.pop()  # half of a line
    values: list[ast.expr] = [ast.Name(one, ast.Load()) for one in names]
    end = ast.Return(reduce(lambda left, right: ast.BinOp(left, ast.Add(), right), values))
    function.body.append(end)
    for part in ast.walk(end):
        if isinstance(part, (ast.expr, ast.stmt)):
            ast.copy_location(part, last)


def _assigned(body: list[ast.stmt]) -> dict[str, None]:
    """The names that some statements set, in their order."""
    stored = (one for part in body for one in ast.walk(part) if isinstance(one, ast.Name))
    return dict.fromkeys(one.id for one in stored if isinstance(one.ctx, ast.Store))


__all__ = ["completed"]
