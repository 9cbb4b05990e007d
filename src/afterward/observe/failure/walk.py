"""Walks a graph from its roots, without recursion and without keeping anything of it."""

from __future__ import annotations

from array import array
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from afterward.model.operations import ADDING, BENDING, SCALING, operation
from afterward.observe import compat
from afterward.observe.node_numbers import order_of, orders_of
from afterward.observe.plainly import plainly

if TYPE_CHECKING:
    from afterward.observe.failure.graph import Graph

LOOK_NODES = 5000
SUMMANDS = 64  # of a loss, looked at


@dataclass
class Walk:
    """The nodes met, newest first among neighbours, each with its inputs. Lives as long as one look does."""

    nodes: list[Any] = field(default_factory=list)
    inputs: list[tuple[tuple[int, int], ...]] = field(default_factory=list)  # (position of the node, output)
    position: dict[Any, int] = field(default_factory=dict)

    # As of a `Graph`, which see:

    def __len__(self) -> int:
        return len(self.nodes)

    def links(self, place: int) -> tuple[tuple[int, int], ...]:
        return tuple((self.position.get(node, -1), output) for node, output in self.nodes[place].next_functions)

    def ask(self, place: int) -> Any:
        return self.nodes[place]

    def node(self, place: int) -> Any:
        return self.nodes[place]

    def place_of(self, node: Any) -> int | None:
        return self.position.get(node)

    @cached_property
    def orders(self) -> Sequence[int]:
        return orders_of(self.nodes)


def roots_of(outputs: Iterable[Any]) -> list[tuple[Any, int]]:
    """(node, output number) behind what a pass starts from: tensors or gradient edges."""
    roots = []
    for output in outputs if isinstance(outputs, (tuple, list)) else (outputs,):
        # A tensor of the program's own make may have an attribute of this name, or make one up.
        node = None if compat.is_tensor(output) else getattr(output, "node", None)
        if node is not None:  # a GradientEdge
            roots.append((node, int(output.output_nr)))
            continue
        node, plain = compat.grad_fn_of(output), plainly(output)
        if node is None and plain.requires_grad:
            node = compat.leaf_node_of(output)
        if node is not None:
            roots.append((node, int(plain.output_nr)))
    return roots


def walk(roots: Iterable[Any], limit: int | None = None) -> Walk:
    """Every node reachable from the roots, or the first so many of them."""
    found = Walk()
    position = found.position
    todo = list(roots)
    for root in todo:
        if root not in position:
            position[root] = len(position)
            found.nodes.append(root)
    index = 0
    while index < len(found.nodes) and (limit is None or index < limit):
        edges = []
        for node, output in found.nodes[index].next_functions:
            if node is None:
                continue
            place = position.get(node)
            if place is None:
                place = position[node] = len(position)
                found.nodes.append(node)
            edges.append((place, output))
        found.inputs.append(tuple(edges))
        index += 1
    return found


def leading_to(found: Graph, inputs: Iterable[Any]) -> set[int]:
    """Positions of the nodes that the engine executes when it is asked for the gradients of `inputs` only."""
    captured = {place for node in _nodes_of(inputs) if (place := found.place_of(node)) is not None}
    consumers: dict[int, list[int]] = {}
    for consumer in range(len(found)):
        for producer, _ in found.links(consumer):
            consumers.setdefault(producer, []).append(consumer)
    executed: set[int] = set()
    todo = [consumer for node in captured for consumer in consumers.get(node, ())]
    while todo:
        current = todo.pop()
        if current not in executed:
            executed.add(current)
            todo.extend(consumers.get(current, ()))
    return executed


def _nodes_of(inputs: Iterable[Any]) -> Iterator[Any]:
    for tensor in inputs:
        if compat.is_tensor(tensor):
            node = compat.grad_fn_of(tensor) or compat.leaf_node_of(tensor)
        else:
            node = getattr(tensor, "node", None)
        if node is not None:
            yield node


