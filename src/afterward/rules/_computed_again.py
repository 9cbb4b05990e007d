"""Asks of a used-up value whether the pass computes the same again: the old one is then data, such as a rollout's
log-probabilities, and what it was computed from is trained without it."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

from afterward.model.history import History, Node
from afterward.model.operations import AFFINE, MEETING, PICKING, is_view, operation
from afterward.rules._cause import Case, adds_up


def is_computed_again(case: Case) -> bool:
    """Does this pass run everything under the old value again, and does the loss that it enters train something more?

    A penalty over the same parameters is no second run: it uses them in another way. Neither is a value that all of the
    new ones are compared with, such as class prototypes: data goes with its own sample, one to one.
    """
    history, reuse = case.history, case.reuse
    old = _uses(history, reuse.stale)
    new = _uses(history, reuse.fresh)
    if len(old) < 2 or not all(new.get(leaf, set()) & ways for leaf, ways in old.items()):
        return False
    term = _term_with(history, case)
    return term is not None and bool(_uses(history, term)) and _goes_one_to_one(case)


def _goes_one_to_one(case: Case) -> bool:
    """Does some operation of this pass take the old value, or a part of it, sample by sample? Where each of it meets
    each of the other, the result is larger than either."""
    history = case.history
    size = {entry.node.id: entry.node.bytes for entry in case.reuse.entries}  # of what is the old value alone
    fresh = sorted(map(history.node, case.reuse.fresh), key=attrgetter("order"))
    for node in fresh:  # inputs are made before what they enter
        inputs = [edge.node for edge in node.inputs]
        own = [size[one] for one in inputs if one in size]
        if not own:
            continue
        if is_view(node.op) or operation(node.op) in PICKING or len(own) == len(inputs):
            size[node.id] = node.bytes or max(own)
        elif operation(node.op) not in MEETING:
            operands = [*own, *(_size(history, one) for one in inputs if one not in size)]
            if not all(operands) or node.bytes in operands:
                return True
    return False


def _size(history: History, number: int) -> int:
    """Of a value, looking through views of it; 0 where it is not known."""
    for _ in range(4):
        node = history.node(number) if history.knows(number) else None
        if node is None or node.bytes or not is_view(node.op) or not node.inputs:
            return node.bytes if node is not None else 0
        number = node.inputs[0].node
    return 0


def _term_with(history: History, case: Case) -> frozenset[int] | None:
    """The new nodes of that summand of the loss which the old value enters; None where it is a summand itself."""
    fresh, entries = frozenset(case.reuse.fresh), {entry.node.id for entry in case.reuse.entries}
    current, seen = [edge.node for edge in case.reuse.late.roots], set[int]()
    while current:
        number = current.pop()
        if number in seen or not history.knows(number) or number in entries:
            continue
        seen.add(number)
        node = history.node(number)
        if adds_up(node):
            current.extend(edge.node for edge in node.inputs)
            continue
        term = history.reached([number], within=fresh)
        if any(edge.node in entries for one in term if one in fresh for edge in history.node(one).inputs):
            return term & fresh
    return None


def _uses(history: History, nodes: Iterable[int]) -> dict[int, set[str]]:
    """How these nodes use each leaf that they read themselves, through views of it."""
    found: dict[int, set[str]] = {}
    for number in nodes:
        node = history.node(number)
        if is_view(node.op):
            continue
        for edge in node.inputs:
            leaf = _leaf_behind(history, edge.node)
            if leaf is not None:
                found.setdefault(leaf, set()).add("affine" if operation(node.op) in AFFINE else node.op)
    return found


def _leaf_behind(history: History, number: int) -> int | None:
    for _ in range(4):
        if not history.knows(number):
            return None
        node: Node = history.node(number)
        if node.leaf is not None:
            return node.leaf
        if not is_view(node.op) or not node.inputs:
            return None
        number = node.inputs[0].node
    return None
