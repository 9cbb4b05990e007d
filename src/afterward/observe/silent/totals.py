"""A number by which a change of values is noticed: torch does not count all writes, and some change nothing."""

from __future__ import annotations

from typing import Any

from afterward.observe import compat

NUMBERS = 512  # of a tensor, that go into it


def total(tensor: Any) -> float | None:
    """The sum of some of its numbers; None where it has none that can be added."""
    if not compat.has_numbers(tensor) or not tensor.is_floating_point():
        return None
    with compat.torch_module().no_grad():
        return float(tensor.detach().flatten()[:: max(1, tensor.numel() // NUMBERS)].abs().sum().item())
