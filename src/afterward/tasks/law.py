"""What the law says of a trial: which gradients each step uses, and that no step went or was added."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model import facts
from afterward.model.diagnosis import Diagnosis
from afterward.model.facts import Note
from afterward.model.names import stem
from afterward.model.training import Line, PassTaken, StepTaken
from afterward.tasks.ledger import Loss
from afterward.tasks.obligations import SCALED, Comparison
from afterward.tasks.same_gradients import difference, same
from afterward.tasks.step_calls import step_calls


def forbidden(compared: Comparison, curing: bool) -> Iterator[Note]:
    """What the law forbids: new with this patch, or, if the fault was of this kind, still there."""
    known = frozenset() if curing else compared.was.used_twice()
    for optimizer, loss in sorted(compared.now.used_twice() - known, key=str):
        yield Note("used_twice", (compared.names.optimizer(optimizer), *compared.names.loss(loss)))
        return
    foreign = compared.now.foreign() - (frozenset() if curing else compared.was.foreign())
    for optimizer, loss in sorted(foreign, key=str):
        yield Note("also_used", (compared.names.optimizer(optimizer), *compared.names.loss(loss)))
        return
    for optimizer, loss in _beside(compared):
        yield Note("also_used", (compared.names.optimizer(optimizer), *compared.names.loss(loss)))
        return
    late = compared.now.edited_late() - (frozenset() if curing else compared.was.edited_late())
    if late:
        yield Note("edited_late", (compared.names.subject(late),))
        return
    wasted = compared.now.wasted()
    for (optimizer, loss), count in sorted(wasted.items(), key=str):
        most = len(compared.now.steps[optimizer]) if curing else compared.was.wasted()[optimizer, loss]
        if count > max(1, most):  # some may be left unused on purpose: an overflow, an attempt that failed
            yield Note("cleared_unused", (compared.names.optimizer(optimizer), *compared.names.loss(loss)))
            return
    before = compared.was.without_gradient()
    for optimizer, count in compared.now.without_gradient().items():
        if count > (0 if curing else before[optimizer]):
            yield Note("no_gradient", (compared.names.optimizer(optimizer), facts.count("count", count, "step")))
            return


def without_gradient(compared: Comparison) -> Iterator[Note]:
    """An optimizer whose steps found no gradient: each of them is to find one."""
    before, now = compared.was.without_gradient(), compared.now.without_gradient()
    for optimizer in (optimizer for optimizer, count in before.items() if count and now[optimizer]):
        yield Note("no_gradient", (compared.names.optimizer(optimizer), facts.count("count", now[optimizer], "step")))


def kept_gradients(compared: Comparison) -> Iterator[Note]:
    """What had a gradient while others had none keeps it, but for losses that had not led to it before."""
    before = {optimizer: steps[0] for optimizer, steps in compared.was.steps.items()}
    for now in _untouched(compared):
        first = before.get(now.optimizer)
        if first is None or now.nth != first.nth or now.random != first.random:
            continue
        pairs = {n: (use, now.uses.get(n)) for n, use in first.uses.items()}
        other = [n for n, (a, b) in pairs.items() if b is None or not (a.edited or b.edited or same(a, b))]
        other = [n for n in other if compared.now.led(now, n) <= compared.was.led(first, n)]
        if other:
            off = max(difference(*pairs[n]) for n in other)
            told = compared.names.subject(other), facts.count("step", now.nth), facts.share("off", off)
            yield Note("other_gradient", told)


def _untouched(compared: Comparison) -> Iterator[StepTaken]:
    """The steps up to the first that changes what had no gradient: what comes after it is computed with that. One that
    computes its gradients itself has changed it before it is over."""
    taken = [one for one in compared.trial.training.happenings if isinstance(one, StepTaken)]
    was = {(one.optimizer, one.nth): one.uses.keys() for steps in compared.was.steps.values() for one in steps}
    for step in taken:
        new = step.uses.keys() - was.get((step.optimizer, step.nth), frozenset())
        if new and step.closure:
            return
        yield step
        if new:
            return


def _beside(compared: Comparison) -> Iterator[tuple[int, Loss]]:
    """An optimizer steps that never did, beside the step of one that steps elsewhere for other losses: which of the two
    the loss is for is not known, if the clears do not say it."""
    owners = compared.was.owners()
    for new in (optimizer for optimizer in compared.now.steps if not compared.was.steps.get(optimizer)):
        own = compared.now.own(new)
        for optimizer, steps in compared.now.steps.items():
            places: dict[Line | None, set[Loss]] = {}
            for step in steps if optimizer != new else ():
                places.setdefault(step.at, set()).update(*map(compared.now.used, step.uses.values()))
            common = [loss for used in places.values() for loss in used & own if owners.get(loss) != optimizer]
            if common and any(used and not used & own for used in places.values()):
                yield optimizer, common[0]


def counts(compared: Comparison) -> Iterator[Note]:
    """Both ran to their end: as many steps as there were, but for those that the law forbids.

    Where it forbids all of them nothing was trained, and how often the program steps may depend on that.
    """
    for optimizer, count in compared.first.training.taken.items():
        now = compared.trial.training.taken.get(optimizer, 0)
        if count and not now:  # also where the law forbids all that there were: its losses are to be used
            yield compared.names.gone(optimizer, count, count)
        if not now or _as_often(compared, count, now):
            continue
        lawful = count - sum(id(step) in compared.unlawful for step in compared.was.steps.get(optimizer, ()))
        if now < lawful:
            yield compared.names.gone(optimizer, count - now, count)
        elif now > count and lawful:
            yield Note(
                "updates_added", (compared.names.optimizer(optimizer), facts.count("count", now - count, "update"))
            )


def _as_often(compared: Comparison, count: int, now: int) -> bool:
    """Does the program step as often for each pass as it did, at the same places? Then how many there are of both
    depends on what it has learnt: an episode ends when the agent fails."""
    passes, sources = (compared.first.passes, compared.trial.passes), compared.first.sources
    changed = ((text, compared.trial.sources.get(file, text)) for file, text in sources.items())
    placed = all(sorted(step_calls(a).values()) == sorted(step_calls(b).values()) for a, b in changed if a != b)
    return placed and passes[0] != passes[1] and count * passes[1] == now * passes[0]


def made_again(compared: Comparison) -> Iterator[Note]:
    """What the next step after the fault is taken by was there before the fault: one that is made again for the same
    parameters has forgotten what the first one gathered."""
    held, trial = compared.first.training.holds, compared.trial.training
    taken = [one for one in compared.first.training.happenings if isinstance(one, StepTaken)]
    later = [one for one in trial.happenings if isinstance(one, StepTaken)][len(taken) :]
    stepped = {held.get(one.optimizer) for one in taken}
    if later and later[0].optimizer not in held and trial.holds.get(later[0].optimizer) in stepped:
        yield Note("made_again", (compared.names.optimizer(later[0].optimizer),))


def all_zero(compared: Comparison) -> Iterator[Note]:
    """What is connected again trains something: the ratio of a log-probability to itself has a gradient of zero."""
    uses = [use for steps in compared.now.steps.values() for step in steps for use in step.uses.values()]
    if uses and not any(number for use in uses for number in use.numbers):
        yield Note("all_zero")


def same_factors(compared: Comparison) -> Iterator[Note]:
    """What the first loss counts, it counts as it did: an average that is used term by term is a sum."""
    first = next((one for one in compared.was.passes.values() if one.accumulates and one.weights), None)
    for line, weight in first.weights.items() if first is not None else ():
        was = weight / max(first.terms.count(line), 1) if first is not None else 0.0
        now = [share for one in compared.now.passes.values() for share in _factors(compared, one, line)]
        off = min((abs(share / was - 1) for share in now), default=0.0) if was else 0.0
        if first is not None and off > SCALED:
            subject = compared.names.subject(sorted(first.reached))
            yield Note("other_gradient", (subject, facts.count("step", 1), facts.share("off", off)))
            return


def _factors(compared: Comparison, taken: PassTaken, line: Line) -> Iterator[float]:
    """By what each number of a statement is scaled in a pass."""
    for here, weight in taken.weights.items():
        if compared.now.lines.back(here) == line:
            yield weight / max(taken.terms.count(here), 1)


def first_as_the_others(compared: Comparison, found: Diagnosis) -> Iterator[Note]:
    """What was computed before the loop is data in every step or in none: the first one does not go through it, too."""
    if found.built is None or found.built.step is not None or found.reused is None:
        return
    made = {(site.file, site.line) for site in (found.built, *found.ways.built)}
    failing = {taken.at for taken in compared.was.failing()}
    passes = [one for one in compared.now.passes.values() if one.looked and compared.now.lines.back(one.at) in failing]
    through = [{(line.file, line.line) for line in map(compared.now.lines.back, one.through) if line} for one in passes]
    goes = [bool(lines & made) for lines in through]
    if any(goes) and not all(goes):
        yield Note("only_first", (facts.lines("line", found.reused),))


def same_pairs(compared: Comparison) -> Iterator[Note]:
    """What a loss has trained, it trains still; what the law forbids is not counted."""
    forbidden = compared.was.used_twice() | compared.was.foreign() | compared.was.counted_twice()
    less: dict[Loss, list[int]] = {}
    now = compared.now.trained()
    for optimizer, steps in compared.was.steps.items():
        for step in (step for step in steps if id(step) not in compared.unlawful):
            for number, use in step.uses.items():
                others = compared.was.meant_for_others(use, optimizer)
                for loss in compared.was.used(use) - others:
                    if (number, loss) in now or (number, None) in now or (optimizer, loss) in forbidden:
                        continue
                    if number not in less.setdefault(loss, []):
                        less[loss].append(number)
    yield from compared.names.told("not_trained", {loss: numbers for loss, numbers in less.items() if numbers})


def statements(compared: Comparison) -> Iterator[Note]:
    """No `step()` was taken out of the source, or out of its loop."""
    names = {*compared.first.training.optimizers.values(), *compared.trial.training.optimizers.values()}
    for file, text in compared.first.sources.items():
        after = compared.trial.sources.get(file, text)
        if after == text:
            continue
        old, new = step_calls(text), step_calls(after)
        sound = {id(step) for steps in compared.sound.values() for step in steps}
        taken = [step for each in compared.was.steps.values() for step in each if step.at]
        shaky = {step.at.line for step in taken if step.at and id(step) not in sound} & compared.now.lines.gone(file)
        kept = {step.at.line for step in taken if step.at and id(step) not in compared.unlawful}
        unlawful = {step.at.line for step in taken if step.at} - kept
        old = {n: call for n, call in old.items() if n not in shaky | unlawful}
        for name in sorted({receiver for receiver, _ in old.values()}):
            if stem(name) not in {stem(known) for known in names}:
                continue
            was = sorted(depth for receiver, depth in old.values() if receiver == name)
            now = sorted(depth for receiver, depth in new.values() if receiver == name)
            if len(now) < len(was) or sum(now[-len(was) :]) < sum(was):
                yield Note("updates_rarer", (facts.names("subject", (name,)),))
