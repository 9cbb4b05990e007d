"""The graph of an interpreted program: what is recorded, what a pass frees, and what the next one would meet.

Like `afterward.model.life`, whose table of saved values it uses, but for tensors of which not everything is
known: an input that may or may not need a gradient adds no edge, so whatever is freed here is freed for certain.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from afterward.model.site import Site, Where


class Version:
    """The counter of in-place writes that aliases of one memory share."""

    __slots__ = ("count", "leaf", "unnoticed", "writes")

    def __init__(self) -> None:
        self.count = 0
        self.unnoticed = 0  # writes of fused optimizers, which do not raise the counter
        self.leaf: Tensor | None = None  # the parameter whose memory this is
        self.writes: list[Writing] = []


@dataclass(frozen=True, slots=True)
class Writing:
    """An in-place write, other than an optimizer's."""

    where: Where
    moment: int
    target: str


@dataclass(frozen=True, slots=True)
class Cutting:
    """A place where a value lost its history."""

    where: Where
    how: str
    name: str
    site: Site
    depth: int = 0  # of a grad mode: how many levels there are up to the call that switched it on


class Kept:
    """A value that a node keeps for its backward: whose memory, and which version of it."""

    __slots__ = ("count", "name", "unnoticed", "version")

    def __init__(self, name: str, version: Version | None = None) -> None:
        self.name = name
        self.version = version
        self.count = version.count if version is not None else 0
        self.unnoticed = version.unnoticed if version is not None else 0

    @property
    def overwritten(self) -> bool:
        return self.version is not None and self.version.count != self.count


@dataclass(slots=True)
class Naming:
    """A name that the program gave to a node's value, in which call and by which statement."""

    name: str
    kind: str
    call: int
    moment: int
    in_module: bool
    file: str = ""
    statement: ast.stmt | None = None


class GraphNode:
    """One recorded operation."""

    __slots__ = (
        "custom", "edges", "freed", "given", "leaf", "moment", "names", "number", "op", "open", "saved", "where",
    )  # fmt: skip

    def __init__(self, number: int, op: str, moment: int, where: Where | None) -> None:
        self.number = number
        self.op = op
        self.moment = moment
        self.where = where
        self.edges: list[tuple[GraphNode, int]] = []
        self.given: list[Cutting] = []  # where inputs that have no history lost it
        self.saved: list[Kept] = []
        self.freed = False
        self.leaf: Tensor | None = None
        self.custom: Any = None  # the context of an autograd.Function
        self.names: dict[int, list[Naming]] = {}
        self.open = False  # an input of it is not known, and may lead further


class Tensor:
    """A tensor: its history, whether it needs a gradient itself, and its memory's write counter."""

    __slots__ = (
        "accumulator", "attributes", "base", "cut", "grad", "hooks", "is_parameter", "label", "needs", "node",
        "seen", "slot", "switched", "version",
    )  # fmt: skip

    def __init__(self, version: Version | None = None) -> None:
        self.node: GraphNode | None = None
        self.slot = 0
        self.needs = False
        self.version = version or Version()
        self.base: Tensor | None = None
        self.seen = self.version.count
        self.cut: Cutting | None = None
        self.grad: Any = None  # a tensor, once a pass has brought one for certain
        self.is_parameter = False
        self.label = ""
        self.accumulator: GraphNode | None = None
        self.switched: Cutting | None = None  # where its requires_grad was switched off
        self.attributes: dict[str, Any] = {}
        self.hooks: list[Any] = []

    @property
    def requires_grad(self) -> bool:
        return self.needs or self.node is not None or (self.base is not None and self.base.node is not None)

    @property
    def is_doubtful(self) -> bool:
        """May it be something else than a tensor with a graph?"""
        return False

    def __repr__(self) -> str:
        return f"<tensor {self.node.op if self.node else 'leaf' if self.needs else 'data'}>"


@dataclass(slots=True)
class BackwardRun:
    """What a pass did: the nodes it walked, and the node and kind of the error, if it met one."""

    walked: list[GraphNode]
    error: str | None = None
    culprit: GraphNode | None = None
    read_in: Where | None = None
    released: set[int] = field(default_factory=set)


