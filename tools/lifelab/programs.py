"""Programs as plain data: a list of statements that can be run on the model, run on torch, or printed.

A statement names tensors; a name may be bound again, which is how a loop carries state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Names = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Leaf:
    """A tensor from outside; its numbers depend on its name and shape alone."""

    name: str
    shape: str
    needs: bool


@dataclass(frozen=True, slots=True)
class Apply:
    """An operation of the table; an in-place one if its name ends in an underscore."""

    outs: Names
    operation: str
    inputs: Names


@dataclass(frozen=True, slots=True)
class Call:
    """A custom function."""

    outs: Names
    function: str
    inputs: Names


@dataclass(frozen=True, slots=True)
class Derive:
    """`detach()`, `.data`, `.grad`, or a plain second name."""

    out: str
    how: str  # "detach", "data", "grad", "alias"
    source: str


@dataclass(frozen=True, slots=True)
class RequiresGrad:
    target: str
    flag: bool


@dataclass(frozen=True, slots=True)
class SetItem:
    """`target[0] = value`."""

    target: str
    value: str


@dataclass(frozen=True, slots=True)
class Under:
    """A block under a grad mode, or under saved-tensor hooks."""

    mode: str  # "no_grad", "enable_grad", "inference_mode", "by_reference", "by_copy"
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A stretch computed again on the pass; `given` is handed to it, `read` it finds around it."""

    out: str
    given: Names
    read: Names
    body: tuple[Statement, ...]
    result: str


@dataclass(frozen=True, slots=True)
class Backward:
    roots: Names
    gradients: tuple[str | None, ...]
    retain: bool = False
    create: bool = False
    inputs: Names | None = None


@dataclass(frozen=True, slots=True)
class Grad:
    outs: Names
    roots: Names
    gradients: tuple[str | None, ...]
    inputs: Names
    retain: bool = False
    create: bool = False
    allow_unused: bool = True


@dataclass(frozen=True, slots=True)
class MakeOptimizer:
    name: str
    rule: str  # "SGD", "Adam"
    leaves: Names


@dataclass(frozen=True, slots=True)
class Step:
    optimizer: str


@dataclass(frozen=True, slots=True)
class ZeroGrad:
    optimizer: str
    set_to_none: bool


@dataclass(frozen=True, slots=True)
class For:
    count: int
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class If:
    """Runs on the iterations of the innermost loop whose number is even, or odd; outside of loops on iteration 0."""

    parity: int
    body: tuple[Statement, ...]


Statement: TypeAlias = (
    Leaf | Apply | Call | Derive | RequiresGrad | SetItem | Under | Checkpoint | Backward | Grad | MakeOptimizer
    | Step | ZeroGrad | For | If
)  # fmt: skip
Program: TypeAlias = tuple[Statement, ...]
