"""An error of autograd that no backward pass over a used-up graph raised: what took part in it, as facts."""

from __future__ import annotations

from dataclasses import dataclass

from afterward.model.site import Site, Where


@dataclass(frozen=True, slots=True)
class Extent:
    """The values of a tensor: the least and the greatest finite one, how many are zero, how many not finite."""

    name: str
    least: float
    greatest: float
    zeros: int
    not_finite: int
    of: int


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor that an error is about, as it was when it was raised."""

    name: str  # as the program writes it, or a name that the program has for it; "" where it has none
    is_leaf: bool
    requires_grad: bool
    op: str = ""  # the operation that made it
    made: Where | None = None  # the statement that ran that operation
    stored: Site | None = None  # the statement that put it where the program holds it
    shape: tuple[int, ...] = ()
    dtype: str = ""
    is_view: bool = False
    is_inference: bool = False
    base: str = ""  # the tensor that it is a view of
    extents: tuple[Extent, ...] = ()  # of what the operation that made it has saved
    shared: tuple[str, ...] = ()  # leaves that both it and the differentiated output depend on


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception that left the program. `page` names the message among those that PyTorch has about graphs."""

    page: str
    rules: tuple[str, ...]  # the codes that explain this message
    message: str
    where: Where
    operand: Operand | None = None
    others: tuple[Operand, ...] = ()  # further tensors of which the same is true
    of_run: bool = False  # what explains it is not a tensor but what the run had done before
