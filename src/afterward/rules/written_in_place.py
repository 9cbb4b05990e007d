"""AFT202: an in-place write went over a value that the graph had saved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from afterward.model import facts
from afterward.model.diagnosis import Bridge, Diagnosis, Label, Remedy, Severity
from afterward.model.history import History, Pass, Write
from afterward.rules import _remedies as remedy
from afterward.rules import _speech as say
from afterward.rules import rule
from afterward.rules._cause import Case, case_of
from afterward.rules._report import diagnosis
from afterward.rules.stepped_before_backward import writes_parameters


@rule("AFT202", Severity.ERROR)
def written_in_place(history: History) -> Iterator[Diagnosis]:
    """An in-place write changed a value that the backward pass still needs."""
    for late in history.broken_passes():
        if late.error != "inplace" or late.where is None:
            continue
        case = case_of(history, late)
        if case is None:
            yield _unknown(late)
        elif not writes_parameters(case):
            yield _diagnose(case)


def _diagnose(case: Case) -> Diagnosis:
    reuse = case.reuse
    write = reuse.write
    reused = say.reused_site(case)
    target = f"`{write.target}`" if isinstance(write, Write) and write.target else "a value"
    written = write.where.site_at(case.loop) if write is not None and write.where is not None else None
    built = reuse.culprit.where.site_at(case.loop) if reuse.culprit.where is not None else None
    labels = []
    if built is not None:
        labels.append(Label(built, f"saved {target} for its backward" + say.in_step(built)))
    if written is not None:
        by = f" (`{write.how}`)" if isinstance(write, Write) and write.how else ""
        labels.append(Label(written, f"writes over {target}{by}" + say.in_step(written)))
    fresh = remedy.out_of_place(case)
    remedies: tuple[Remedy, ...] = (fresh, remedy.reorder_step(facts.lines("write", written)))
    if of_an_inner_loop(case) or (isinstance(write, Write) and write.how):
        remedies = (fresh,)
    general = diagnosis(case, why="", built_text="", remedies=remedies)
    return replace(
        general,
        message="backward needs a value that was overwritten in place",
        primary=Label(reused, f"needs {target} as it was"),
        secondary=tuple(labels),
        why=f"An operation saved {target} for its backward, and it was written over before that backward ran. "
        "The old values are gone, so the gradient can not be computed.",
        notes=(),
        built=built,
        written=written,
        bridge=Bridge(write.target, "local") if isinstance(write, Write) else general.bridge,
    )


def of_an_inner_loop(case: Case) -> bool:
    """Was it written in the turns of a loop that is over by now? What those turns computed with can not be put off."""
    write, late = case.reuse.write, case.reuse.late.where
    turn = write.where.innermost_turn if write is not None and write.where is not None else None
    return turn is not None and late is not None and late.turn_of(turn) is None


def _unknown(late: Pass) -> Diagnosis:
    assert late.where is not None
    site = late.where.site_at(late.where.innermost_turn)
    return Diagnosis(
        message="backward needs a value that was overwritten in place",
        primary=Label(site, "needs a value that was written over since"),
        why="A value that this pass needs was changed in place. The record does not show where.",
        reused=site,
        caught=late.caught,
    )
