"""The things a graph is made of: tensors, the memory behind them, nodes, and what nodes save.

A *tensor* is a handle. Its numbers live in a *storage*, which views share; its *version* counts the
in-place writes, and tensors that alias share that too, except through `.data`. Its history is a *node*
and the slot of that node's result it came from.

Numbers are never computed. In their place each storage carries a *symbol*: a hash of how its numbers came
about. Equal symbols mean equal numbers, which is how the model can say that two gradients are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from afterward.model.life.faults import Fault

Edge: TypeAlias = "tuple[Node, int] | None"  # the node a gradient goes to, and the slot it arrives in

FIRST = -(1 << 64)  # the order of a leaf's node: ahead of every operation


class Storage:
    """The memory behind a tensor and all its aliases; `symbol` changes with every write."""

    __slots__ = ("symbol",)

    def __init__(self, symbol: int) -> None:
        self.symbol = symbol


class Version:
    """The counter that in-place writes move on. A saved value remembers the count it was saved at."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


class MadeAs(Enum):
    """How a view was made: only a plain view may be written to, or look on while its base is."""

    PLAIN = None
    ONE_OF_MANY = Fault.MANY_VIEWS  # by unbind, split, chunk
    UNDER_NO_GRAD = Fault.NO_GRAD_VIEW
    IN_INFERENCE = Fault.INFERENCE_VIEW


class Tensor:
    """A handle on numbers, with the history it will send a gradient into."""

    __slots__ = (
        "accumulator", "arrivals", "base", "cut_from", "elements", "grad", "hidden", "made", "name", "needs",
        "node", "path", "seen", "slot", "storage", "version",
    )  # fmt: skip

    def __init__(self, storage: Storage, version: Version | None, name: str = "") -> None:
        self.name = name
        self.storage = storage
        self.version = version  # an inference tensor has none
        self.node: Node | None = None
        self.slot = 0
        self.needs = False  # the flag `requires_grad_` sets
        self.base: Tensor | None = None  # whose view this is
        self.path = 0  # which part of the base, as a symbol
        self.made = MadeAs.PLAIN
        self.seen = 0  # the version at which `node` was last right, for a view
        self.hidden = False  # a view of an intermediate result that no one can name
        self.elements: int | None = None  # how many numbers, where that is known
        self.grad: Tensor | None = None
        self.arrivals: list[Arrival] = []  # the gradients summed in `grad`
        self.accumulator: Node | None = None
        self.cut_from: tuple[Tensor, ...] = ()  # the histories that were not carried on to here

    def __repr__(self) -> str:
        history = self.node or ("leaf" if self.needs else "constant")
        return f"<tensor {self.name or '?'}: {history}>"

    @property
    def is_leaf(self) -> bool:
        return self.node is None

    @property
    def is_inference(self) -> bool:
        return self.version is None

    @property
    def symbol(self) -> int:
        """Stands for the numbers in this tensor now."""
        return hash((self.storage.symbol, self.path)) if self.path else self.storage.symbol


@dataclass(frozen=True, slots=True)
class Arrival:
    """One gradient that a pass added to a leaf: its fingerprint, and where the pass had started."""

    passage: int
    gradient: int
    roots: tuple[Node, ...]


class Kind(Enum):
    OPERATION = 1
    ACCUMULATE = 2  # the last stop: adds to a leaf's `.grad`
    COPY_SLICES = 3  # stands in the base's history for a write through a view
    CUSTOM = 4  # a Python autograd.Function


class Node:
    """One recorded operation. The edges lead to where its results' gradients go next."""

    __slots__ = (
        "cut_from", "edges", "inner", "kind", "leaf", "name", "number", "order", "reads", "released", "returns",
        "saved", "scales", "symbol",
    )  # fmt: skip

    def __init__(self, name: str, number: int, kind: Kind = Kind.OPERATION) -> None:
        self.name = name
        self.number = number  # the sequence number: of the nodes that are ready, the newest runs first
        self.order = -number  # what the engine sorts by
        self.kind = kind
        self.edges: list[Edge] = []
        self.saved: tuple[Saved, ...] = ()
        self.released = False
        self.symbol = 0  # stands for the local derivative
        self.scales: tuple[int, ...] | None = None  # the derivative itself, where it is 1 or -1
        self.leaf: Tensor | None = None
        self.inner: Node | None = None  # the operation a CopySlices wraps
        self.reads = True  # a custom function's backward may never look at its saved values
        self.returns: tuple[bool, ...] = ()  # and may return None instead of a gradient
        self.cut_from: tuple[Tensor, ...] = ()

    def __repr__(self) -> str:
        return f"{self.name}#{self.number}"

    @property
    def next_functions(self) -> Sequence[tuple[Node, int]]:
        """The edges that lead somewhere."""
        return [edge for edge in self.edges if edge is not None]

    @property
    def takes_out(self) -> tuple[Saved, ...]:
        """What its backward takes out of saving: for a write through a view, what the operation has saved."""
        return self.saved if self.inner is None else self.inner.saved

    @property
    def can_be_freed(self) -> bool:
        """Whether a pass leaves it different: a node that saves nothing can be used again and again."""
        if self.kind is Kind.CUSTOM:
            return self.reads
        return bool(self.saved) or self.kind is Kind.COPY_SLICES

    @property
    def is_freed(self) -> bool:
        return self.released and self.can_be_freed


class Saved:
    """One value a node keeps for its backward: not the numbers, but whose they are and of which version."""

    __slots__ = ("count", "is_result", "region", "storage", "symbol", "tensor", "version")

    def __init__(self, tensor: Tensor | None, is_result: bool = False) -> None:
        self.tensor = tensor
        if is_result and tensor is not None:  # not the result itself: it holds the node that keeps this
            self.tensor = Tensor(tensor.storage, tensor.version)
        self.is_result = is_result
        self.region: Region | None = None
        self.version: Version | None = None
        self.storage: Storage | None = None
        self.count = 0
        self.symbol = 0
        if tensor is not None and tensor.version is not None:
            self.version = tensor.version
            self.count = tensor.version.count
            self.storage = tensor.storage
            self.symbol = tensor.storage.symbol

    @property
    def is_overwritten(self) -> bool:
        return self.version is not None and self.version.count != self.count


class Region:
    """A checkpointed stretch: it keeps its arguments only, and is computed again when a pass needs it."""

    __slots__ = ("arguments", "computed_for", "outside")

    def __init__(self, arguments: tuple[Saved, ...]) -> None:
        self.arguments = arguments
        self.outside: list[Saved] = []  # what the body reads without being given it: never checked
        self.computed_for = -1

    def drift(self) -> int:
        """Not zero when computing again would start from other numbers than the first time."""
        now = [
            saved.storage.symbol
            for saved in (*self.arguments, *self.outside)
            if saved.storage is not None and saved.storage.symbol != saved.symbol
        ]
        return hash(tuple(now)) if now else 0
