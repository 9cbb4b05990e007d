"""What a patch changes in the training, other than to cure its fault: the obligations of a proof that it fails.

Everything before the fault is to be as it was; after it, each optimizer's step is to use the gradients of the losses
that it used, all of them and no others; no step goes and none is added; every loss still reaches what it reached.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from afterward.model import facts
from afterward.model.facts import Note
from afterward.model.training import Cleared, Line, PassTaken, StepTaken, Use
from afterward.tasks.ledger import Ledger, Loss
from afterward.tasks.line_map import LineMap, text_of
from afterward.tasks.same_gradients import difference, same
from afterward.tasks.training_names import Names
from afterward.tasks.trial import Trial

SCALED = 0.01  # a loss that counts so much more or less is scaled


@dataclass
class Comparison:
    """A trial next to the run that it is held against, in the terms of the program as it was."""

    first: Trial
    trial: Trial
    cuts_first: bool = False  # does the patch cut what was built before the first step, which that step has used?
    was: Ledger = field(init=False)
    now: Ledger = field(init=False)

    def __post_init__(self) -> None:
        same = LineMap(self.first.sources, self.first.sources)
        self.was = Ledger(self.first.training, same)
        self.was.shared = self.was.makers_of_several()
        lines = LineMap(self.first.sources, self.trial.sources)
        self.now = Ledger(self.trial.training, lines, self.was.shared)
        self.names = Names(self.was, self.first.sources, self.trial.training)
        self.unlawful = {id(step) for step in self.was.unlawful()}  # no patch has to keep them
        self.sound: dict[int, list[StepTaken]] = {}
        for step in self.was.sound():
            if id(step) not in self.unlawful:
                self.sound.setdefault(step.optimizer, []).append(step)

    # Before the fault

    def updates(self) -> Iterator[Note]:
        """The steps that were taken before the fault: all are still there, with the gradients that they used."""
        for optimizer, steps in self.sound.items():
            now = {step.nth: step for step in self.now.steps.get(optimizer, ())}
            last = max(now, default=0)
            missing = [step for step in steps if step.nth not in now and step.nth > last]
            if missing:
                yield self.names.gone(optimizer, len(missing), len(steps))
            for step in steps:
                if step.nth in now:
                    yield from self._step(self.was, step, self.now, now[step.nth])

    def _step(self, was: Ledger, before: StepTaken, now: Ledger, after: StepTaken) -> Iterator[Note]:
        """Two steps that are to be one: which parameters get another gradient, and from which loss it is."""
        differs = [n for n in before.uses.keys() | after.uses.keys() if not same(before.uses.get(n), after.uses.get(n))]
        more: dict[Loss, list[int]] = {}
        less: dict[Loss, list[int]] = {}
        other: list[int] = []
        for number in sorted(differs):
            old, new = before.uses.get(number), after.uses.get(number)
            had = was.used(old) if old is not None else frozenset()
            has = now.used(new) if new is not None else frozenset()
            for loss in has - had if None not in had else ():
                more.setdefault(loss, []).append(number)
            for loss in had - has if None not in has else ():
                less.setdefault(loss, []).append(number)
            if has == had or None in has | had:
                other.append(number)
        yield from self.names.told("also_trained", more)
        yield from self.names.told("not_trained", less)
        comparable = before.random == after.random  # else the numbers differ by what was drawn
        if other and not more and not less and not self.cuts_first and comparable:
            off = max(difference(before.uses.get(n), after.uses.get(n)) for n in other)
            yield Note(
                "other_gradient", (self.names.subject(other), facts.count("step", after.nth), facts.share("off", off))
            )

    def values(self) -> Iterator[Note]:
        """The losses before the fault have the values that they had."""
        now = _values(self.now)
        lawful = {id(happening) for happening in self.was.lawful()}
        for key, was in _values(self.was).items():
            if id(was) not in lawful:
                return
            then = now.get(key, was)
            if not was.failed and then.value != was.value and then.random == was.random:
                yield Note("other_loss", (*self.names.loss(("at", key[0])), facts.count("step", key[1])))
                return

    # After it

    def later_steps(self) -> Iterator[Note]:
        """An optimizer that has stepped before goes on with the losses that it used, all of them and no others."""
        patterns: dict[tuple[int, Line | None], dict[int, list[frozenset[Loss]]]] = {}
        calls = {self._callers(self.was, use) for each in self.sound.values() for s in each for use in s.uses.values()}
        for optimizer, steps in self.sound.items():
            for step in steps:
                known = patterns.setdefault((optimizer, step.at), {})
                for number, use in step.uses.items():
                    known.setdefault(number, []).append(self.was.used(use))
        more: dict[Loss, list[int]] = {}
        less: dict[Loss, list[int]] = {}
        for optimizer, steps in self.now.steps.items():
            done = self._done(optimizer)
            for step in steps:
                known = patterns.get((optimizer, self.now.lines.back(step.at)), {})
                if step.nth > done and not step.closure:
                    for number, ways in known.items():
                        if number not in step.uses or self._callers(self.now, step.uses[number]) not in calls:
                            self._held_against(ways, step, number, more, less)
        yield from self.names.told("also_trained", more)
        yield from self.names.told(
            "not_trained", {loss: rest for loss, n in less.items() if (rest := self._lost(loss, n))}
        )

    def _lost(self, loss: Loss, numbers: list[int]) -> list[int]:
        """Without those that only an earlier step's graph led to, and that later steps of the trial train again."""
        old = {number for failed, _ in self._failing() for number in failed.reached - failed.fresh}
        uses = [(s, s.uses[n], n) for each in self.now.steps.values() for s in each for n in old & s.uses.keys()]
        again = {n for s, use, n in uses if s.nth > self._done(s.optimizer) and loss in self.now.used(use)}
        return [number for number in numbers if number not in again]

    def _done(self, optimizer: int) -> int:
        """The last step of an optimizer before the fault."""
        return self.sound[optimizer][-1].nth if optimizer in self.sound else 0

    def _callers(self, ledger: Ledger, use: Use) -> frozenset[Line | None]:
        """The lines that called backward for a gradient."""
        passes = (ledger.passes.get(number) for number in use.sources)
        return frozenset(ledger.lines.back(taken.at) for taken in passes if taken is not None)

    def _held_against(
        self,
        ways: list[frozenset[Loss]],
        step: StepTaken,
        number: int,
        more: dict[Loss, list[int]],
        less: dict[Loss, list[int]],
    ) -> None:
        """What a step uses for a parameter, next to the ways in which steps on this line have done it before."""
        use = step.uses.get(number)
        has = self.now.used(use) if use is not None else frozenset()
        if None in has:
            return
        for loss in has - frozenset().union(*ways):
            more.setdefault(loss, []).append(number)
        if not any(way <= has for way in ways):
            for loss in min((way - has for way in ways), key=len):
                less.setdefault(loss, []).append(number)

    def reach(self) -> Iterator[Note]:
        """What the failing pass was to reach, and what was waiting for its step, is trained by that loss."""
        trained = self.now.trained()
        holders, owners = self.now.holders(), self.was.owners()
        less: dict[Loss, list[int]] = {}
        for number, loss in sorted(self._expected(), key=str):
            if number not in holders or (number, loss) in trained or (number, None) in trained:
                continue
            if owners.get(loss, holders[number]) != holders[number]:
                continue  # it is another optimizer's loss
            calls = [taken for taken in self.now.passes.values() if loss in self.now.losses(taken)]
            if any(self.now.fate(taken, number) == "used" for taken in calls):
                less.setdefault(loss, []).append(number)
        for taken in self._waiting():
            for loss in self.was.losses(taken):
                lost = taken.reached if self._dropped(taken) else self._cut_off(taken)
                less.setdefault(loss, []).extend(n for n in sorted(lost) if n in holders)
        yield from self.names.told("not_trained", {loss: numbers for loss, numbers in less.items() if numbers})

    def thawed(self) -> Iterator[Note]:
        """What an optimizer holds and its last step found no gradient for, frozen as it was, is trained by another one
        now: whether the first was to train it, too, is not in the record."""
        for optimizer, steps in self.was.steps.items():
            others = (each for other, each in self.now.steps.items() if other != optimizer)
            trained = {number for each in others for step in each for number in step.uses}
            idle = trained.intersection(self.was.training.holds.get(optimizer, ())) - steps[-1].uses.keys()
            idle -= {number for step in self.now.steps[optimizer][-1:] for number in step.uses}
            yield from self.names.told("not_trained", {loss: sorted(idle) for loss in self.was.own(optimizer) if idle})

    def _waiting(self) -> list[PassTaken]:
        """The failing pass, and those before it whose gradients no step has used and nothing has cleared."""
        found: dict[int, list[PassTaken]] = {}
        for happening in self.was.training.happenings:
            if isinstance(happening, PassTaken) and happening.accumulates:
                for number in happening.reached:
                    found.setdefault(number, []).append(happening)
            elif isinstance(happening, Cleared):
                for number in happening.parameters:
                    found.pop(number, None)
            elif isinstance(happening, StepTaken):
                for number in happening.uses:
                    found.pop(number, None)
        return list({taken.number: taken for each in found.values() for taken in each}.values())

    def _dropped(self, lost: PassTaken) -> bool:
        """Is there no pass for a loss any more, though nothing else had counted it?"""
        if any(self.was.losses(lost) & self.now.losses(taken) for taken in self.now.passes.values()):
            return False
        others = (taken.numbers for taken in self.was.passes.values() if taken is not lost)
        terms = {self.now.lines.back(term) for taken in self.now.passes.values() for term in taken.terms}
        counted = bool(lost.numbers) and lost.numbers <= frozenset().union(*others)
        return not counted and None not in terms and not terms & set(lost.terms)

    def _cut_off(self, waiting: PassTaken) -> frozenset[int]:
        """What a loss no longer reaches that had all it reached for its one optimizer."""
        holders = self.now.holders()
        now = [taken for taken in self.now.passes.values() if taken.looked and taken.value == waiting.value]
        if waiting.failed or not now or len({holders.get(number) for number in waiting.reached}) != 1:
            return frozenset()
        return waiting.reached - now[0].reached

    def terms(self) -> Iterator[Note]:
        """What the failing loss is the sum of has its effect still: a cut has not made a number of it."""
        now = {self.now.lines.back(term) for taken in self.now.passes.values() for term in taken.terms}
        for failed, before in self._failing():
            lost = {*failed.terms} & ({*before.terms} if before is not None else {*failed.terms}) - now
            yield from self.names.told("not_trained", {("made", line): failed.reached for line in lost})

    def scaled(self) -> Iterator[Note]:
        """Where the failing loss counts a number that the pass before it has counted, a new one beside it counts as the
        first did: what is left of an average over all steps is a part of the new loss."""
        for failed, before in self._failing():
            if before is None or not failed.numbers & before.numbers:
                continue
            passes = [one for one in self.now.passes.values() if self.now.lines.back(one.at) == failed.at]
            yield from self._out_of_proportion(failed, passes)
            plain = [one for one in passes if len(one.terms) == len(one.weights)]  # one number by each statement
            for place, one in enumerate(plain[1:], 2):
                pairs = [(first, one.weights[line]) for line, first in plain[0].weights.items() if line in one.weights]
                off = max((abs(now / first - 1) for first, now in pairs if first and now == now), default=0.0)
                if off > SCALED:
                    told = self.names.subject(sorted(one.reached)), facts.count("step", place), facts.share("off", off)
                    yield Note("other_gradient", told)
                    return

    def _out_of_proportion(self, failed: PassTaken, now: list[PassTaken]) -> Iterator[Note]:
        """The new numbers of the failing loss count as they did beside each other: each has kept its own factor."""
        nth = sum(one.at == failed.at and one.number < failed.number for one in self.was.passes.values())
        for one in now[nth : nth + 1]:
            pairs = list(zip(failed.shares, one.shares, strict=False))
            if one.random != failed.random or len(failed.shares) != len(one.shares) or not all(map(all, pairs)):
                continue
            factors = [after / before for before, after in pairs]
            off = max((abs(each / factors[0] - 1) for each in factors), default=0.0)
            if off > SCALED:
                told = self.names.subject(sorted(one.reached)), facts.count("step", nth + 1), facts.share("off", off)
                yield Note("other_gradient", told)

    def _expected(self) -> set[tuple[int, Loss]]:
        found: set[tuple[int, Loss]] = set()
        for failed, before in self._failing():
            holders, served = self.was.holders(), self.was.served(failed)
            reached = failed.reached & before.reached if before is not None else failed.reached
            reached = frozenset(number for number in reached if holders.get(number) in served)
            found |= {(number, loss) for number in reached for loss in self.was.losses(failed)}
        return found

    def _failing(self) -> Iterator[tuple[PassTaken, PassTaken | None]]:
        """The passes that fail, each with the one before it on the same line."""
        for failed in (taken for taken in self.was.failing() if taken.accumulates):
            earlier = (taken for taken in self.was.passes.values() if taken.at == failed.at and taken.looked)
            yield failed, max((t for t in earlier if t.number < failed.number), key=lambda t: t.number, default=None)

    def cuts_an_input(self) -> bool:
        """Is the failing loss the same number as before, and has it lost parameters of other optimizers alone?"""
        for failed in self.was.failing():
            now = [taken for taken in self.now.passes.values() if taken.value == failed.value]
            lost = failed.reached - now[0].reached if now else frozenset()
            holders = self.now.holders()
            own = {holders[number] for taken in now[:1] for number in taken.reached if number in holders}
            return bool(lost and own) and all(holders.get(number, -1) not in own for number in lost)
        return False

    def strangers(self) -> Iterator[Note]:
        """A loss that belongs to another optimizer comes into a step.

        Whose a loss is that the fault has kept from being computed, the clears of the trial say.
        """
        seen = {loss for taken in self.was.passes.values() for loss in self.was.losses(taken)}
        unseen = {loss: owner for loss, owner in self.now.owners().items() if loss not in seen}
        owners, meant = {**self.was.owners(), **unseen}, self.now.meant_for()
        more: dict[Loss, list[int]] = {}
        for optimizer, steps in self.now.steps.items():
            for step in steps:
                for number, use in step.uses.items():
                    if {meant.get(source) for source in use.sources} == {optimizer}:
                        continue  # one statement makes losses of several optimizers, one after the other
                    others = self.now.meant_for_others(use, optimizer)
                    for loss in self.now.used(use):
                        if owners.get(loss, optimizer) != optimizer or loss in others:
                            more.setdefault(loss, []).append(number)
        yield from self.names.told("also_trained", more)

    def stays_cleared(self) -> Iterator[Note]:
        """What the program produced and cleared before the fault, unused, is used by no step."""
        gone = self.was.cleared_unused()
        more: dict[Loss, list[int]] = {}
        for step in (step for steps in self.now.steps.values() for step in steps):
            for number, use in step.uses.items():
                for taken in (self.now.passes[source] for source in use.sources if (source, number) in gone):
                    if self.now.lines.back(taken.at) == self.was.passes[taken.number].at:
                        for loss in self.now.losses(taken):
                            more.setdefault(loss, []).append(number)
        yield from self.names.told("also_used", more)

    def counted_once(self) -> Iterator[Note]:
        """No loss enters a sum twice that the program itself does not count so."""
        known = {("made", term) for taken in self.was.passes.values() for term in taken.terms}
        uses = (use for step in self._first_after() for use in step.uses.values())
        among = {source for use in uses for source in use.sources} or self.now.passes
        doubled = self.now.doubled(among) & known - self.was.doubled(self.was.passes) - self.was.overlapping()
        for loss in sorted(doubled | self._made_twice(), key=str):
            yield Note("counted_twice", self.names.loss(loss))

    def _made_twice(self) -> set[Loss]:
        """A loss had its `backward()` twice: a step that uses it and a copy, computed again, counts it twice, too."""
        again = {line: count for line, count in self.was.repeated().items() if line.file in self.first.sources}
        found: set[Loss] = set()
        for step in self._first_after() if again else ():
            for sources in {use.sources for use in step.uses.values()}:
                taken = [self.now.passes[number] for number in sources if number in self.now.passes]
                alike = self._made_alike(taken, again)
                found |= {("made", line) for line, count in again.items() if alike[line] > count}
        return found

    def _first_after(self) -> Iterator[StepTaken]:
        """The first step of each optimizer after the fault. In later ones, of other data, numbers may be alike."""
        for optimizer, steps in self.now.steps.items():
            yield from [step for step in steps if step.nth > self._done(optimizer)][:1]

    def _made_alike(self, taken: list[PassTaken], lines: Iterable[Line]) -> Counter[Line]:
        """How many terms like those of these lines there are. One statement that calls `backward()` several times adds
        up what is made again each time: micro-batches."""
        calls: dict[Line | None, Counter[Line]] = {}
        for one in taken:
            texts = [text_of(self.trial.sources, term) for term in one.terms]
            mine = Counter({line: texts.count(text_of(self.first.sources, line)) for line in lines})
            calls[one.at] = calls.get(one.at, Counter()) | mine
        return sum(calls.values(), Counter())

    def current(self) -> Iterator[Note]:
        """No pass goes through values of parameters that have been stepped since, where none did that ended well."""
        known = {number for taken in self.was.passes.values() if not taken.failed for number in taken.stale}
        stale = {number for taken in self.now.passes.values() for number in taken.stale} - known
        if stale:
            yield Note("stale", (self.names.subject(sorted(stale)),))

    def memory(self) -> Iterator[Note]:
        """No pass goes further back than the one before it, and saves more, where none did."""
        before = self.was.growing()
        sizes = [size for line, size in self.now.growing().items() if line not in before]
        if sizes:
            yield Note("memory_grows", (facts.size("size", max(sizes)),))

    def against(self, reference: Trial) -> Iterator[Note]:
        """The first step of each optimizer after the fault, next to that of a run that is known to be right."""
        lines = LineMap(self.first.sources, reference.sources)
        right = Ledger(reference.training, lines, self.was.shared)
        for optimizer, steps in right.steps.items():
            done = len(self.was.steps.get(optimizer, ()))
            before = next((step for step in steps if step.nth == done + 1), None)
            after = next((step for step in self.now.steps.get(optimizer, ()) if step.nth == done + 1), None)
            if before is not None and after is not None:
                yield from self._step(right, before, self.now, after)
            elif before is not None and len(self.now.passes) >= len(right.passes):
                yield self.names.gone(optimizer, 1, 1)


def _values(ledger: Ledger) -> dict[tuple[Line, int], PassTaken]:
    """The passes by the line that calls them and how often it has; lines that the patch has changed are left out."""
    found: dict[tuple[Line, int], PassTaken] = {}
    times: dict[Line, int] = {}
    for taken in ledger.passes.values():
        line = ledger.lines.unchanged(taken.at)
        if line is not None:
            times[line] = times.get(line, 0) + 1
            found[line, times[line]] = taken
    return found
