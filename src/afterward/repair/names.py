"""Which names a piece of code reads and which it gives a value to, by their text: `self.state`, `cache["h"]`."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

import libcst as cst

from afterward.repair.source import Source, Statement, descendants


def normal(text: str) -> str:
    """One spelling for one name: quotes and spaces do not tell names apart."""
    return re.sub(r"\s+", "", text).replace("'", '"')


def root(name: str) -> str:
    """The plain name that a dotted one begins with."""
    return re.split(r"[.\[(]", name, maxsplit=1)[0]


def named(source: Source, node: cst.CSTNode, name: str) -> Iterator[cst.BaseExpression]:
    """The places within a node where the program writes this name in order to read it."""
    wanted = normal(name)
    for each in (node, *descendants(node)):
        if not isinstance(each, (cst.Name, cst.Attribute, cst.Subscript)) or normal(source.code(each)) != wanted:
            continue
        if is_read(source, each):
            yield each


_IMPORTS = (cst.Import, cst.ImportFrom)
_NO_CODE = (*_IMPORTS, cst.MatchPattern)  # names in there are no expressions
_BINDING = (cst.Param, cst.AsName, cst.NameItem, *_NO_CODE, cst.ImportAlias, cst.Del, cst.AssignTarget)
_WITH_TARGET = (cst.AugAssign, cst.AnnAssign, cst.NamedExpr, cst.For, cst.CompFor)


def is_read(source: Source, node: cst.CSTNode) -> bool:
    """Is this a place where a value is taken, not where a name is given one?"""
    if isinstance(node, cst.Name) and node.value in ("None", "True", "False"):
        return False
    child, parent = node, source.parent(node)
    while parent is not None:
        if isinstance(parent, (cst.Subscript, cst.Attribute)) and parent.value is child:
            return not any(isinstance(each, _NO_CODE) for each in source.ancestors(parent))  # read, or written into
        if isinstance(parent, _BINDING) and not (isinstance(parent, cst.Param) and parent.default is child):
            return False
        if isinstance(parent, _WITH_TARGET) and parent.target is child:
            return False
        if isinstance(parent, (cst.FunctionDef, cst.ClassDef)) and parent.name is child:
            return False
        if isinstance(parent, (cst.Arg, cst.Attribute)) and _is_label(parent, child):
            return False
        if not isinstance(parent, (cst.BaseExpression, cst.BaseElement, cst.Arg)):
            return True
        child, parent = parent, source.parent(parent)
    return True


def _is_label(parent: cst.CSTNode, child: cst.CSTNode) -> bool:
    """The name of a keyword argument or of an attribute, not a variable."""
    if isinstance(parent, cst.Arg):
        return parent.keyword is child
    return isinstance(parent, cst.Attribute) and parent.attr is child


def reads(source: Source, node: cst.CSTNode) -> set[str]:
    """The plain names that a piece of code reads, without those that a comprehension or a lambda in it binds."""
    names = (each for each in (node, *descendants(node)) if isinstance(each, cst.Name) and is_read(source, each))
    return {each.value for each in names if not _is_bound_within(source, each, node)}


def _is_bound_within(source: Source, name: cst.Name, node: cst.CSTNode) -> bool:
    """Does a comprehension or a lambda inside of `node` bind this name? The first `in` of one is read outside of it."""
    child: cst.CSTNode = name
    while child is not node:
        parent = source.parent(child)
        if parent is None:
            return False
        if isinstance(parent, cst.Lambda) and child is parent.body and name.value in _parameters(parent):
            return True
        if isinstance(parent, cst.BaseComp) and name.value in _bound_by(parent.for_in):
            return not (child is parent.for_in and _is_inside(source, name, parent.for_in.iter))
        child = parent
    return False


def _bound_by(loop: cst.CompFor) -> set[str]:
    return plain_names(loop.target) | (_bound_by(loop.inner_for_in) if loop.inner_for_in is not None else set())


def _parameters(function: cst.Lambda) -> set[str]:
    every = (*function.params.params, *function.params.kwonly_params, *function.params.posonly_params)
    stars = (one for one in (function.params.star_arg, function.params.star_kwarg) if isinstance(one, cst.Param))
    return {one.name.value for one in (*every, *stars)}


def _is_inside(source: Source, node: cst.CSTNode, outer: cst.CSTNode) -> bool:
    return node is outer or any(each is outer for each in source.ancestors(node))


def forming(
    source: Source, before: list[Statement], wanted: set[str], fits: Callable[[Statement], bool] = lambda each: True
) -> list[Statement]:
    """The lines, in order, that compute what is wanted, directly or by what they need themselves."""
    wanted, found = set(wanted), list[Statement]()
    for statement in reversed(before):
        simple = isinstance(statement, cst.SimpleStatementLine) and fits(statement)
        if simple and assigned_names(source, statement) & wanted:
            found.insert(0, statement)
            wanted |= reads(source, statement)
    return found


def targets(statement: cst.CSTNode) -> list[cst.BaseExpression]:
    """What a simple assignment gives a value to, tuples taken apart."""
    if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1:
        return targets(statement.body[0])
    if isinstance(statement, cst.Assign):
        return [part for target in statement.targets for part in _parts(target.target)]
    if isinstance(statement, (cst.AnnAssign, cst.AugAssign)):
        return [statement.target]
    return []


def _parts(target: cst.BaseExpression) -> list[cst.BaseExpression]:
    if isinstance(target, (cst.Tuple, cst.List)):
        return [part for element in target.elements for part in _parts(element.value)]
    return [target]


def plain_names(target: cst.BaseExpression) -> set[str]:
    """The plain names of a target, tuples taken apart."""
    return {part.value for part in _parts(target) if isinstance(part, cst.Name)}


def assigned_names(source: Source, node: cst.CSTNode) -> set[str]:
    """The plain names that a piece of code gives a value to."""
    found: set[str] = set()
    for each in (node, *descendants(node)):
        if isinstance(each, (cst.Assign, cst.AnnAssign, cst.AugAssign)):
            found |= {t.value for t in targets(each) if isinstance(t, cst.Name)}
        elif isinstance(each, cst.For):
            found |= plain_names(each.target)
        elif isinstance(each, cst.NamedExpr) and isinstance(each.target, cst.Name):
            found.add(each.target.value)
        elif isinstance(each, cst.AsName) and isinstance(each.name, cst.Name):
            found.add(each.name.value)
    return found


def assignment(statement: cst.CSTNode | None) -> cst.Assign | cst.AnnAssign | cst.AugAssign | None:
    """The assignment that a line consists of."""
    if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1:
        only = statement.body[0]
        if isinstance(only, (cst.Assign, cst.AnnAssign, cst.AugAssign)):
            return only
    return None


def fresh(source: Source, wanted: str) -> str:
    """A name that the file does not use yet."""
    words = set(re.findall(r"\w+", source.text))
    name, number = wanted, 2
    while name in words:
        name, number = f"{wanted}_{number}", number + 1
    return name


def wrapped(source: Source, node: cst.BaseExpression) -> str:
    """The text of an expression, in parentheses where an attribute or a sum would tear it apart."""
    text = source.code(node)
    plain = (cst.Name, cst.Attribute, cst.Subscript, cst.Call, cst.List, cst.Dict, cst.ListComp)
    return text if isinstance(node, plain) and not breaks_off(text) else f"({text})"


def in_place_of(source: Source, node: cst.CSTNode, value: cst.BaseExpression) -> str:
    """The text of an expression that is to stand where another one stands: alone it needs no parentheses."""
    alone = (cst.Arg, cst.Element, cst.DictElement, cst.Assign, cst.Return, cst.Expr, cst.Index)
    text = source.code(value)
    return text if isinstance(source.parent(node), alone) and not breaks_off(text) else wrapped(source, value)


def assignable(name: str) -> bool:
    """Can a value be given to this name? Not to the result of a call."""
    return _parses(f"{name} = 0")


def breaks_off(text: str) -> bool:
    """Would this text, without the parentheses that stood around it, end at the end of its first line?"""
    return _parses(f"({text}\n)") and not _parses(text)


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True
