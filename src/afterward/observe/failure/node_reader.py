"""Reads the nodes of a graph, one by one, into the model's words: there may be a hundred thousand of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from afterward.follow.path import Place
from afterward.model.clock import node_moment
from afterward.model.history import Edge, Node, Saved
from afterward.model.operations import COMPILED, is_view
from afterward.model.quick import quickly
from afterward.observe import compat
from afterward.observe.failure.graph import Graph, each
from afterward.observe.failure.writes import Spoilt
from afterward.observe.provenance.leaves import leaf_saved, passes_on
from afterward.observe.replay.places import Wording

node_of, edge_of = quickly(Node), quickly(Edge)
VIEWS = 8  # of a leaf, one of the other, that are looked through


class FailedGraph:
    """The nodes of one graph, and the leaves that they feed or have saved, each with a number."""

    def __init__(self, found: Graph) -> None:
        self.found = found
        self.leaf_ids: dict[int, int] = {}
        self.variables: list[Any] = []
        self._reader = compat.SavedReader()
        self._operations: dict[str, tuple[str, bool]] = {}
        self._kinds: dict[tuple[Any, ...], Saved] = {}
        self._alike: dict[tuple[Saved, ...], tuple[Saved, ...]] = {}

    def nodes(self, places: Mapping[int, Place], wording: Wording) -> tuple[Node, ...]:
        nodes = []
        name_of = compat.operation_name
        found, reader, where_of = self.found, self._reader, wording.where
        for position, (order, raw) in enumerate(zip(found.orders, each(found), strict=True)):
            name = name_of(raw)
            short, has_memory = self._operations.get(name) or self._operation(name)
            place, links = places.get(order), found.links(position)
            is_leaf = order == compat.LEAF_ORDER
            size = compat.value_bytes(raw) if has_memory and not is_leaf else 0
            fed = self._leaf_fed(raw) if is_leaf else None
            outputs = compat.outputs_of(raw) if short.startswith(COMPILED) else 1
            saved: tuple[Saved, ...] = ()
            if reader.attributes(raw):
                states = reader.states(raw, tuple([one >= 0 for one, _ in links]))
                saved = self._saved(name, links, states, place, wording) if states else ()
            nodes.append(
                node_of(
                    position,
                    short,
                    order,
                    0 if is_leaf else node_moment(order),
                    where_of(place),
                    tuple([edge_of(node, output) for node, output in links if node >= 0]),
                    saved,
                    fed,
                    size,
                    outputs,
                )
            )
        return tuple(nodes)

    def spoilt(self, nodes: tuple[Node, ...]) -> list[Spoilt]:
        """The saved tensors that were written over, with the node that had saved each; None for what is not shown."""
        spoilt = []
        for node in nodes:
            if node.overwritten:
                states = compat.saved_states(self.found.ask(node.id))
                shown = [tensor for _, state, tensor in states if state == "overwritten"]
                spoilt += [Spoilt(node, tensor) for tensor in shown or (None,)]
        return spoilt

    def _operation(self, name: str) -> tuple[str, bool]:
        """(an operation's name, does its value take memory of its own?)"""
        known = self._operations[name] = (name.removeprefix("torch::autograd::"), not is_view(name))
        return known

    def _saved(self, op: str, links: Any, states: Any, place: Place | None, wording: Wording) -> tuple[Saved, ...]:
        # Once freed, a node no longer tells that a hook kept its values, to be made again when they are needed.
        elsewhere = wording.mentions(place, "checkpoint")
        saved, behind = [], [self._leaf_behind(one) for one, _ in links]
        for name, state, tensor in states:
            variable = leaf_saved(op, behind, name, tensor)
            leaf = self._leaf_id(variable) if variable is not None else None
            kind = (name, state, leaf, 0, elsewhere)
            known = self._kinds.get(kind)
            if known is None:  # one object for all that are equal: there are few kinds, and many of each
                known = self._kinds[kind] = Saved(*kind)
            saved.append(known)
        all_saved = tuple(saved)
        return self._alike.setdefault(all_saved, all_saved)

    def _leaf_behind(self, place: int) -> Any:
        """The leaf that a node passes on unchanged, looking through views of it."""
        for _ in range(VIEWS):
            if place < 0:
                return None
            if self.found.orders[place] == compat.LEAF_ORDER:
                return getattr(self.found.ask(place), "variable", None)
            links = self.found.links(place) if passes_on(compat.operation_name(self.found.ask(place))) else ()
            place = links[0][0] if links else -1
        return None

    def _leaf_fed(self, raw: Any) -> int | None:
        variable = getattr(raw, "variable", None)
        return self._leaf_id(variable) if variable is not None else None

    def _leaf_id(self, variable: Any) -> int:
        known = self.leaf_ids.get(id(variable))
        if known is None:
            known = self.leaf_ids[id(variable)] = len(self.variables)
            self.variables.append(variable)
        return known