class Shown(NamedTuple):
    """What a pass is about to execute. Lives as long as one look does: it holds the program's leaves."""

    orders: array[int]  # of the nodes, leaves left out
    storages: list[tuple[int, int]]  # that they have saved, parameters left out: order of the oldest such node, bytes
    leaves: dict[int, Any]
    used_at: dict[int, int]  # leaf -> order of the oldest node that takes it
    saved_at: dict[int, int]  # leaf -> order of the oldest node that has saved it
    bare: dict[int, bool]  # additions in the loss of something without a history: order, is the loss linear in it?
    walk: Walk

    @property
    def bytes(self) -> int:
        """Of all storages, each counted once."""
        return sum(size for _, size in self.storages)

    def applied_to(self, trained: Container[int]) -> set[int]:
        """The leaves, by address, that the graph applies to what depends on a trained one, as a network's weights are
        applied to its input: in a value of their own they depend on nothing else (`weight.t()`)."""
        orders = [order_of(node) for node in self.walk.nodes]
        leaves: dict[int, frozenset[int]] = {}  # by position: the leaf that a value is made of; empty: of several
        depends: set[int] = set()  # positions of what depends on a trained leaf
        found: set[int] = set()
        for place, node in enumerate(self.walk.nodes):
            if orders[place] == compat.LEAF_ORDER:
                address = id(getattr(node, "variable", None))
                leaves[place] = frozenset((address,))
                depends |= {place} if address in trained else set()
        for position in sorted(range(len(orders)), key=orders.__getitem__):  # the inputs of a node are older
            if orders[position] == compat.LEAF_ORDER:
                break
            places = [place for place, _ in self.walk.inputs[position]]
            below = frozenset().union(*(leaves[place] or _SEVERAL for place in places))
            leaves[position] = below if len(below) == 1 else frozenset()
            if any(place in depends for place in places):
                depends.add(position)
                found.update(*(leaves[place] for place in places if place not in depends))
        return found


_SEVERAL = frozenset((0, 1))  # in place of addresses


def look(roots: Iterable[Any], inputs: Iterable[Any]) -> Shown | None:
    """What a pass is about to execute; None where the graph is too large to be looked at."""
    # Python objects for very many nodes of one deep chain can overflow the stack when Python's collector later
    # clears a cycle around them: a larger graph is not looked at.
    found = walk(roots, limit=LOOK_NODES)
    if len(found.inputs) < len(found.nodes):
        return None
    wanted = list(inputs)
    executed = leading_to(found, wanted) if wanted else range(len(found.nodes))
    used, leaves, used_at = array("Q"), dict[int, Any](), dict[int, int]()
    variables = (getattr(node, "variable", None) for node in found.nodes)  # also of those that get no gradient
    own = {storage_key(one)[0]: id(one) for one in variables if one is not None}  # storage -> leaf
    storages: dict[int, int] = {}
    kept_at: dict[int, int] = {}  # storage -> order of the oldest node that has saved it
    orders = [order_of(node) for node in found.nodes]
    for position in executed:
        node, order = found.nodes[position], orders[position]
        if order == compat.LEAF_ORDER:
            variable = getattr(node, "variable", None)
            if variable is not None:
                leaves[id(variable)] = variable
            continue
        used.append(order)
        for place, _ in found.inputs[position]:
            if orders[place] == compat.LEAF_ORDER:
                leaf = id(getattr(found.nodes[place], "variable", None))
                used_at[leaf] = min(order, used_at.get(leaf, order))
        for _, _, tensor in compat.saved_states(node):
            if tensor is not None:
                key, size = storage_key(tensor)
                storages[key] = size
                kept_at[key] = min(order, kept_at.get(key, order))
    saved = [(kept_at[key], size) for key, size in storages.items() if key not in own]
    saved_at = {leaf: kept_at[key] for key, leaf in own.items() if key in kept_at}
    return Shown(used, saved, leaves, used_at, saved_at, _bare_sums(found, orders), found)


def _bare_sums(found: Walk, orders: list[int]) -> dict[int, bool]:
    """Additions with a bare summand, met from the first root by going through sums, factors, squares and sizes alone:
    the order of each, and whether only sums and factors were on the way."""
    bare: dict[int, bool] = {}
    todo, seen = [(0, True)] if found.nodes else [], {0}
    while todo and len(seen) < SUMMANDS:
        position, linear = todo.pop()
        kind = operation(found.nodes[position].name())
        if kind in ("Add", "Sub") and any(node is None for node, _ in found.nodes[position].next_functions):
            bare[orders[position]] = linear
        # Of a product with another value that has a history, a bare summand does matter: to the other's gradient.
        inputs = found.inputs[position]
        scaling = kind in ADDING or kind == "CopySlices" or (kind in SCALING and len(inputs) <= 1)
        for below, _ in inputs if scaling or kind in BENDING else ():
            if below not in seen:
                seen.add(below)
                todo.append((below, linear and scaling))
    return bare


def saved_bytes(nodes: Iterable[Any]) -> int:
    """Bytes that these nodes have saved, each storage counted once; the leaves among them are there anyway."""
    storages: dict[int, int] = {}
    own: set[int] = set()
    for node in nodes:
        variable = getattr(node, "variable", None)
        if variable is not None:
            own.add(storage_key(variable)[0])
        storages.update(storage_key(tensor) for _, _, tensor in compat.saved_states(node) if tensor is not None)
    return sum(size for key, size in storages.items() if key not in own)


def storage_key(tensor: Any) -> tuple[int, int]:
    return compat.memory_of(tensor) or (id(tensor), 0)
