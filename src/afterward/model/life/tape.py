"""The state of the thread that records: the clock that numbers nodes, and the modes that are on."""

from __future__ import annotations

from enum import Enum

from afterward.model.life.parts import FIRST, Kind, Node, Region, Saved, Storage, Tensor, Version


class Packing(Enum):
    """Where saved values go: PyTorch's own keeping, or that of `saved_tensors_hooks`."""

    IN_THE_NODE = 1  # the engine compares versions when it takes the value out
    BY_REFERENCE = 2  # a hook keeps the tensor itself: no comparison, so a write goes unnoticed
    BY_COPY = 3  # a hook keeps a copy, on the disk or another device: a write does not matter


class Tape:
    exact = True  # what this model does not know stops it; else it goes on with what is certain
    answers = True  # can it be asked which gradients are the same, and where histories were cut?

    __slots__ = ("clock", "draws", "packing", "passes", "records", "region", "watches")

    def __init__(self) -> None:
        self.clock = 0
        self.passes = 0
        self.records = True  # is_grad_enabled()
        self.watches = True  # False in inference mode: new tensors have no version
        self.packing = Packing.IN_THE_NODE
        self.region: Region | None = None  # the checkpointed stretch being run, if any
        self.draws = 0  # stands for the state of the random generator

    def tick(self) -> int:
        self.clock += 1
        return self.clock

    def fresh(self, symbol: int, name: str = "") -> Tensor:
        """A new tensor in memory of its own."""
        return Tensor(Storage(symbol), Version() if self.watches else None, name)

    def handle(self, storage: Storage, version: Version | None) -> Tensor:
        """Another tensor on memory that is there."""
        return Tensor(storage, version)

    def node(self, name: str, kind: Kind = Kind.OPERATION) -> Node:
        return Node(name, self.tick(), kind)

    def accumulator(self, leaf: Tensor) -> Node:
        node = leaf.accumulator
        if node is None:
            node = leaf.accumulator = Node("AccumulateGrad", -FIRST, Kind.ACCUMULATE)
            node.leaf = leaf
            node.order = FIRST
        return node

    def run_custom(self, node: Node) -> None:
        """A pass comes to a custom function: here its own backward would run, and show whether it `reads`."""

    def save(self, tensor: Tensor | None, is_result: bool = False) -> Saved:
        """Keep a value for the backward, where the mode says; None stands for one no one else can reach."""
        if self.region is not None:
            saved = Saved(None, is_result)
            saved.region = self.region
            return saved
        saved = Saved(tensor, is_result)
        if self.packing is not Packing.IN_THE_NODE:
            saved.version = None
            if self.packing is Packing.BY_COPY:
                saved.storage = None
        return saved
