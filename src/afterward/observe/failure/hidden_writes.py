"""Finds the in-place write that no statement of the program spells out: a module made it, on being called.

A module with `inplace=True` writes into its input, an embedding with `max_norm` into its own weight.
"""

from __future__ import annotations

import ast
import gc
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from afterward.follow.path import Place, Program
from afterward.follow.reading import parts_run
from afterward.model.clock import write_moment
from afterward.model.history import Edge, Node, Write
from afterward.model.operations import ACTIVATIONS, operation
from afterward.model.site import Where
from afterward.observe import compat
from afterward.observe.provenance.naming import Names, storage_pointer


def written_by_activation(sources: Program, nodes: Sequence[Node], culprit: Node) -> Write | None:
    """The write of an activation over its input, seen in the graph: it took the very value that the culprit saved."""
    if not any(getattr(module, "inplace", False) is True for module in _modules()):
        return None
    values = set(_values_saved(culprit))
    for node in sorted(nodes, key=lambda one: one.order):
        takes = any((edge.node, edge.output) in values for edge in node.inputs)
        if takes and node.order > culprit.order and operation(node.op) in ACTIVATIONS and node.where is not None:
            level = node.where.levels[-1]
            statement = sources.statement_at(level.site.file, level.site.line, level.site.column)
            return Write(node.where, node.moment, _argument(statement), how="inplace=True")
    return None


def _values_saved(culprit: Node) -> Iterator[tuple[int, int]]:
    """Which values the node's overwritten tensors may be: its own result, or what it was given."""
    for saved in culprit.saved:
        if saved.state == "overwritten" and saved.name.partition("[")[0] in ("result", "output"):
            yield culprit.id, 0
        elif saved.state == "overwritten":
            yield from ((edge.node, edge.output) for edge in culprit.inputs if isinstance(edge, Edge))


def written_by_owner(
    sources: Program,
    trail: Sequence[Place],
    where: Callable[[Place], Where | None],
    culprit: Node,
    storages: set[int],
    names: Names,
) -> Write | None:
    """The write of a module to its own parameter or buffer: in the first statement since that calls the module."""
    owner = next((module for module in _modules() if storages & set(_written_when_called(module))), None)
    if owner is None:
        return None
    path = names.modules.get(id(owner), "")
    parts = [part for part in path.replace("]", "").replace("[", ".").split(".") if part.isidentifier()]
    for part in reversed(parts):
        for place in trail:
            statement = sources.statement(place.number)
            if place.order_at <= culprit.order or statement is None or not _calls(statement, part):
                continue
            spot = where(place)
            if spot is not None:
                moment = write_moment(max(place.order_at, culprit.order + 1), place.moment)
                return Write(spot, moment, path, how="max_norm")
    return None


def _modules() -> Iterator[Any]:
    kind = compat.torch_module().nn.Module
    return (thing for thing in gc.get_objects() if issubclass(type(thing), kind))


def _written_when_called(module: Any) -> Iterator[int | None]:
    """Where the tensors lie that a module changes whenever it is called."""
    nn = compat.torch_module().nn
    if isinstance(module, (nn.Embedding, nn.EmbeddingBag)) and module.max_norm is not None:
        yield storage_pointer(module.weight)


def _calls(statement: ast.stmt, name: str) -> bool:
    """Does the statement call something of this name: `emb(x)`, `self.emb(x)`, `self.layers["emb"](x)`?"""
    return any(isinstance(node, ast.Call) and name in _last_names(node.func) for node in parts_run(statement))


def _last_names(called: ast.expr) -> set[str]:
    while isinstance(called, ast.Subscript):
        if isinstance(called.slice, ast.Constant) and isinstance(called.slice.value, str):
            return {called.slice.value}
        called = called.value
    if isinstance(called, ast.Attribute):
        return {called.attr}
    return {called.id} if isinstance(called, ast.Name) else set()


def _argument(statement: ast.stmt | None) -> str:
    """What a statement hands to the call that it makes: `g` in `h = self.post(g)`."""
    for node in parts_run(statement):
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], (ast.Name, ast.Attribute)):
            return ast.unparse(node.args[0])
    return ""
