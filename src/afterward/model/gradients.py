"""The gradient ledger: what backward passes produced, what cleared it and which step used it, in the order it happened.

An `Entry` is a fact. `GradientLedger` replays the entries and answers questions: which passes' gradients a step used,
which of them an earlier step had used already, and which were cleared before any step used them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from afterward.model.site import Site

PRODUCED = "produced"  # a pass added to the gradients of these leaves
CLEARED = "cleared"  # they were set to None or to zeros
REPLACED = "replaced"  # the program put a gradient of its own there
READ = "read"  # the program looked at them itself
USED = "used"  # a step (or the program, by hand) changed the leaves with what was there
MISSING = "missing"  # a step of an optimizer that holds these leaves found no gradient there
FROZEN = "frozen"  # a step of an optimizer that holds these leaves found that they ask for no gradient
CHANGED = "changed"  # the leaves got other values, not by their gradients: `load_state_dict`, `copy_`
UNSEEN = "unseen"  # what happened to these leaves (to all, where none is named) was not looked at

BY_HAND = -1  # in place of a step's number: the program changed its parameters itself


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the ledger."""

    what: str
    leaves: frozenset[int] = frozenset()
    run: int = -1  # the pass that produced
    step: int = BY_HAND  # the number of the step, in the history's own order
    site: Site | None = None  # the statement that cleared, replaced, read or used, where it is known


@dataclass(frozen=True, slots=True)
class Use:
    """One step used the gradients of one leaf: those of these passes, of which some had been used before."""

    step: int
    leaf: int
    runs: tuple[int, ...]
    again: frozenset[int]
    at: int = 0  # the number of the entry
    site: Site | None = None

    @property
    def added_to_used(self) -> int | None:
        """The first pass that added to a gradient which a step had used."""
        later = [run for before, run in pairwise(self.runs) if before in self.again and run not in self.again]
        return later[0] if later else None


@dataclass(frozen=True, slots=True)
class Empty:
    """One step found no gradient for one leaf. `lost`: the passes whose gradients were cleared since its last use."""

    step: int
    leaf: int
    lost: tuple[int, ...]
    at: int = 0
    cleared: Site | None = None
    begun: bool = True  # had any pass produced a gradient for this leaf before?
    site: Site | None = None


@dataclass(slots=True)
class Fate:
    """What became of what one pass produced for one leaf."""

    used_by: list[int] = field(default_factory=list)
    cleared: bool = False
    cleared_at: Site | None = None
    read: bool = False  # by the program itself
    changed: bool = False  # the leaf got another value meanwhile, not by a step
    unseen: bool = False


