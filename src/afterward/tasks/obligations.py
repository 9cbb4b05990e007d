"""What a patch changes in the training, other than to cure its fault: the obligations of a proof that it fails.

Everything before the fault is to be as it was; after it, each optimizer's step is to use the gradients of the losses
that it used, all of them and no others; no step goes and none is added; every loss still reaches what it reached.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from afterward.model import facts
from afterward.model.facts import Note
from afterward.model.training import Cleared, Line, PassTaken, StepTaken, Training, Use
from afterward.tasks.ledger import Ledger, Loss
from afterward.tasks.line_map import LineMap
from afterward.tasks.training_names import Names
from afterward.tasks.trial import Trial

TOLERANCE = 1e-4  # of a gradient's largest entry: the order of additions may differ


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
        self.sound: dict[int, list[StepTaken]] = {}
        for step in self.was.sound():
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
        for key, was in _values(self.was).items():
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
            done = self.sound[optimizer][-1].nth if optimizer in self.sound else 0
            for step in steps:
                known = patterns.get((optimizer, self.now.lines.back(step.at)), {})
                if step.nth > done and not step.closure:
                    for number, ways in known.items():
                        if number not in step.uses or self._callers(self.now, step.uses[number]) not in calls:
                            self._held_against(ways, step, number, more, less)
        yield from self.names.told("also_trained", more)
        yield from self.names.told("not_trained", less)

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
        trained = {
            (number, loss)
            for steps in self.now.steps.values()
            for step in steps
            for number, use in step.uses.items()
            for loss in self.now.used(use)
        }
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
                if self._dropped(taken):
                    less.setdefault(loss, []).extend(n for n in taken.reached if n in holders)
        yield from self.names.told("not_trained", {loss: numbers for loss, numbers in less.items() if numbers})

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

    def _expected(self) -> set[tuple[int, Loss]]:
        found: set[tuple[int, Loss]] = set()
        for failed in self.was.failing():
            earlier = [
                taken
                for taken in self.was.passes.values()
                if taken.number < failed.number and taken.at == failed.at and taken.looked
            ]
            reached = failed.reached & earlier[-1].reached if earlier else failed.reached
            found |= {(number, loss) for number in reached for loss in self.was.losses(failed)}
        return found

    def strangers(self) -> Iterator[Note]:
        """A loss that belongs to another optimizer comes into a step."""
        owners = self.was.owners()
        more: dict[Loss, list[int]] = {}
        for optimizer, steps in self.now.steps.items():
            for step in steps:
                for number, use in step.uses.items():
                    for loss in self.now.used(use):
                        if owners.get(loss, optimizer) != optimizer:
                            more.setdefault(loss, []).append(number)
        yield from self.names.told("also_trained", more)

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

    # The law, and the source

    def law(self, curing: bool) -> Iterator[Note]:
        """What the law forbids: new with this patch, or, if the fault was of this kind, still there."""
        known = frozenset() if curing else self.was.used_twice()
        for optimizer, loss in sorted(self.now.used_twice() - known, key=str):
            yield Note("used_twice", (self.names.optimizer(optimizer), *self.names.loss(loss)))
            return
        foreign = self.now.foreign() - (frozenset() if curing else self.was.foreign())
        for optimizer, loss in sorted(foreign, key=str):
            yield Note("also_used", (self.names.optimizer(optimizer), *self.names.loss(loss)))
            return
        wasted = self.now.wasted()
        for (optimizer, loss), count in sorted(wasted.items(), key=str):
            if count > 1 and (curing or count > self.was.wasted()[optimizer, loss]):
                yield Note("cleared_unused", (self.names.optimizer(optimizer), *self.names.loss(loss)))
                return
        before = self.was.without_gradient()
        for optimizer, count in self.now.without_gradient().items():
            if count > (0 if curing else before[optimizer]):
                yield Note("no_gradient", (self.names.optimizer(optimizer), facts.count("count", count, "step")))
                return

    def counts(self) -> Iterator[Note]:
        """Both ran to their end: as many steps as there were."""
        for optimizer, count in self.first.training.taken.items():
            now = self.trial.training.taken.get(optimizer, 0)
            if now < count:
                yield self.names.gone(optimizer, count - now, count)
            elif now > count:
                yield Note(
                    "updates_added", (self.names.optimizer(optimizer), facts.count("count", now - count, "update"))
                )

    def same_pairs(self) -> Iterator[Note]:
        """What a loss has trained, it trains still; what the law forbids is not counted."""
        forbidden = self.was.used_twice() | self.was.foreign() | self.was.counted_twice()
        less: dict[Loss, list[int]] = {}
        now = {
            (n, loss)
            for steps in self.now.steps.values()
            for s in steps
            for n, u in s.uses.items()
            for loss in self.now.used(u)
        }
        for optimizer, steps in self.was.steps.items():
            for step in steps:
                for number, use in step.uses.items():
                    for loss in self.was.used(use):
                        if (number, loss) in now or (number, None) in now or (optimizer, loss) in forbidden:
                            continue
                        if number not in less.setdefault(loss, []):
                            less[loss].append(number)
        yield from self.names.told("not_trained", {loss: numbers for loss, numbers in less.items() if numbers})

    def statements(self) -> Iterator[Note]:
        """No `step()` was taken out of the source, or out of its loop."""
        names = {*self.first.training.optimizers.values(), *self.trial.training.optimizers.values()}
        for file, text in self.first.sources.items():
            after = self.trial.sources.get(file, text)
            if after == text:
                continue
            old, new = _step_calls(text), _step_calls(after)
            sound = {id(step) for steps in self.sound.values() for step in steps}
            shaky = {s.at.line for each in self.was.steps.values() for s in each if id(s) not in sound and s.at}
            lines = self.now.lines
            old = {n: call for n, call in old.items() if n not in shaky or n not in lines.gone(file)}
            for name in sorted({receiver for receiver, _ in old.values()}):
                if _last(name) not in {_last(known) for known in names}:
                    continue
                was = sorted(depth for receiver, depth in old.values() if receiver == name)
                now = sorted(depth for receiver, depth in new.values() if receiver == name)
                if len(now) < len(was) or sum(now[-len(was) :]) < sum(was):
                    yield Note("updates_rarer", (facts.names("subject", (name,)),))


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


def same(one: Use | None, other: Use | None) -> bool:
    """One gradient, up to the order of additions."""
    if one is None or other is None:
        return one is other or not any((one or other).numbers)  # type: ignore[union-attr]
    return one.digest == other.digest or difference(one, other) <= TOLERANCE


def difference(one: Use | None, other: Use | None) -> float:
    """How far two gradients are apart, as a share of the larger one's largest number."""
    ours, theirs = (one.numbers if one else ()), (other.numbers if other else ())
    scale = max((abs(x) for x in (*ours, *theirs) if math.isfinite(x)), default=0.0)
    if len(ours) != len(theirs) or not scale:
        return 0.0 if list(ours) == list(theirs) else 1.0
    apart = [
        abs(a - b) if math.isfinite(a) and math.isfinite(b) else scale * (str(a) != str(b))
        for a, b in zip(ours, theirs, strict=True)
    ]
    return max(apart) / scale


