"""Which parameters an optimizer steps in vain: no pass reaches them, or none any more. One answer, from the facts about
leaves and optimizers, for every rule that asks."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

from afterward.model.history import Cut, History, Leaf, Optimizer, Pass, Step
from afterward.model.site import Site, dated_site
from afterward.rules._often import AGAIN


@dataclass(frozen=True, slots=True)
class Idle:
    """An optimizer that steps though no pass reaches some or all of its parameters."""

    optimizer: str
    steps: int  # that changed none of them
    parameters: int  # that no pass reached
    site: Site
    cut: Cut | None = None  # what lies between them and every loss
    held: int = 0  # parameters that it trains in all
    names: tuple[str, ...] = ()  # of those that no pass reached
    instead: tuple[str, ...] = ()  # parameters in their place that the passes reach; no optimizer holds them
    replaced: Site | None = None  # the statement that put the others in their place


def idle_optimizers(history: History) -> list[Idle]:
    """The optimizers whose parameters, all or some, no pass reaches."""
    found = (_idle(history, one) for one in history.optimizers if one.followed)
    return [one for one in found if one is not None]


def _idle(history: History, optimizer: Optimizer) -> Idle | None:
    steps = [step for step in history.steps if step.owner == optimizer.id and step.where is not None]
    trained = [leaf for number in sorted(optimizer.leaves) if (leaf := history.leaf(number)).trains]
    if not trained or not _passes_between(history, steps):
        return None
    group = _Group(history, optimizer, steps, trained)
    unreached = [leaf for leaf in trained if not leaf.met and leaf.followed]
    # Where a step cannot have changed them, something else has: `copy_` into a target network.
    never = [leaf for leaf in unreached if not leaf.moved]
    in_sight = not optimizer.hidden and all(leaf.followed for leaf in trained)
    if in_sight and not optimizer.had_gradient and trained in ((never, unreached) if optimizer.of_torch else (never,)):
        return None if any(run.open for run in history.passes) else group.as_a_whole()
    late = group.steps[-optimizer.still :] if optimizer.still >= AGAIN else []
    if in_sight and group.left_behind(late):
        found = group.found(trained)
        return replace(found, steps=len(late), site=dated_site(late[0].where) or found.site)
    ways = (group.replaced(unreached), group.replaced(never), group.cut_off(never), group.run_for_nothing(never))
    return next((one for one in ways if one is not None), None)


def _passes_between(history: History, steps: list[Step]) -> bool:
    """Was there a pass before several of these steps, after the step before?"""
    moments = [run.moment for run in history.passes]
    before = [0, *(bisect_right(moments, step.moment) for step in steps)]
    return sum(later > earlier for earlier, later in pairwise(before)) >= AGAIN


@dataclass(slots=True)
class _Group:
    """An optimizer that steps, with what it trains."""

    history: History
    optimizer: Optimizer
    steps: list[Step]
    trained: list[Leaf]

    def found(self, out: list[Leaf], instead: Iterable[Leaf] | None = None) -> Idle:
        """What is to be said about these, and why no pass reaches them."""
        others = sorted(_in_place_of(self.history, out) if instead is None else instead, key=lambda leaf: leaf.name)
        by = next((leaf for leaf in (*others, *out) if leaf.name), None)
        # What gives `model` its value replaces all of it, not the part `model[0]`.
        whole = by is not None and (len(out) == len(self.trained) or "[" not in by.name)
        return Idle(
            self.optimizer.name,
            len(self.steps),
            len(out),
            dated_site(self.steps[-1].where) or self.steps[-1].where.site,  # type: ignore[union-attr]
            None if others else _cut_of(self.history, out),
            len(self.trained),
            _names(out),
            tuple(leaf.name for leaf in others),
            by.assigned if others and by is not None and whole else None,
        )

    def as_a_whole(self) -> Idle:
        """All that it trains; where nothing of their kind explains it, the layers that were put in their place."""
        found = self.found(self.trained)
        return found if found.cut or found.instead else self.replaced(self.trained) or found

    def left_behind(self, late: list[Step]) -> bool:
        """Has nothing of it changed since passes began to reach others, or a cut came before it?"""
        if len(late) < AGAIN or not _passes_between(self.history, late):
            return False
        since = self.steps[-1 - len(late)].moment if len(late) < len(self.steps) else -1
        runs = [run for run in _looked(self.history) if run.moment > since]
        mine = {leaf.id for leaf in self.trained}
        if len(runs) < AGAIN or any(run.open or run.reached & mine for run in runs):
            return False
        return bool(_in_place_of(self.history, self.trained) or _cut_of(self.history, self.trained))

    def replaced(self, out: list[Leaf]) -> Idle | None:
        """Are there others in the place of these? By their names, by their shapes, or because a layer was put there."""
        if not out:
            return None
        others = [leaf for leaf in _unheld(self.history) if leaf.name]
        named = {leaf.name: leaf for leaf in others}
        same = [leaf for leaf in out if leaf.name in named]
        if same:
            return self.found(same, [named[leaf.name] for leaf in same])
        if _in_place_of(self.history, out):
            return self.found(out)
        sites = {leaf.assigned for leaf in others if not leaf.constructed and "." in leaf.name}
        if _names(out) or len(sites) != 1 or None in sites or not all("." in leaf.name for leaf in others):
            return None  # what nothing stands in the place of may well be unused on purpose
        return replace(self.found(out, others), replaced=sites.pop())

    def cut_off(self, never: list[Leaf]) -> Idle | None:
        """Does a cut lie between some of these and every loss?"""
        cut = {leaf for one in self.history.cuts for leaf in one.leaves}
        out = [leaf for leaf in never if leaf.id in cut]
        return self.found(out, ()) if out else None

    def run_for_nothing(self, never: list[Leaf]) -> Idle | None:
        """Are all parameters of a module used in a graph, and no loss is computed from it?"""
        if any(run.open for run in self.history.passes):
            return None
        for module in dict.fromkeys(leaf.module for leaf in never if leaf.module):
            mine = [leaf for leaf in self.history.leaves if leaf.module == module]
            if all(leaf.recorded and leaf in never for leaf in mine):
                return self.found(mine, ())
        return None


def _cut_of(history: History, leaves: list[Leaf]) -> Cut | None:
    """The cut between these and every loss: each has one."""
    cuts = {leaf: cut for cut in reversed(history.cuts) for leaf in cut.leaves}
    return cuts[leaves[0].id] if leaves and all(leaf.id in cuts for leaf in leaves) else None


def _in_place_of(history: History, leaves: list[Leaf]) -> list[Leaf]:
    """Parameters of the very same shapes that the last pass reaches and no optimizer holds."""
    others = _unheld(history)
    run = _last_pass(history)
    still = [leaf for leaf in history.leaves if leaf.unchanged and run is not None and leaf.id in run.reached]
    shapes = sorted(leaf.shape or () for leaf in still or others)
    known = all(leaf.shape is not None for leaf in (*(still or others), *leaves))
    return (still or others) if known and shapes == sorted(leaf.shape or () for leaf in leaves) else []


def _unheld(history: History) -> list[Leaf]:
    """The leaves that the last pass's statement reaches and no optimizer holds, as far as they are followed. What one
    pass alone reaches is an input of its batch."""
    run = _last_pass(history)
    return _unheld_by(history, run) if run is not None else []


def _unheld_by(history: History, run: Pass) -> list[Leaf]:
    runs = [one for one in _looked(history) if one.where and run.where and one.where.site.same_lines(run.where.site)]
    times = Counter(leaf for one in runs for leaf in one.reached)
    leaves = (history.leaf(number) for number, count in sorted(times.items()) if count > 1)
    return [leaf for leaf in leaves if not leaf.optimizers and leaf.followed and not leaf.moved]


def _last_pass(history: History) -> Pass | None:
    """The last backward, of several networks' the last that reaches something no optimizer holds."""
    runs = list(reversed(_looked(history)))
    return next((run for run in runs if _unheld_by(history, run)), runs[0] if runs else None)


def _looked(history: History) -> list[Pass]:
    return [run for run in history.passes if run.used is not None and run.call == "backward" and run.reached]


def _names(leaves: Iterable[Leaf]) -> tuple[str, ...]:
    return tuple(sorted(leaf.name for leaf in leaves if leaf.name))
