"""Do the ranks of one job train one network: is what they keep alike stepped with the same gradients on each?"""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model import facts
from afterward.model.facts import Note
from afterward.model.training import StepTaken, Training
from afterward.tasks.children import spans
from afterward.tasks.same_gradients import same
from afterward.tasks.trial import Trial

OF_RANKS = ("AFT112",)  # faults by which ranks part ways


def same_rank(run: Trial, one: Trial) -> Trial:
    """What this rank has shown in another run; where it was stopped before it could, what the run as a whole has."""
    alike = (each for each in run.ranks if each.training.place == one.training.place)
    return next(alike, run)


def missing_ranks(base: Trial, trial: Trial) -> str:
    """The ranks of the program that have shown nothing in a trial, as a person would list them."""
    places = [one.training.place for run in (base, trial) for one in run.ranks]
    known = {one.training.place[0] for one in trial.ranks if one.training.place is not None}
    missing = [rank for rank in range(max((place[1] for place in places if place), default=0)) if rank not in known]
    return ("ranks " if len(missing) > 1 else "rank ") + spans(missing) if missing else ""


def part_ways(base: Trial, trial: Trial, curing: str) -> Iterator[Note]:
    """The parameters that a step uses other gradients for on one rank than on another.

    A program whose ranks part ways by themselves (each trains alone for some steps) may go on so.
    """
    if curing not in OF_RANKS and any(_apart(base)):
        return
    for one, other, step, number in _apart(trial):
        name = one.names.get(number, "")
        ranks = spans([place[0] for place in (one.place, other.place) if place is not None])
        yield Note(
            "ranks_differ",
            (facts.code("subject", name), facts.count("step", step.nth), facts.verbatim("ranks", ranks)),
        )


def on_all(trial: Trial) -> Note:
    """On how many ranks a change was tried; parameters that lie in parts on the ranks are not to be alike."""
    alike = any(one.training.replicated for one in trial.ranks) and not any(_apart(trial))
    return Note("on_ranks" if alike else "on_each_rank", (facts.count("ranks", len(trial.ranks), "rank"),))


def _apart(run: Trial) -> Iterator[tuple[Training, Training, StepTaken, int]]:
    """Two ranks, a step of both, and a parameter that is kept alike and gets another gradient in it."""
    first, *others = [one.training for one in run.ranks] or [Training()]
    for other in others:
        theirs = {(step.optimizer, step.nth): step for step in _steps(other)}
        for step in _steps(first):
            twin = theirs.get((step.optimizer, step.nth))
            for number in sorted(first.replicated & other.replicated) if twin is not None else ():
                if twin is not None and not same(step.uses.get(number), twin.uses.get(number)):
                    yield first, other, step, number


def _steps(training: Training) -> Iterator[StepTaken]:
    return (each for each in training.happenings if isinstance(each, StepTaken))
