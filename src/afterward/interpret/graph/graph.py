"""The graph of an interpreted program: that of `afterward.model.life`, with what a report needs to say of it.

What is recorded, saved, freed and refused is decided there. Here not everything is known of the tensors: an input
that may or may not need a gradient adds no edge, so whatever is freed here is freed for certain.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from afterward.model.life import parts
from afterward.model.life.histories import count_write, gradient_edge, needs_grad
from afterward.model.life.parts import FIRST, Kind, Node, Saved, Storage
from afterward.model.life.tape import Tape
from afterward.model.site import Site, Where

_NUMBERS = count(1)  # stand for numbers that are not known: each its own


class Version(parts.Version):
    """The counter of in-place writes that aliases of one memory share."""

    __slots__ = ("leaf", "writes")

    def __init__(self) -> None:
        super().__init__()
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


@dataclass(slots=True)
class Naming:
    """A name that the program gave to a node's value, in which call and by which statement."""

    name: str
    kind: str
    call: int
    moment: int
    file: str = ""
    statement: ast.stmt | None = None


class GraphNode(Node):
    """One recorded operation, with the place that recorded it."""

    __slots__ = ("custom", "given", "moment", "names", "open", "outputs", "parts", "read_in", "where")
    leaf: Tensor | None

    def __init__(self, name: str, number: int, kind: Kind, moment: int, where: Where | None) -> None:
        super().__init__(name, number, kind)
        self.moment = moment
        self.where = where
        self.given: list[Cutting] = []  # where inputs that have no history lost it
        self.custom: Any = None  # the context of an autograd.Function
        self.read_in: Where | None = None  # where its backward reads what was freed
        self.names: dict[int, list[Naming]] = {}
        self.open = False  # an input of it is not known, and may lead further
        self.outputs = 1  # of a compiled region
        self.parts = 0  # into so many its result was taken apart, which nothing shows to have a graph each

    @property
    def next_functions(self) -> Sequence[tuple[GraphNode, int]]:
        return [edge for edge in self.edges if edge is not None]  # type: ignore[misc]


class Tensor(parts.Tensor):
    """A tensor, and what the program has done with it."""

    __slots__ = ("attributes", "cut", "hooks", "is_parameter", "label", "switched")
    node: GraphNode | None
    accumulator: GraphNode | None
    version: Version
    grad: Any  # a tensor, once a pass has brought one for certain

    def __init__(self, storage: Storage | None = None, version: parts.Version | None = None) -> None:
        super().__init__(storage or Storage(next(_NUMBERS)), version or Version())
        self.cut: Cutting | None = None
        self.is_parameter = False
        self.label = ""
        self.switched: Cutting | None = None  # where its requires_grad was switched off
        self.attributes: dict[str, Any] = {}
        self.hooks: list[Any] = []

    @property
    def requires_grad(self) -> bool:
        return needs_grad(self)

    @property
    def is_doubtful(self) -> bool:
        """May it be something else than a tensor with a graph?"""
        return False

    def alias(self) -> Tensor:
        """Another tensor on the same memory, without a history."""
        return Tensor(self.storage, self.version)


@dataclass(slots=True)
class BackwardRun:
    """What a pass did: the nodes it walked, and the node and kind of the error, if it met one."""

    walked: list[GraphNode]
    error: str | None = None
    culprit: GraphNode | None = None
    read_in: Where | None = None
    released: set[int] = field(default_factory=set)


class Graph(Tape):
    """Records operations, with the place where each is."""

    exact = False
    answers = False  # no rule asks: half of the time would go into it

    def __init__(self, here: Callable[[], Where]) -> None:
        super().__init__()
        self.here = here
        self.custom: Callable[[GraphNode], None] | None = None  # runs the backward of a custom function
        self.count = 0
        self.off: Cutting | None = None  # what switched recording off
        self.open_input = False  # has the operation that is recorded next an input that is not known?
        self.elsewhere = False  # are new tensors made on another device than the processor's, if none is named?
        self.leaves: list[Tensor] = []
        self.used: set[int] = set()  # leaves that took part in a recorded operation

    @contextmanager
    def own_mode(self) -> Iterator[None]:
        """Within this block gradients may be switched off and on: after it they are as they were."""
        before = self.records, self.off
        try:
            yield
        finally:
            self.records, self.off = before

    # What the model makes

    def fresh(self, symbol: int, name: str = "") -> Tensor:
        return Tensor(Storage(symbol))

    def handle(self, storage: Storage, version: parts.Version | None) -> Tensor:
        return Tensor(storage, version)

    def node(self, name: str, kind: Kind = Kind.OPERATION) -> GraphNode:
        self.count += 1
        made = GraphNode(name, self.count, kind, self.tick(), self.here())
        made.open, self.open_input = self.open_input, False
        return made

    def accumulator(self, leaf: parts.Tensor) -> GraphNode:
        self.used.add(id(leaf))
        return self.register(leaf)  # type: ignore[arg-type]

    def run_custom(self, node: Node) -> None:
        if self.custom is not None:
            self.custom(node)  # type: ignore[arg-type]

    # What the interpreter asks

    def register(self, leaf: Tensor) -> GraphNode:
        """A leaf that wants gradients: its node, the last stop of a pass."""
        node = leaf.accumulator
        if node is None:
            node = leaf.accumulator = GraphNode("AccumulateGrad", -1 - len(self.leaves), Kind.ACCUMULATE, 0, None)
            node.leaf, node.order = leaf, FIRST
            leaf.version.leaf = leaf
            self.leaves.append(leaf)
        return node

    def edge(self, tensor: Tensor) -> tuple[GraphNode, int] | None:
        """Where a gradient for this tensor goes."""
        return gradient_edge(self, tensor)  # type: ignore[return-value]

    def leaf(self, label: str = "", is_parameter: bool = False, memory: Tensor | None = None) -> Tensor:
        made = memory.alias() if memory is not None else Tensor()
        made.needs = True
        made.label = label
        made.is_parameter = is_parameter
        self.register(made)
        return made

    def derivative(self, edges: Iterable[tuple[GraphNode, int]]) -> GraphNode:
        """What is recorded of a gradient that can itself be differentiated: one node, connected to what is certain."""
        node = self.node("GradBackward")
        node.edges, node.saved = list(edges), (Saved(None),)
        return node

    def overwrite(self, tensor: Tensor, target: str) -> None:
        """The program copies other numbers into the memory of a tensor."""
        count_write(self, tensor, next(_NUMBERS))
        self.written(tensor, target)

    def written(self, tensor: Tensor, target: str) -> None:
        """Note an in-place write; the model has counted it."""
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
            todo += [edge[0] for edge in node.edges if edge is not None]  # type: ignore[misc]
        found.sort(key=lambda node: node.number, reverse=True)
        return found
