"""AFT107: an attribute, buffer, cache or memory keeps a value with its graph beyond its step."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model import facts
from afterward.model.diagnosis import Diagnosis, Remedy, Severity
from afterward.model.history import History
from afterward.model.words import Words
from afterward.rules import _remedies as remedy
from afterward.rules import _sites as at
from afterward.rules._cause import Case, Cause, cases, leaves_directly_under
from afterward.rules._registry import rule
from afterward.rules._report import diagnosis


@rule("AFT107", Severity.ERROR, breaks=1)
def history_cached(history: History) -> Iterator[Diagnosis]:
    """Something kept beyond its step still has its graph, which an earlier `backward()` freed."""
    for case in cases(history, Cause.HISTORY_CACHED):
        step = facts.step("built_step", at.built_site(case))
        yield diagnosis(case, step, remedies=remedies(case))


def remedies(case: Case) -> tuple[Remedy, ...]:
    """What a memory holds, or each step renews, is data, if nothing is trained through it alone; one value of what is
    trained here must be recomputed."""
    trained = case.history.optimizers_of(leaves_directly_under(case.history, case.reuse.stale))
    memory = case.bridge is not None and (case.bridge.renewed or case.bridge.kind == "item")
    if trained and (not memory or _cuts_off(case)) and not case.foreign:
        return remedy.recompute_forward(case), remedy.detach_kept(case)
    return remedy.detach_kept(case), remedy.recompute_forward(case)


def _cuts_off(case: Case) -> bool:
    """Would a parameter that is trained get no gradient from this pass, were what the memory holds stored detached?"""
    stored = case.bridge.alike if case.bridge is not None else frozenset[int]()
    roots = [edge.node for edge in case.reuse.late.roots]
    left = leaves_directly_under(case.history, case.history.reached(roots, within=case.reuse.fresh - stored))
    old = leaves_directly_under(case.history, case.reuse.stale)
    return not left or any(case.history.optimizers_of([leaf]) for leaf in old - left)


WORDS = Words(
    fault="a kept value still has a graph that was freed",
    headline="<{value}><!value:a kept value> still has its graph, which {freed_by} [already freed|frees]",
    why="<{value}><!value:A value> [was|is] computed <in {built_step}><!built_step:once> and kept together with its "
    "graph. {freed_by} [freed|frees] that graph; this `backward()` reaches it again through what [was|is] kept.",
    labels={"built": "<{value}><!value:a kept value> keeps the graph built here< ({amount})>"},
)
