"""Gives parameters and optimizers numbers of their own. Python may give an address to another object once the first is
gone; a number is given once. Numbers follow the order in which things were met, so they are the same in every run."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

MANY = 1 << 12  # known things, before those that are gone are forgotten
LATE = 1 << 32  # what was not seen being made has numbers from here on


class Identities:
    """Numbers for the things that were met, each held weakly."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, weakref.ref[Any]]] = {}
        self._given, self._given_late = 0, LATE
        self._crowded = MANY

    def of(self, thing: Any, gone: Callable[[weakref.ref[Any]], None] | None = None) -> int:
        """Its number; a new one where it was not met before."""
        number = self.at(id(thing))
        if number is None:
            number, self._given = self._given, self._given + 1
            self._note(number, thing, gone)
        return number

    def of_late(self, thing: Any) -> int:
        """The number of what may not have been seen being made, as the copy of a parameter: when it is met first
        depends on the program, which a patch changes; the numbers of others must not."""
        number = self.at(id(thing))
        if number is None:
            number, self._given_late = self._given_late, self._given_late + 1
            self._note(number, thing)
        return number

    def at(self, address: int) -> int | None:
        """The number of what lives at an address now, if it was met."""
        known = self._known.get(address)
        return known[0] if known is not None and known[1]() is not None else None

    def living(self) -> Iterator[tuple[int, Any]]:
        for number, reference in list(self._known.values()):
            thing = reference()
            if thing is not None:
                yield number, thing

    def _note(self, number: int, thing: Any, gone: Callable[[weakref.ref[Any]], None] | None = None) -> None:
        self._known[id(thing)] = (number, weakref.ref(thing, gone))
        if len(self._known) > self._crowded:
            self._known = {at: one for at, one in self._known.items() if one[1]() is not None}
            self._crowded = 2 * max(len(self._known), MANY)
