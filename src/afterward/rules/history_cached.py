"""AFT107: an attribute, buffer, cache or memory keeps a value with history beyond its step."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Remedy, Severity
from afterward.model.history import History
from afterward.rules import _remedies as remedy
from afterward.rules import _speech as say
from afterward.rules import rule
from afterward.rules._cause import Case, Cause, case_of, leaves_directly_under
from afterward.rules._report import diagnosis


@rule("AFT107", Severity.ERROR)
def history_cached(history: History) -> Iterator[Diagnosis]:
    """Something kept beyond its step still has its history, which an earlier pass has freed."""
    for late in history.broken_passes():
        case = case_of(history, late) if late.error == "second_backward" else None
        if case is not None and case.cause is Cause.HISTORY_CACHED:
            yield _diagnose(case)


def _diagnose(case: Case) -> Diagnosis:
    name = say.name_of(case, "a kept value")
    built = say.built_site(case)
    when = f"in {built.step_name}" if built is not None and built.step is not None else "once"
    return diagnosis(
        case,
        why=f"{name} was computed {when} and kept with its history. "
        f"{say.freed_by(case).capitalize()} freed that history; this pass reaches it again through what was kept.",
        built_text=f"{name} keeps the graph built here",
        remedies=remedies(case),
    )


def remedies(case: Case) -> tuple[Remedy, ...]:
    """A memory, or what each step makes anew, holds data; one value of what is trained here must be computed anew."""
    trained = case.history.optimizers_of(leaves_directly_under(case.history, case.reuse.stale))
    bridge = case.bridge
    memory = bridge is not None and (bridge.renewed or (bridge.kind == "item" and not _has_a_name(bridge.name)))
    if trained and (not memory or _nothing_left(case)) and not case.foreign:
        return remedy.recompute_forward(case), remedy.detach_kept(case)
    return remedy.detach_kept(case), remedy.recompute_forward(case)


def _nothing_left(case: Case) -> bool:
    """Would this pass train nothing, were what the memory holds stored detached?"""
    stored = case.bridge.alike if case.bridge is not None else frozenset[int]()
    roots = [edge.node for edge in case.reuse.late.roots]
    return not leaves_directly_under(case.history, case.history.reached(roots, within=case.reuse.fresh - stored))


def _has_a_name(item: str) -> bool:
    """`cache["mean"]` is one value under a name of its own; `past[3]` is one of many."""
    return item.endswith(('"]', "']"))
