"""Reads of a tensor what torch knows of it: a class of the program's may have a `shape` or a `grad` of its own."""

from __future__ import annotations

from typing import Any

from afterward.observe import compat


class Plainly:
    """A tensor of another class, with the attributes and methods of a plain one."""

    __slots__ = ("_tensor",)

    def __init__(self, tensor: Any) -> None:
        self._tensor = tensor

    def __getattr__(self, name: str) -> Any:
        return getattr(compat.torch_module().Tensor, name).__get__(self._tensor)


def plainly(tensor: Any) -> Any:
    """The tensor, to be read without running code of its class."""
    torch = compat.torch_module()
    return tensor if type(tensor) in (torch.Tensor, torch.nn.Parameter) else Plainly(tensor)
