"""Finds the operation whose saved value was overwritten where torch does not show it: a write into a part of a tensor.

Such an operation is wrapped, and what the inner one has saved cannot be read. But the error tells which version of
which value it met: where no value that can be read has that text, one that cannot be read was met before them.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from operator import attrgetter

from afterward.follow.path import Program
from afterward.model.history import Node, Saved
from afterward.model.reuse import hides_what_it_saved
from afterward.observe import compat
from afterward.observe.failure.graph import Graph


def with_hidden(nodes: tuple[Node, ...], found: Graph, error: str, sources: Program) -> tuple[Node, ...]:
    """The nodes of a pass that failed with this text, with the overwritten value of the one at which it stopped."""
    spoilt = [node for node in nodes if node.overwritten]
    if any(error.startswith(text) for node in spoilt for text in compat.overwritten_texts(found.ask(node.id))):
        return nodes
    if any(saved.name.startswith("tensors[") for one in nodes for saved in one.saved):
        return nodes  # of an `autograd.Function`: these are not shown as overwritten either
    newest = max((node.order for node in spoilt), default=-1)
    hidden = (one for one in nodes if one.order > newest and hides_what_it_saved(one) and not _copies(one, sources))
    culprit = max(hidden, key=attrgetter("order"), default=None)
    return tuple(replace(one, saved=(Saved("", "overwritten"),)) if one is culprit else one for one in nodes)


def _copies(node: Node, sources: Program) -> bool:
    """Is it `x[i] = y`, which saves nothing?"""
    site = node.where.levels[-1].site if node.where is not None else None
    statement = sources.statement_at(site.file, site.line, site.column) if site is not None else None
    return isinstance(statement, ast.Assign) and any(isinstance(one, ast.Subscript) for one in statement.targets)