class Graph:
    """Records operations and runs passes."""

    def __init__(self, here: Callable[[], Where]) -> None:
        self.here = here
        self.clock = 0
        self.count = 0
        self.records = True
        self.off: Cutting | None = None  # what switched recording off
        self.open_input = False  # has the operation that is recorded next an input that is not known?
        self.elsewhere = False  # are new tensors made on another device than the processor's, if none is named?
        self.leaves: list[Tensor] = []
        self.used: set[int] = set()  # leaves that took part in a recorded operation

    def tick(self) -> int:
        self.clock += 1
        return self.clock

    def new_node(self, op: str) -> GraphNode:
        self.count += 1
        return GraphNode(self.count, op, self.tick(), self.here())

    def accumulator(self, leaf: Tensor) -> GraphNode:
        if leaf.accumulator is None:
            node = GraphNode(-1 - len(self.leaves), "AccumulateGrad", 0, None)
            node.leaf = leaf
            leaf.accumulator = node
            leaf.version.leaf = leaf
            self.leaves.append(leaf)
        return leaf.accumulator

    def edge(self, tensor: Tensor) -> tuple[GraphNode, int] | None:
        """Where a gradient for this tensor goes. A view whose memory was written to since gets a new node."""
        base = tensor.base
        if base is not None and base.node is not None and tensor.seen != tensor.version.count:
            node = self.new_node("AsStridedBackward0")
            node.edges.append((base.node, base.slot))
            tensor.node, tensor.slot, tensor.seen = node, 0, tensor.version.count
        if tensor.node is not None:
            return tensor.node, tensor.slot
        if tensor.needs:
            self.used.add(id(tensor))
            return self.accumulator(tensor), 0
        return None

    def leaf(self, label: str = "", is_parameter: bool = False, version: Version | None = None) -> Tensor:
        made = Tensor(version)
        made.needs = True
        made.label = label
        made.is_parameter = is_parameter
        self.accumulator(made)
        return made

    def record(self, op: str, inputs: Iterable[Tensor], saves: Iterable[Kept]) -> GraphNode:
        node = self.new_node(op)
        for tensor in inputs:
            edge = self.edge(tensor)
            if edge is not None:
                node.edges.append(edge)
            elif tensor.cut is not None:
                node.given.append(tensor.cut)
        node.saved.extend(saves)
        node.open, self.open_input = self.open_input, False
        return node

    def written(self, tensor: Tensor, target: str) -> None:
        """Count an in-place write."""
        tensor.version.count += 1
        tensor.version.writes.append(Writing(self.here(), self.tick(), target))

    def reach(self, roots: Iterable[GraphNode]) -> list[GraphNode]:
        """Every node under the roots, newest first: the order in which the engine comes to them."""
        seen: set[int] = set()
        found: list[GraphNode] = []
        todo = list(roots)
        while todo:
            node = todo.pop()
            if node.number in seen:
                continue
            seen.add(node.number)
            found.append(node)
            todo.extend(below for below, _ in node.edges)
        found.sort(key=lambda node: node.number, reverse=True)
        return found

    def leading_to(self, nodes: list[GraphNode], inputs: Iterable[Tensor]) -> list[GraphNode]:
        """Of these nodes (newest first), those on a way to one of the inputs."""
        goals: set[tuple[int, int]] = set()
        for tensor in inputs:
            edge = self.edge(tensor)
            if edge is not None:
                goals.add((edge[0].number, edge[1]))
        good: set[int] = set()
        for node in sorted(nodes, key=lambda n: n.number):
            if any(below.number in good or (below.number, slot) in goals for below, slot in node.edges):
                good.add(node.number)
        return [node for node in nodes if node.number in good]

    def run_backward(
        self, walked: list[GraphNode], *, retain: bool, accumulate: bool, custom: Callable[[GraphNode], Where | None]
    ) -> BackwardRun:
        """Run a pass over these nodes. `custom` runs the backward of a custom function; where that reads what was
        freed, it returns the place."""
        done = BackwardRun(walked)
        for node in walked:
            if node.leaf is not None:
                if accumulate and node.leaf.needs and node.leaf.grad is None:
                    node.leaf.grad = Tensor()
                continue
            if node.custom is not None:
                place = custom(node)
                if place is not None:
                    done.error, done.culprit, done.read_in = "second_backward", node, place
                    return done
            elif node.freed and node.saved:
                done.error, done.culprit = "second_backward", node
                return done
            if any(kept.overwritten for kept in node.saved):
                done.error, done.culprit = "inplace", node
                return done
            if not retain and not node.freed:
                node.freed = True
                done.released.add(node.number)
        return done
