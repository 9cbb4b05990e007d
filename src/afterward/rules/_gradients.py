"""What the rules about gradients ask the ledger: the looked-at steps of each optimizer, and the passes around them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from afterward.model import gradients
from afterward.model.gradients import Empty, Use
from afterward.model.history import History, LeafId, Optimizer, Pass, Step
from afterward.model.site import Site, Where, dated_site, parting
from afterward.rules._often import AGAIN, SEVERAL

BY_HAND = -2  # in place of an optimizer: the program updates these parameters itself


@dataclass(slots=True)
class Taken:
    """One step that was looked at: the gradients it used, and those that it did not find."""

    number: int  # in the history, or below zero: an update by hand
    step: Step | None
    uses: list[Use] = field(default_factory=list)
    empty: list[Empty] = field(default_factory=list)
    at: int = 0  # its place in the ledger

    @property
    def lost(self) -> tuple[int, ...]:
        """The passes whose gradients were cleared before this step could use them."""
        return tuple(dict.fromkeys(run for one in self.empty for run in one.lost))

    @property
    def runs(self) -> tuple[int, ...]:
        """The passes whose gradients it used."""
        return tuple(dict.fromkeys(run for one in self.uses for run in one.runs))

    @property
    def where(self) -> Where | None:
        return self.step.where if self.step is not None else None

    @property
    def site(self) -> Site | None:
        if self.step is None:
            return (self.uses[0].site if self.uses else None) or (self.empty[0].site if self.empty else None)
        return dated_site(self.step.where)


def steps_of_optimizers(history: History) -> Iterator[list[Taken]]:
    """The steps that were looked at, in order, of one optimizer after the other."""
    taken = _taken(history, history.ledger.uses_by_step())
    for number, empty in history.ledger.empty_by_step().items():
        step = history.step(number) if number >= 0 else None
        taken.setdefault(number, Taken(number, step, at=empty[0].at)).empty = empty
    yield from _by_optimizer(taken)


def steps_that_used(history: History) -> Iterator[list[Taken]]:
    """The same with what they used alone: gradients, too, that may hold besides what other passes left there unseen."""
    yield from _by_optimizer(_taken(history, history.ledger.uses_by_step_with_unknown()))


def _taken(history: History, by_step: dict[int, list[Use]]) -> dict[int, Taken]:
    return {
        number: Taken(number, history.step(number) if number >= 0 else None, uses, at=uses[0].at)
        for number, uses in by_step.items()
    }


def _by_optimizer(taken: dict[int, Taken]) -> Iterator[list[Taken]]:
    groups: dict[int, list[Taken]] = {}
    for one in sorted(taken.values(), key=lambda one: one.at):
        groups.setdefault(one.step.owner if one.step is not None else BY_HAND, []).append(one)
    yield from groups.values()


def in_one_iteration(run: Pass, step: Taken) -> bool:
    """Do a pass and a step belong to one iteration of the loop (or to one call)?"""
    return run.where is not None and step.where is not None and parting(run.where, step.where).how in _ONE_AFTER_OTHER


def in_other_iterations(history: History, runs: Iterable[int], step: Taken) -> bool:
    """Do all these passes belong to another iteration of the loop than the step?"""
    pairs = [(history.run(run).where, step.where) for run in runs]
    return bool(pairs) and all(one and other and parting(one, other).how == "iterations" for one, other in pairs)


def in_other_iteration(history: History, run: int, other: int) -> bool:
    """Do two passes belong to two iterations of one loop?"""
    one, two = history.run(run).where, history.run(other).where
    return one is not None and two is not None and parting(one, two).how == "iterations"


def is_within(run: Pass, step: Taken) -> bool:
    """Was a pass run by the step itself, as the closure of LBFGS is?"""
    return run.where is not None and step.where is not None and run.where.runs_under(step.where)


def produced_between(history: History, before: Taken | None, step: Taken) -> list[int]:
    """The passes, between two steps of an optimizer, that produced for what the later one used."""
    leaves = {use.leaf for use in step.uses} | {one.leaf for one in step.empty}
    since = before.at if before is not None else -1
    runs = history.ledger.productions
    return [run for at, run, reached in runs if since < at < step.at and reached & leaves]


def is_gap_between(history: History, before: Taken | None, step: Taken) -> bool:
    """Was something not looked at between two steps? What was produced in between is then not known."""
    since = before.at if before is not None else -1
    return any(since < gap < step.at for gap in history.ledger.gaps)


def _is_for_others(history: History, run: int, leaves: Iterable[LeafId]) -> bool:
    """Is the step right after a pass one of other parameters than it reached, and finds no gradient at all?"""
    after = next((step for step in history.steps if step.moment > history.run(run).moment), None)
    if after is None or not after.leaves.isdisjoint(leaves):
        return False
    return after.id in history.ledger.empty_by_step() and after.id not in history.ledger.uses_by_step()


def is_lost(history: History, run: int) -> bool:
    """Was all that a pass produced cleared before anything used it? It then was for nothing.

    What it produced for tensors that no optimizer holds, an input say, may have been what it was for.
    """
    held = frozenset(leaf for optimizer in history.optimizers for leaf in optimizer.leaves)
    fates = history.ledger.produced_by(run)
    if history.run(run).stale:
        return False  # AFT203: it came after the step that it was for
    if _is_for_others(history, run, fates.keys()):
        return False  # AFT404: the step that it was for got nothing of it
    return bool(fates) and all(
        leaf in held and fate.cleared and not (fate.used_by or fate.read or fate.changed or fate.unseen)
        for leaf, fate in fates.items()
    )


def frozen_while_stepping(history: History) -> Iterator[tuple[Optimizer, list[int]]]:
    """Optimizers that stepped with gradients, and from then on only with parameters that ask for none: (it, steps)."""
    ledger = history.ledger
    looked = sorted({*ledger.uses_by_step(), *ledger.empty_by_step(), *ledger.frozen})
    for optimizer in history.optimizers:
        steps = [number for number in looked if number >= 0 and history.step(number).owner == optimizer.id]
        used = [n for n in steps if not ledger.frozen.get(n, frozenset()) >= optimizer.leaves]
        late = [number for number in steps if used and number > used[-1]]
        if late and any(fate.used_by for (_, leaf), fate in ledger.fates.items() if leaf in optimizer.leaves):
            yield optimizer, late


def never_stepping(history: History) -> Iterator[tuple[Optimizer, list[int]]]:
    """Optimizers that never step, with the passes whose gradients for them were cleared unused: (it, passes)."""
    stepping = {step.owner for step in history.steps}
    for optimizer in history.optimizers:
        if optimizer.id in stepping or optimizer.step_not_run or -1 in stepping:
            continue
        runs = _cleared_unused(history, optimizer)
        if len(runs) >= AGAIN:
            yield optimizer, runs


def unread(history: History) -> Iterator[tuple[Optimizer, list[int]]]:
    """Optimizers that nothing uses since they were made, though passes that no other optimizer's step uses compute
    gradients for all that they hold, while others step: (it, passes)."""
    stepping = {step.owner for step in history.steps}
    for optimizer in history.optimizers:
        mine = [leaf for leaf in history.leaves if leaf.id in optimizer.leaves]
        alone = all(leaf.optimizers == (optimizer.name,) and leaf.followed and not leaf.moved for leaf in mine)
        if not (optimizer.unread and optimizer.followed and stepping - {-1} and mine and alone):
            continue
        reached = [
            run
            for at, run, leaves in history.ledger.productions
            if leaves >= optimizer.leaves and not _is_for_another(history, run, optimizer)
        ]
        fates = [fate for (_, leaf), fate in history.ledger.fates.items() if leaf in optimizer.leaves]
        if len(reached) >= SEVERAL and not any(fate.used_by or fate.read or fate.unseen for fate in fates):
            yield optimizer, reached


def _is_for_another(history: History, run: int, optimizer: Optimizer) -> bool:
    """Does a step of another optimizer use what a pass produced? What it added here is then a by-product, as for a
    critic that an actor is trained through."""
    fates = history.ledger.produced_by(run).items()
    return any(fate.used_by and leaf not in optimizer.leaves for leaf, fate in fates)


def _cleared_unused(history: History, optimizer: Optimizer) -> list[int]:
    """The passes that produced for it what was cleared unused; none where anything of it was ever used or read."""
    mine = {key: fate for key, fate in history.ledger.fates.items() if key[1] in optimizer.leaves}
    by_hand = any(one.step == gradients.BY_HAND and one.leaf in optimizer.leaves for one in history.ledger.empty)
    if by_hand or any(fate.used_by or fate.read or fate.changed for fate in mine.values()):
        return []
    cleared = dict.fromkeys(run for (run, _), fate in mine.items() if fate.cleared)
    return [run for run in cleared if not _is_for_tensors(history, run)]


def _is_for_tensors(history: History, run: int) -> bool:
    """Does the program itself use what a pass produced for a tensor that no optimizer holds? Then that is what the pass
    was for: an input under attack, say."""
    held = frozenset(leaf for optimizer in history.optimizers for leaf in optimizer.leaves)
    fates = history.ledger.produced_by(run).items()
    return any((fate.read or fate.used_by) and leaf not in held for leaf, fate in fates)


_ONE_AFTER_OTHER = ("statements", "same")


def comes_before_backward(history: History, steps: list[Taken]) -> list[Taken]:
    """The steps that come before the backward of their own iteration: each finds the gradients of the one before, or
    none any more. Empty where that is not so for all of them, of all passes or of those from one statement."""
    if not steps or steps[0].step is None:
        return []
    places = dict.fromkeys(place_of(history, run) for step in steps[1:] for run in step.runs)
    added_up = any(use.again for step in steps for use in step.uses)  # AFT402: nothing was cleared
    parts = places if len(places) > 1 and not added_up else ()
    ways = [steps, *([_from(history, step, place) for step in steps] for place in parts)]
    return next((early for way in ways if (early := _all_early(history, way))), [])


def _all_early(history: History, steps: list[Taken]) -> list[Taken]:
    had = [*(use.leaf for use in steps[0].uses), *(one.leaf for one in steps[0].empty if one.begun)]
    if any(_is_own(history, steps[0], leaf) for leaf in had):
        return []
    late = [step for step in steps[1:] if step.runs or step.lost]
    early = [step for step in late if in_other_iterations(history, step.runs or step.lost, step)]
    known = (pair for pair in pairwise(steps) if not is_gap_between(history, *pair))
    follows = (_backward_follows(history, step, after) for step, after in known if step in early)
    return early if len(early) == len(late) and all(follows) else []


def _is_own(history: History, step: Taken, leaf: int) -> bool:
    """Had this optimizer a gradient to use? One that another's step has used is left over from an earlier phase."""
    runs = (run for at, run, reached in history.ledger.productions if at < step.at and leaf in reached)
    return any(not _shared(history, run, leaf, step) for run in runs)


