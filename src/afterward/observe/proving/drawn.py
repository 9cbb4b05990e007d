"""The state of the random numbers: two runs that draw others train otherwise for that reason alone."""

from __future__ import annotations

import hashlib
import sys

from afterward.observe import compat


class Drawn:
    """Of torch, Python and NumPy. The last two begin otherwise in every run: they count from when they are used."""

    def __init__(self) -> None:
        self._began = _python(), _numpy()

    def digest(self) -> str:
        found = hashlib.sha1(compat.torch_module().get_rng_state().numpy().tobytes(), usedforsecurity=False)
        for now, began in zip((_python(), _numpy()), self._began, strict=True):
            found.update(b"" if now == began or not began else now)
        return found.hexdigest()


def _python() -> bytes:
    drawing = sys.modules.get("random")
    return repr(drawing.getstate()).encode() if drawing is not None else b""


def _numpy() -> bytes:
    drawing = getattr(sys.modules.get("numpy"), "random", None)
    if drawing is None:
        return b""
    _, numbers, place, *_ = drawing.get_state()
    return bytes(numbers.tobytes()) + str(place).encode()
