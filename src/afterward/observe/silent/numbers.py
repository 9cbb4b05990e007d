"""Numbers with a graph that a pass does not use, as they lie beside one that it does use."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator

from afterward.model.history import Number
from afterward.model.operations import ARITHMETIC, operation
from afterward.observe import compat
from afterward.observe.failure.walk import LOOK_NODES, saved_bytes, walk
from afterward.observe.identities import Identities
from afterward.observe.node_numbers import order_of
from afterward.observe.provenance.naming import Held, Names
from afterward.observe.recording.events import PassSeen
from afterward.observe.silent.used_nodes import contains


def numbers_beside(names: Names, seen: PassSeen, since: int, identities: Identities) -> Iterator[Number]:
    """Numbers with a graph that this pass does not use, next to one, in the same container or call, that it does use.

    `since` is the node counter at the pass before: what is older belongs to an earlier step.
    """
    groups: dict[str, list[Held]] = {}
    for held in names.held:
        if order_of(held.node) >= since and _is_number(held) and ("[" in held.name or held.depth == 0):
            groups.setdefault(re.sub(r"\[[^\]]*\]$", "", held.name) if held.depth else "", []).append(held)
    used = seen.used or array("Q")
    for name, members in groups.items():
        known = [held for held in members if contains(used, order_of(held.node))]
        others = [held for held in members if held not in known]
        for held in others if known else ():
            yield from _number(held, known[0].name, bool(name), used, identities)


def _is_number(held: Held) -> bool:
    return compat.output_shape(held.node, held.output) in ((), (1,))


def _number(held: Held, beside: str, together: bool, used: array[int], identities: Identities) -> Iterator[Number]:
    found = walk([held.node], limit=LOOK_NODES)
    if len(found.inputs) < len(found.nodes):
        return
    leaves = {at: node for at, node in enumerate(found.nodes) if order_of(node) == compat.LEAF_ORDER}
    inner = {order_of(node): at for at, node in enumerate(found.nodes) if at not in leaves}
    own = {order: at for order, at in inner.items() if not contains(used, order)}
    if any(state == "freed" for at in own.values() for _, state, _ in compat.saved_states(found.nodes[at])):
        return  # used already
    taken = {order: [place for place, _ in found.inputs[at] if place in leaves] for order, at in own.items()}
    applied = {id(getattr(leaves[place], "variable", None)) for places in taken.values() for place in places}
    every = {id(getattr(leaf, "variable", None)) for leaf in leaves.values()}
    known = {address: number for address in every if (number := identities.at(address)) is not None}
    yield Number(
        held.name,
        order_of(held.node),
        -1,
        len(own) < len(inner),
        beside,
        together,
        frozenset(own),
        frozenset(order for order, at in own.items() if operation(found.nodes[at].name()) in ARITHMETIC),
        frozenset(order for order, places in taken.items() if places),
        frozenset(known[address] for address in applied & known.keys()),
        frozenset(known.values()),
        len(applied),
        saved_bytes([*(found.nodes[at] for at in own.values()), *leaves.values()]),
    )