def _from(history: History, step: Taken, place: object) -> Taken:
    """What a step used of the passes from one statement, where no other optimizer used them."""
    uses = []
    for use in step.uses:
        mine = tuple(r for r in use.runs if place_of(history, r) == place and _is_for(history, r, step))
        uses += [replace(use, runs=mine)] if mine else []
    return replace(step, uses=uses, empty=[one for one in step.empty if not one.begun])


def _shared(history: History, run: int, leaf: int, step: Taken) -> bool:
    """Has a step of another optimizer used what this pass produced for a leaf?"""
    used = [number for number in history.ledger.fates[run, leaf].used_by if number >= 0]
    return any(step.step is None or history.step(number).owner != step.step.owner for number in used)


def too_late_for(history: History, step: Taken) -> int:
    """Of the passes that come too late for a step, its own."""
    return own_passes(history, step, step.runs or step.lost)[-1]


def own_passes(history: History, step: Taken, runs: Sequence[int]) -> Sequence[int]:
    """Of some passes, those whose gradients no other optimizer has used, if there are any: the others may have added to
    these gradients in passing."""
    return [r for r in runs if _is_for(history, r, step)] or runs


def _is_for(history: History, run: int, step: Taken) -> bool:
    return not any(_shared(history, run, leaf, step) for leaf in history.ledger.produced_by(run))


def place_of(history: History, run: int) -> tuple[str, int] | None:
    where = history.run(run).where
    return (where.site.file, where.site.line) if where is not None else None


def _backward_follows(history: History, step: Taken, after: Taken) -> bool:
    """Is there a pass, in the same iteration and after this step, for what the optimizer holds? The next step shows."""
    return any(in_one_iteration(history.run(run), step) for run in after.runs or after.lost)
