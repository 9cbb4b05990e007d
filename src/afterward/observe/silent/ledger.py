"""Writes the gradient ledger for the passes and steps that are looked at.

At each look it asks the leaves: is there a gradient, how often was it written to, has the leaf changed? From that
follows what happened in between; the statement that did it is found once the run is over. Nothing is kept alive.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from afterward.model.gradients import (
    BY_HAND,
    CHANGED,
    CLEARED,
    FROZEN,
    MISSING,
    PRODUCED,
    READ,
    REPLACED,
    UNSEEN,
    USED,
    Entry,
)
from afterward.model.site import Site
from afterward.observe import compat
from afterward.observe.identities import Identities
from afterward.observe.plainly import plainly
from afterward.observe.recording.events import PassSeen
from afterward.observe.silent.totals import total


@dataclass(slots=True)
class _State:
    """One leaf as the last look left it."""

    version: int
    writes: int  # to its gradient, in place, so many at least if it is still the same; -1: there was none
    full: bool  # there is a gradient from then on
    total: float | None = None  # of some of its numbers, where no optimizer holds it
    moment: int = 0


@dataclass(frozen=True, slots=True)
class Noted:
    """An entry to be, and the moments between which it happened."""

    what: str
    leaves: frozenset[int]
    since: int
    until: int
    run: PassSeen | None = None
    optimizer: int = 0  # the address of the one that stepped


class LedgerWriter:
    """Follows the gradients of leaves from look to look."""

    def __init__(self, leaves: Identities) -> None:
        self.leaves = leaves
        self.notes: list[Noted] = []
        self._running: dict[int, tuple[Noted, dict[int, weakref.ref[Any]]]] = {}  # by the address of what a pass is of
        self._states: dict[int, _State] = {}
        self._unlooked = 0

    def unseen(self) -> None:
        """Something was not looked at: from here on nothing is known of any gradient."""
        if self._states:
            self._states.clear()
            self.notes.append(Noted(UNSEEN, frozenset(), 0, 0))

    def _is_all_seen(self, unlooked: int) -> bool:
        """Has no `backward()` gone by without a look since the last one? (`autograd.grad` leaves `.grad` alone.)"""
        before, self._unlooked = self._unlooked, unlooked
        if unlooked != before:
            self.unseen()
        return unlooked == before

    @property
    def is_waiting(self) -> bool:
        """Is there a pass that runs, and whose end is to be looked at?"""
        return bool(self._running)

    def pass_begins(
        self, seen: PassSeen, leaves: Iterable[Any], held: frozenset[int], unlooked: int, outputs: int
    ) -> None:
        """A pass is about to add to the gradients of these leaves; optimizers hold some of them. So many passes in all
        went by without a look. `outputs` is the address of what it is called on."""
        self._is_all_seen(unlooked)
        found = _Found()
        references: dict[int, weakref.ref[Any]] = {}
        for leaf in leaves:
            number = self.leaves.of(leaf)
            references[number] = weakref.ref(leaf)
            self._compare(number, leaf, found, held)
            state = self._states[number]
            # The pass adds in place; with `create_graph=True` it puts another in the place of the old one.
            state.writes = 0 if seen.creates_graph else state.writes + 1
            state.full, state.moment = True, seen.moment
        self.notes += found.notes(seen.moment)
        self.notes.append(Noted(PRODUCED, frozenset(references), seen.moment, seen.moment, seen))
        self._running[outputs] = self.notes[-1], references

    def pass_ended(self, outputs: int) -> None:
        """A pass is over: which of the leaves have a gradient now? Something on the way may have given none to them."""
        note, references = self._running.pop(outputs, (None, {}))
        if note is None or self.notes[-1] is not note:
            return  # not looked at, or a hook has stepped meanwhile
        produced = set()
        for number, reference in references.items():
            leaf, state = reference(), self._states[number]
            if leaf is None or _has_hooks(leaf):  # which may have taken the gradient away
                produced.add(number)
                continue
            gradient = plainly(leaf).grad
            state.full = gradient is not None
            state.writes = plainly(gradient)._version if gradient is not None else -1
            produced.update((number,) if state.full else ())
        self.notes[-1] = replace(note, leaves=frozenset(produced))

    def stepped(self, optimizer: Any, parameters: Iterable[Any], moment: int, unlooked: int) -> None:
        """An optimizer has stepped, with the gradients that are there now."""
        if not self._is_all_seen(unlooked):
            return
        found = _Found()
        used: set[int] = set()
        missing: set[int] = set()
        frozen: set[int] = set()
        for leaf in parameters:
            number = self.leaves.of(leaf)
            if not plainly(leaf).requires_grad:
                frozen.add(number)
                continue
            before = self._states.get(number)
            if before is not None:
                before.version, before.total = plainly(leaf)._version, None  # the step has changed it
            self._compare(number, leaf, found, frozenset((number,)))
            state = self._states[number]
            state.moment = moment
            (used if state.full else missing).add(number)
        self.notes += found.notes(moment)
        for what, some in ((USED, used), (MISSING, missing), (FROZEN, frozen)):
            if some:
                self.notes.append(Noted(what, frozenset(some), moment, moment, optimizer=id(optimizer)))

    def _compare(self, number: int, leaf: Any, found: _Found, held: frozenset[int]) -> None:
        """Note what happened to a leaf and its gradient since the last look."""
        plain = plainly(leaf)
        writes = plainly(plain.grad)._version if plain.grad is not None else -1
        # By value: a program that updates by hand may write through `.data`, which torch does not count.
        now = None if number in held else total(leaf)
        before = self._states.get(number)
        # A gradient of zeros that nothing has written to since the pass is what the pass produced.
        as_produced = before is not None and before.full and before.writes == writes >= 0
        full = as_produced or has_gradient(leaf)
        self._states[number] = _State(plain._version, writes, full, now)
        if before is None:
            if full:
                found.add(UNSEEN, number, 0)
            return
        if before.version != plain._version or (None not in (now, before.total) and now != before.total):
            found.add(CHANGED, number, before.moment)
        if before.full and not full:
            found.add(CLEARED, number, before.moment)
        elif full and (not before.full or writes < before.writes):
            # A gradient that is only added to counts its writes on; another one begins again.
            found.add(REPLACED, number, before.moment)


class _Found:
    """What one look has found out about several leaves."""

    def __init__(self) -> None:
        self._leaves: dict[str, set[int]] = {UNSEEN: set(), CHANGED: set(), CLEARED: set(), REPLACED: set()}
        self._since: dict[str, int] = {}

    def add(self, what: str, leaf: int, since: int) -> None:
        self._leaves[what].add(leaf)
        self._since[what] = max(self._since.get(what, 0), since)

    def notes(self, until: int) -> Iterator[Noted]:
        for what, leaves in self._leaves.items():
            if leaves:
                yield Noted(what, frozenset(leaves), self._since[what], until)


def has_gradient(leaf: Any) -> bool:
    """Is there a gradient other than zeros? A tensor of another make, as one that is spread over machines, is not asked
    for its numbers."""
    gradient = plainly(leaf).grad
    if gradient is None:
        return False
    if not _is_plain(gradient):
        return True
    with compat.torch_module().no_grad():
        return bool(gradient.any())


def _has_hooks(leaf: Any) -> bool:
    return bool(plainly(leaf)._backward_hooks or plainly(leaf)._post_accumulate_grad_hooks)


def _is_plain(tensor: Any) -> bool:
    return type(tensor) is compat.torch_module().Tensor and compat.has_numbers(tensor)


# Once the run is over


@dataclass(frozen=True, slots=True)
class Touch:
    """An executed statement that speaks of gradients: what it does to them, when and where."""

    moment: int
    what: str  # CLEARED, REPLACED, READ, or USED: it changes something else with them
    site: Site | None


def entries_of(
    notes: Iterable[Noted],
    touches: list[Touch],
    runs: Mapping[int, int],
    steps: Mapping[tuple[int, int], int],
    blind: Iterable[int] = (),
) -> Iterator[Entry]:
    """The ledger. `runs` numbers the passes by their identity, `steps` the steps by moment and optimizer; `blind` are
    the moments of steps that were not looked at."""
    unlooked = sorted(blind)
    for note in notes:
        if note.what == PRODUCED:
            yield Entry(PRODUCED, note.leaves, run=runs.get(id(note.run), -1))
        elif note.what in (USED, MISSING, FROZEN):
            number = steps.get((note.until, note.optimizer))
            yield Entry(note.what, note.leaves, step=number) if number is not None else Entry(UNSEEN, note.leaves)
        elif note.what == UNSEEN or (note.what == CHANGED and any(note.since < at <= note.until for at in unlooked)):
            yield Entry(UNSEEN, note.leaves)
        else:
            yield from _told(note, [touch for touch in touches if note.since <= touch.moment < note.until])


def _told(note: Noted, between: list[Touch]) -> Iterator[Entry]:
    """What happened to gradients between two looks, with the statements that did it."""
    by_hand = [touch for touch in between if touch.what == USED]
    cleared = [touch for touch in between if touch.what == CLEARED]
    if by_hand and cleared and cleared[0].moment < by_hand[0].moment:  # `p.grad.zero_()`, and then `p -= lr * p.grad`
        if note.what == CLEARED:
            yield Entry(CLEARED, note.leaves, site=cleared[0].site)
            yield Entry(MISSING, note.leaves, step=BY_HAND, site=by_hand[0].site)
        return
    if note.what == CHANGED and by_hand:
        yield Entry(USED, note.leaves, step=BY_HAND, site=by_hand[-1].site)
        return
    if any(touch.what in (READ, REPLACED, USED) for touch in between):
        yield Entry(READ, note.leaves)
    sites = [touch.site for touch in between if touch.what == note.what]
    yield Entry(note.what, note.leaves, site=sites[-1] if sites else None)
