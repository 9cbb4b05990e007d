"""What two tensors are compared by: all their numbers as a digest, and some of them as they are."""

from __future__ import annotations

import hashlib
from typing import Any

from afterward.observe import compat

NUMBERS = 256  # of each tensor, evenly spread
WHOLE = 1 << 20  # numbers that go into a digest; of a larger tensor as many, evenly spread


def digest(tensor: Any) -> str:
    """All numbers of a tensor, to the bit."""
    torch = compat.torch_module()
    with torch.no_grad():
        flat = _flat(tensor)
        # A copy: what NumPy has once looked into can never be resized again, and FSDP resizes its parameters.
        whole = flat[:: max(1, flat.numel() // WHOLE)].clone(memory_format=torch.contiguous_format)
        return hashlib.sha1(whole.view(torch.uint8).numpy().tobytes(), usedforsecurity=False).hexdigest()


def sampled(tensor: Any) -> tuple[float, ...]:
    """Some of its numbers."""
    torch = compat.torch_module()
    with torch.no_grad():
        flat = _flat(tensor)
        some = flat[:: max(1, flat.numel() // NUMBERS)][:NUMBERS].to(torch.float64)
        return tuple(some.tolist())


def _flat(tensor: Any) -> Any:
    torch = compat.torch_module()
    plain = compat.own_part(tensor).detach()
    plain = (plain if compat.has_memory(plain) else plain.new_empty(0)).to("cpu")
    return (plain.to_dense() if plain.layout != torch.strided else plain).reshape(-1)