def first_difference(one: Training, other: Training) -> int | None:
    """The first step of any optimizer that gets other gradients; 0: none, None: no step to compare."""
    ours = [h for h in one.happenings if isinstance(h, StepTaken)]
    theirs = [h for h in other.happenings if isinstance(h, StepTaken)]
    pairs = list(zip(ours, theirs, strict=False))
    for number, (a, b) in enumerate(pairs, 1):
        keys = a.uses.keys() | b.uses.keys()
        if a.optimizer != b.optimizer or not all(same(a.uses.get(key), b.uses.get(key)) for key in keys):
            return number
    return 0 if pairs else None


def _last(name: str) -> str:
    return name.split("[")[0].split(".")[-1]


def _step_calls(text: str) -> dict[int, tuple[str, int]]:
    """Lines that call `.step(`, with what it is called on and how many loops stand around it."""
    found: dict[int, tuple[str, int]] = {}

    def visit(node: ast.AST, depth: int) -> None:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "step":
            found[node.lineno] = (ast.unparse(node.func.value), depth)
        deeper = depth + isinstance(node, (ast.For, ast.While, ast.AsyncFor))
        for child in ast.iter_child_nodes(node):
            visit(child, deeper)

    try:
        visit(ast.parse(text), 0)
    except (SyntaxError, ValueError, RecursionError):
        return {}
    return found
