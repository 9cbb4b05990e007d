"""Questions to a record of training: which losses each step used for each parameter, and what the law says of that.

A loss goes by the statement that made its number, or, where several losses are made by one statement, by the statement
that called `backward()` on it. Lines are those of the program as it was, so that two runs can be compared.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import combinations, pairwise, permutations, takewhile

from afterward.model.training import Cleared, Edited, Happening, Line, PassTaken, StepTaken, Training, Use
from afterward.tasks.line_map import LineMap

GROWS = 3  # passes in a row, beside the first, that each save more than the last
Loss = tuple[str, Line] | None  # how a loss is told from others; None: made by a line that the patch brought in


@dataclass
class Ledger:
    """One run's record."""

    training: Training
    lines: LineMap
    shared: frozenset[Line] = frozenset()  # statements that make several losses
    passes: dict[int, PassTaken] = field(default_factory=dict)
    steps: dict[int, list[StepTaken]] = field(default_factory=lambda: defaultdict(list))  # by optimizer

    _closed: dict[int, set[int]] = field(default_factory=dict)  # step -> parameters that were cleared after it

    def __post_init__(self) -> None:
        for happening in self.training.happenings:
            if isinstance(happening, PassTaken):
                self.passes[happening.number] = happening
            elif isinstance(happening, StepTaken):
                self.steps[happening.optimizer].append(happening)

    def makers_of_several(self) -> frozenset[Line]:
        """Statements that make a loss for more than one call of `backward()`, and not one number for both of them."""
        callers: dict[Line, set[Line | None]] = defaultdict(set)
        seen: set[int] = set()
        for taken in self.passes.values():
            if taken.numbers and taken.numbers <= seen:
                continue
            seen |= taken.numbers
            for term in taken.terms:
                callers[term].add(taken.at)
        return frozenset(line for line, calls in callers.items() if len(calls) > 1)

    def doubled(self, among: Collection[int]) -> frozenset[Loss]:
        """Losses that count more than once: in the sum of one of these passes, or again, as a whole, by another pass of
        a step."""
        passes = (taken for number, taken in self.passes.items() if number in among)
        own = {("made", line) for taken in passes for line in map(self.lines.back, taken.doubled) if line}
        again = (loss for pair in self._of_one_step() if _is_within(*pair) for loss in self.losses(pair[0]))
        return frozenset({*own, *again})

    def overlapping(self) -> frozenset[Loss]:
        """What two passes have in common, where each has something of its own: a term of two losses."""
        pairs = [(a, b) for a, b in combinations(self.passes.values(), 2) if a.numbers & b.numbers]
        parted = ((a, b) for a, b in pairs if not _is_within(a, b) and not _is_within(b, a))
        return frozenset(("made", line) for a, b in parted for line in {*a.terms} & {*b.terms})

    def repeated(self) -> dict[Line, int]:
        """The statements that made a loss which a failing pass counts again, as another call since the last step did.

        With each, how many numbers it has made for that loss. What that call produced is still there, and its graph is
        of the current values: a pass after a clear, or after parameters were moved, asks for a gradient of its own.
        """
        found: dict[Line, int] = {}
        since: list[PassTaken] = []
        for happening in self.training.happenings:
            if isinstance(happening, StepTaken):
                since = []
            elif isinstance(happening, Cleared):
                since = [one for one in since if not one.reached <= happening.parameters]
            elif isinstance(happening, PassTaken):
                before = (one for one in since if one.at != happening.at and _is_within(happening, one))
                first = next(before, None) if happening.failed and not happening.stale else None
                found.update(Counter(first.terms) if first is not None else {})
                since.append(happening)
        return found

    def cleared_unused(self) -> set[tuple[int, int]]:
        """Passes before a failing one whose gradients were cleared and used by no step, each with the parameter."""
        found: set[tuple[int, int]] = set()
        there: dict[int, set[int]] = defaultdict(set)  # parameter -> the passes that its gradient is of
        for happening in self.training.happenings:
            if isinstance(happening, PassTaken):
                if happening.failed:
                    return found
                for number in happening.reached if happening.accumulates else ():
                    there[number].add(happening.number)
            elif isinstance(happening, Cleared):
                found |= {(source, number) for number in happening.parameters for source in there.pop(number, ())}
            elif isinstance(happening, StepTaken):
                for number in happening.uses:
                    there.pop(number, None)
        return set()

    def _of_one_step(self) -> Iterator[tuple[PassTaken, PassTaken]]:
        """Passes whose gradients one step has used for one parameter, two by two."""
        uses = (use for steps in self.steps.values() for step in steps for use in step.uses.values())
        for sources in {use.sources for use in uses}:
            yield from permutations([self.passes[number] for number in sources if number in self.passes], 2)

    def losses(self, taken: PassTaken) -> frozenset[Loss]:
        """What one pass is called on."""
        caller = self.lines.back(taken.at)
        found = {self._loss(self.lines.back(term), caller) for term in taken.terms}
        return frozenset(found) or frozenset({("at", caller) if caller is not None else None})

    def _loss(self, term: Line | None, caller: Line | None) -> Loss:
        if term is not None and term not in self.shared:
            return "made", term
        return ("at", caller) if caller is not None else None

    def used(self, use: Use) -> frozenset[Loss]:
        """The losses behind a gradient."""
        passes = [self.passes[number] for number in use.sources if number in self.passes]
        return frozenset(loss for taken in passes for loss in self.losses(taken))

    def trained(self) -> set[tuple[int, Loss]]:
        """Which parameter is trained by which loss."""
        uses = (use for steps in self.steps.values() for step in steps for use in step.uses.items())
        return {(number, loss) for number, use in uses for loss in self.used(use)}

    def led(self, step: StepTaken, number: int) -> int:
        """How many numbers of the losses that a step uses for a parameter lead to it."""
        sources = step.uses[number].sources if number in step.uses else ()
        return sum(self.passes[one].led[number] for one in sources if one in self.passes)

    def own(self, optimizer: int) -> frozenset[Loss]:
        """All losses that steps of an optimizer have used."""
        uses = [use for step in self.steps.get(optimizer, ()) for use in step.uses.values()]
        return frozenset(loss for use in uses for loss in self.used(use))

    def holders(self) -> dict[int, int]:
        """Which optimizer a parameter belongs to."""
        return {number: optimizer for optimizer, held in self.training.holds.items() for number in held}

    def sound(self) -> list[StepTaken]:
        """The steps that the fault has no part in: before any pass that goes back into an earlier iteration, and with
        gradients that were cleared before more was added to them."""
        found: list[StepTaken] = []
        last: dict[Line | None, int] = {}
        for happening in self.lawful():
            if isinstance(happening, PassTaken) and happening.looked:
                if 0 <= happening.oldest < last.get(happening.at, 0):
                    break
                last[happening.at] = happening.counter
                served = self.served(happening)
                found = [step for step in found if step.optimizer not in served or not self._added_to(step, happening)]
            elif isinstance(happening, StepTaken):
                found.append(happening)
            elif isinstance(happening, Cleared):
                for step in found:
                    self._closed.setdefault(id(step), set()).update(happening.parameters)
        return found

    def _added_to(self, step: StepTaken, taken: PassTaken) -> bool:
        """Does a pass add to gradients that a step has used, and nothing has cleared since?"""
        left = step.uses.keys() - self._closed.get(id(step), set())
        return taken.accumulates and not taken.in_step and not step.closure and bool(left & taken.reached)

    def served(self, taken: PassTaken) -> frozenset[int]:
        """The optimizers that a pass is for: those that have yet to step with what it leads to. Where each has stepped
        since its gradients were cleared, it may be for any of them."""
        done: set[int] = set()
        for happening in takewhile(lambda one: one is not taken, self.training.happenings):
            if isinstance(happening, StepTaken):
                done.add(happening.optimizer)
            elif isinstance(happening, Cleared):
                done = {one for one in done if not happening.parameters & set(self.training.holds.get(one, ()))}
        holders = self.holders()
        led_to = frozenset(holders[number] for number in taken.reached if number in holders)
        return led_to - done or led_to

    def owners(self) -> dict[Loss, int]:
        """Losses that belong to one optimizer: its gradients alone are cleared before their backward. That is known
        where it is so of every loss, and not of one optimizer's alone; a function that is called for several of them,
        each time with its own, makes losses of each."""
        found: dict[Loss, set[int]] = defaultdict(set)
        for number, optimizer in self.meant_for().items():
            for loss in self.losses(self.passes[number]):
                found[loss].add(optimizer)
        every = set().union(*found.values())
        one_each = {loss: next(iter(each)) for loss, each in found.items() if len(each) == 1}
        return one_each if len(every) > 1 and -1 not in every else {}

    def meant_for_others(self, use: Use, optimizer: int) -> frozenset[Loss]:
        """The losses of a gradient that passes for other optimizers have added, where each pass is for one. A statement
        may make losses of several: one agent after the other calls it with its own optimizers."""
        meant = self.meant_for()
        if -1 in meant.values() or len(set(meant.values())) < 2:
            return frozenset()
        others = (source for source in use.sources if meant.get(source, optimizer) != optimizer)
        return frozenset(loss for source in others for loss in self._of(source))

    def meant_for(self) -> dict[int, int]:
        """For each pass, the one optimizer whose gradients were cleared before it; -1: none, several."""
        found: dict[int, int] = {}
        cleared: set[int] = set()
        passed = False  # since the last clear: what is added next goes with what was added before
        by_held = {frozenset(held): optimizer for optimizer, held in self.training.holds.items()}
        for happening in self.training.happenings:
            if isinstance(happening, StepTaken) or (isinstance(happening, Cleared) and passed):
                cleared, passed = set(), False
            if isinstance(happening, Cleared) and happening.parameters in by_held:
                cleared.add(by_held[happening.parameters])
            elif isinstance(happening, PassTaken):
                found[happening.number] = next(iter(cleared)) if len(cleared) == 1 else -1
                passed = True
        return found

    def lawful(self) -> Iterator[Happening]:
        """What happened before the first step that the law forbids; one without gradients may have taken the place of
        another optimizer's."""
        several = len(self.training.holds) > 1
        found = self.unlawful()
        wrong = {id(step) for step in found if several or any(any(use.numbers) for use in step.uses.values())}
        return takewhile(lambda happening: id(happening) not in wrong, self.training.happenings)

    def unlawful(self) -> list[StepTaken]:
        """Steps that use a loss of another optimizer, or nothing that a step before them has not used."""
        owners = self.owners()
        found = []
        for optimizer, steps in self.steps.items():
            seen: set[int] = set()
            for step in steps:
                sources = {source for use in step.uses.values() for source in use.sources}
                losses = {loss for source in sources for loss in self._of(source)}
                stale = sources <= seen and not step.closure
                if stale or any(owners.get(loss, optimizer) != optimizer for loss in losses):
                    found.append(step)
                seen |= sources
        return found

    def growing(self) -> dict[Line, int]:
        """Lines whose passes go back into earlier iterations, each with more saved bytes than the last; the most."""
        calls: dict[Line, list[PassTaken]] = defaultdict(list)
        for taken in self.passes.values():
            line = self.lines.back(taken.at)
            if line is not None and taken.looked:
                calls[line].append(taken)
        found: dict[Line, int] = {}
        for line, passes in calls.items():
            pairs = list(pairwise(passes))
            if len(pairs) >= GROWS and all(a.size < b.size and 0 <= b.oldest < a.counter for a, b in pairs):
                found[line] = passes[-1].size
        return found

    # The law

    def used_twice(self) -> set[tuple[int, Loss]]:
        """Gradients of a loss that more than one step of an optimizer has used."""
        found: set[tuple[int, Loss]] = set()
        for optimizer, steps in self.steps.items():
            seen: set[tuple[int, int]] = set()
            for step in steps:
                if step.closure:
                    continue
                uses = {(number, source) for number, use in step.uses.items() for source in use.sources}
                for _, source in uses & seen:
                    found |= {(optimizer, loss) for loss in self._of(source)}
                seen |= uses
        return found

    def counted_twice(self) -> set[tuple[int, Loss]]:
        """Losses that a step uses more than once: by themselves, say, and within a sum."""
        found: set[tuple[int, Loss]] = set()
        for step in (step for steps in self.steps.values() for step in steps):
            for sources in {use.sources for use in step.uses.values()}:
                passes = [self.passes[number] for number in sources if number in self.passes]
                for one, other in permutations(passes, 2):
                    found |= {(step.optimizer, loss) for loss in self._in_common(one, other)}
        return found

    def _in_common(self, one: PassTaken, other: PassTaken) -> frozenset[Loss]:
        """The losses of a pass that another one counts, too."""
        alike = bool(one.numbers) and (one.value, one.terms) == (other.value, other.terms)
        if alike or _is_within(one, other):
            return self.losses(one)
        return self.losses(one) & self.losses(other) if one.numbers & other.numbers else frozenset()

    def foreign(self) -> set[tuple[int, Loss]]:
        """Losses in a step that another optimizer's step came after, before this optimizer's own loss was there."""
        found: set[tuple[int, Loss]] = set()
        groups = self._groups()
        users: dict[int, set[int]] = defaultdict(set)  # of each pass, the optimizers that have stepped with it so far
        for step in (each for each in self.training.happenings if isinstance(each, StepTaken)):
            optimizer = step.optimizer
            sources = {source for use in step.uses.values() for source in use.sources}
            if not all(users[source] - {optimizer} for source in sources):  # else it has no loss of its own
                latest = max((groups.get(source, 0) for source in sources), default=0)
                own = {loss for source in sources if groups.get(source) == latest for loss in self._of(source)}
                early = {loss for source in sources if groups.get(source, 0) < latest for loss in self._of(source)}
                found |= {(optimizer, loss) for loss in early - own}
            for source in sources:
                users[source].add(optimizer)
        return found

    def wasted(self) -> Counter[tuple[int, Loss]]:
        """Gradients of an optimizer's own losses that were cleared before a step used them."""
        found: Counter[tuple[int, Loss]] = Counter()
        own = {optimizer: self.own(optimizer) for optimizer in self.steps}
        holders = self.holders()
        pending: dict[int, set[int]] = defaultdict(set)
        for happening in self.training.happenings:
            if isinstance(happening, PassTaken) and happening.accumulates and not happening.in_step:
                for number in happening.reached:
                    pending[number].add(happening.number)
            elif isinstance(happening, StepTaken):
                for number in self.training.holds.get(happening.optimizer, ()):
                    pending.pop(number, None)
            elif isinstance(happening, Cleared):
                lost = {
                    (holders[number], loss)
                    for number in happening.parameters & pending.keys()
                    if number in holders
                    for source in pending[number]
                    for loss in self._of(source) & own.get(holders[number], frozenset())
                }
                found.update(lost)
                for number in happening.parameters:
                    pending.pop(number, None)
        return found

    def edited_late(self) -> frozenset[int]:
        """Parameters whose gradient was changed after a step had used it, and then cleared: to no effect."""
        used: set[int] = set()
        late: set[int] = set()
        found: set[int] = set()
        for happening in self.training.happenings:
            if isinstance(happening, StepTaken):
                used |= happening.uses.keys()
                late -= happening.uses.keys()
            elif isinstance(happening, Edited):
                late |= happening.parameters & used
            elif isinstance(happening, PassTaken):
                used -= happening.reached if happening.accumulates else frozenset()
            else:
                found |= late & happening.parameters
                used -= happening.parameters
                late -= happening.parameters
        return frozenset(found)

    def without_gradient(self) -> Counter[int]:
        """Steps of each optimizer that found no gradient at all, or zeros that no pass has computed."""
        return Counter(
            optimizer
            for optimizer, steps in self.steps.items()
            for step in steps
            if not any(any(use.numbers) or use.sources for use in step.uses.values())
        )

    def fate(self, taken: PassTaken, number: int) -> str:
        """What comes next for a parameter after a pass: "used", "cleared", or "" (nothing more was seen)."""
        after = False
        for happening in self.training.happenings:
            if happening is taken:
                after = True
            elif after and isinstance(happening, Cleared) and number in happening.parameters:
                return "cleared"
            elif after and isinstance(happening, StepTaken) and number in self._held_by(happening):
                return "used"
        return ""

    def _held_by(self, step: StepTaken) -> tuple[int, ...]:
        return self.training.holds.get(step.optimizer, ())

    def _of(self, source: int) -> frozenset[Loss]:
        taken = self.passes.get(source)
        return self.losses(taken) if taken is not None else frozenset()

    def _groups(self) -> dict[int, int]:
        """Passes that no step stands between are of one group."""
        found: dict[int, int] = {}
        group, stepped = 0, False
        for happening in self.training.happenings:
            if isinstance(happening, StepTaken):
                stepped = True
            elif isinstance(happening, PassTaken):
                group, stepped = group + stepped, False
                found[happening.number] = group
        return found

    def failing(self) -> Iterator[PassTaken]:
        return (taken for taken in self.passes.values() if taken.failed)


def _is_within(one: PassTaken, other: PassTaken) -> bool:
    """Does another pass count all of this one?"""
    return bool(one.numbers) and one.numbers <= other.numbers
