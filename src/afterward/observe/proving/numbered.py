"""Numbers for parameters and optimizers that mean the same in every run of a program."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any


class Numbered:
    """Things in the order in which they were made. They are held weakly: an identity may be given away."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, weakref.ref[Any]]] = {}
        self._count = 0

    def known(self, thing: Any) -> int | None:
        number, reference = self._known.get(id(thing), (None, None))
        return number if reference is not None and reference() is thing else None

    def number(self, thing: Any) -> int:
        number = self.known(thing)
        if number is None:
            number, self._count = self._count, self._count + 1
            self._known[id(thing)] = (number, weakref.ref(thing))
        return number

    def living(self) -> Iterator[tuple[int, Any]]:
        for number, reference in list(self._known.values()):
            thing = reference()
            if thing is not None:
                yield number, thing