class GradientLedger:
    """The entries of one history, replayed once."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.uses: list[Use] = []
        self.uses_with_unknown: list[Use] = []  # of gradients that may hold what other passes left there unseen
        self.empty: list[Empty] = []
        self.fates: dict[tuple[int, int], Fate] = {}  # by pass and leaf
        self.gaps: list[int] = []  # the numbers of the entries that say: from here on nothing is known of any gradient
        self.frozen: dict[int, frozenset[int]] = {}  # by step: the leaves that asked for no gradient
        self.productions: list[tuple[int, int, frozenset[int]]] = []  # (number of the entry, pass, leaves)
        self._filled: dict[int, frozenset[int]] = {}
        self._piled: dict[int, frozenset[int]] = {}
        self._held: dict[int, list[int]] = {}  # the passes in each leaf's gradient
        self._unknown: set[int] = set()  # the leaves whose gradient may hold something else besides
        self._lost: dict[int, list[int]] = {}
        self._lost_at: dict[int, Site | None] = {}
        self._at = 0
        for self._at, entry in enumerate(entries):
            _REPLAY[entry.what](self, entry)

    # Questions

    def filled(self, run: int) -> frozenset[int]:
        """The leaves that had a gradient no step had used yet as this pass began to add to it."""
        return self._filled.get(run, frozenset())

    def piled(self, run: int) -> frozenset[int]:
        """The leaves whose gradient had been used and not cleared as this pass began to add to it."""
        return self._piled.get(run, frozenset())

    def produced_by(self, run: int) -> dict[int, Fate]:
        """What became of each gradient that one pass produced, by leaf."""
        return {leaf: fate for (one, leaf), fate in self.fates.items() if one == run}

    def uses_by_step(self) -> dict[int, list[Use]]:
        """What each step used. An update by hand goes by what no step has: the negative number of its entry."""
        return _by_step(self.uses)

    def uses_by_step_with_unknown(self) -> dict[int, list[Use]]:
        """The same, with uses of gradients of which not all is known."""
        return _by_step(sorted((*self.uses, *self.uses_with_unknown), key=lambda use: use.at))

    def empty_by_step(self) -> dict[int, list[Empty]]:
        steps: dict[int, list[Empty]] = {}
        for one in self.empty:
            steps.setdefault(one.step if one.step != BY_HAND else -1 - one.at, []).append(one)
        return steps

    # The replay, one method for each kind of entry

    def _produced(self, entry: Entry) -> None:
        filled, piled = set(), set()
        self.productions.append((self._at, entry.run, entry.leaves))
        for leaf in entry.leaves:
            held = self._held.setdefault(leaf, [])
            unknown = leaf in self._unknown
            if held and not unknown:
                fates = [self.fates[run, leaf] for run in held]
                if any(fate.used_by for fate in fates):
                    piled.add(leaf)
                elif not any(fate.changed for fate in fates):
                    filled.add(leaf)
            self.fates[entry.run, leaf] = Fate(unseen=unknown)
            held.append(entry.run)
        self._filled[entry.run], self._piled[entry.run] = frozenset(filled), frozenset(piled)

    def _cleared(self, entry: Entry) -> None:
        for leaf, fate, run in self._present(entry):
            fate.cleared, fate.cleared_at = True, entry.site
            if not (fate.used_by or fate.changed):
                self._lost.setdefault(leaf, []).append(run)
                self._lost_at[leaf] = entry.site
        for leaf in entry.leaves:
            self._held[leaf] = []
        self._unknown -= entry.leaves

    def _replaced(self, entry: Entry) -> None:
        for _, fate, _ in self._present(entry):
            fate.read = True
        self._forget(entry.leaves)

    def _read(self, entry: Entry) -> None:
        for _, fate, _ in self._present(entry):
            fate.read = True

    def _used(self, entry: Entry) -> None:
        for leaf in sorted(entry.leaves):
            held = self._held.get(leaf)
            if held:
                again = frozenset(run for run in held if self.fates[run, leaf].used_by)
                uses = self.uses_with_unknown if leaf in self._unknown else self.uses
                uses.append(Use(entry.step, leaf, tuple(held), again, self._at, entry.site))
                for run in held:
                    self.fates[run, leaf].used_by.append(entry.step)
            self._lost.pop(leaf, None)

    def _missing(self, entry: Entry) -> None:
        for leaf in sorted(entry.leaves):
            lost = tuple(self._lost.pop(leaf, ()))
            begun = leaf in self._held
            self.empty.append(Empty(entry.step, leaf, lost, self._at, self._lost_at.get(leaf), begun, entry.site))

    def _frozen(self, entry: Entry) -> None:
        self.frozen[entry.step] = entry.leaves

    def _changed(self, entry: Entry) -> None:
        for _, fate, _ in self._present(entry):
            fate.changed = True

    def _unseen(self, entry: Entry) -> None:
        if not entry.leaves:
            self.gaps.append(self._at)
        leaves = entry.leaves or frozenset(self._held)
        for leaf in leaves:
            for run in self._held.get(leaf, ()):
                self.fates[run, leaf].unseen = True
            self._lost.pop(leaf, None)
        self._forget(leaves)

    def _forget(self, leaves: frozenset[int]) -> None:
        """What lies in their gradients is not known any more."""
        self._held.update({leaf: [] for leaf in leaves})
        self._unknown |= leaves

    def _present(self, entry: Entry) -> Iterator[tuple[int, Fate, int]]:
        """What lies in the gradients of an entry's leaves: leaf, fate and pass."""
        for leaf in sorted(entry.leaves - self._unknown):
            for run in self._held.get(leaf, ()):
                yield leaf, self.fates[run, leaf], run


def _by_step(uses: Iterable[Use]) -> dict[int, list[Use]]:
    """By the number of the step. An update by hand goes by what no step has: the negative number of its entry."""
    steps: dict[int, list[Use]] = {}
    for use in uses:
        steps.setdefault(use.step if use.step != BY_HAND else -1 - use.at, []).append(use)
    return steps


_REPLAY = {
    PRODUCED: GradientLedger._produced,
    CLEARED: GradientLedger._cleared,
    REPLACED: GradientLedger._replaced,
    READ: GradientLedger._read,
    USED: GradientLedger._used,
    MISSING: GradientLedger._missing,
    FROZEN: GradientLedger._frozen,
    CHANGED: GradientLedger._changed,
    UNSEEN: GradientLedger._unseen,
}
