"""AFT202: an in-place write went over a value that the graph had saved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from afterward.model import facts
from afterward.model.diagnosis import Bridge, Diagnosis, Label, Remedy, Role, Severity
from afterward.model.history import History, Write
from afterward.model.words import Words
from afterward.rules import _remedies as remedy
from afterward.rules._cause import Case, case_of
from afterward.rules._registry import rule
from afterward.rules._report import diagnosis, unknown
from afterward.rules.stepped_before_backward import writes_parameters


@rule("AFT202", Severity.ERROR, breaks=2)
def written_in_place(history: History) -> Iterator[Diagnosis]:
    """An in-place write changed a value that the backward pass still needs."""
    for late in history.broken_passes():
        if late.error != "inplace" or late.where is None:
            continue
        case = case_of(history, late)
        if case is None:
            yield unknown(late)
        elif not writes_parameters(case):
            yield _diagnose(case)


def _diagnose(case: Case) -> Diagnosis:
    reuse, write = case.reuse, case.reuse.write
    written = write.where.site_at(case.loop) if write is not None and write.where is not None else None
    built = reuse.culprit.where.site_at(case.loop) if reuse.culprit.where is not None else None
    target, how = (write.target, write.how) if isinstance(write, Write) else ("", "")
    fresh = remedy.out_of_place(case)
    later = remedy.reorder_step(facts.lines("write", written))
    remedies: tuple[Remedy, ...] = (fresh,) if of_an_inner_loop(case) or how else (fresh, later)
    general = diagnosis(case, remedies=remedies)
    labels = [Label(site, role) for site, role in ((built, Role.BUILT), (written, Role.WRITTEN)) if site is not None]
    return replace(
        general,
        secondary=tuple(labels),
        facts=(facts.code("target", target), facts.code("how", how)),
        notes=(),
        retain=None,
        built=built,
        written=written,
        bridge=Bridge(write.target, "local") if isinstance(write, Write) else general.bridge,
    )


def of_an_inner_loop(case: Case) -> bool:
    """Was it written in iterations of a loop that is over by now? What those computed with cannot be put off."""
    write, late = case.reuse.write, case.reuse.late.where
    iteration = write.where.innermost_iteration if write is not None and write.where is not None else None
    return iteration is not None and late is not None and late.iteration_of(iteration) is None


_FAULT = "a value that `backward()` needs is overwritten in place"

WORDS = {
    "": Words(
        fault=_FAULT,
        headline="<{target}><!target:a value> [was|is] overwritten in place before the `backward()` that needs it",
        why="An operation [saved|saves] <{target}><!target:a value> for its backward, and it [was|is] overwritten "
        "before that `backward()` [ran|runs]. The original values are gone, so the gradient cannot be computed.",
        labels={
            "built": "[saved|saves] <{target}><!target:a value> for its backward<, in {at_step}>",
            "written": "overwrites <{target}><!target:it>< ({how})><, in {at_step}>",
            "reused": "needs the original values of <{target}><!target:what was overwritten>",
        },
    ),
    "unknown": Words(
        fault=_FAULT,
        headline="a value that <the `backward()` of {value}><!value:this `backward()`> needs [was|is] "
        "overwritten in place",
        why="A value that this `backward()` needs [was|is] modified in place. The record does not show where.",
        labels={"reused": "needs a value that [was|is] overwritten"},
    ),
}
