"""Numbers for parameters and optimizers that mean the same in every run of a program."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

LATE = 1 << 32  # what was not seen being made has numbers from here on


class Numbered:
    """Things in the order in which they were made. They are held weakly: an identity may be given away."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, weakref.ref[Any]]] = {}
        self._count = 0
        self._late = LATE

    def known(self, thing: Any) -> int | None:
        number, reference = self._known.get(id(thing), (None, None))
        return number if reference is not None and reference() is thing else None

    def number(self, thing: Any) -> int:
        number = self.known(thing)
        if number is None:
            number, self._count = self._count, self._count + 1
            self._known[id(thing)] = (number, weakref.ref(thing))
        return number

    def number_late(self, thing: Any) -> int:
        """The number of what may not have been seen being made, as the copy of a parameter: when it is met first
        depends on the program, which a patch changes; the numbers of others must not."""
        number = self.known(thing)
        if number is None:
            number, self._late = self._late, self._late + 1
            self._known[id(thing)] = (number, weakref.ref(thing))
        return number

    def living(self) -> Iterator[tuple[int, Any]]:
        for number, reference in list(self._known.values()):
            thing = reference()
            if thing is not None:
                yield number, thing
