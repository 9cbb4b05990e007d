"""AFT111: parameters of a DistributedDataParallel module that no loss reached."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model import facts
from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Label, Remedy, Severity
from afterward.model.history import History, Pass, Value
from afterward.model.site import Site
from afterward.rules import rule
from afterward.rules._silent import several

SHOWN = 3  # names in the text


@rule("AFT111", Severity.ERROR)
def ddp_parameters_unused(history: History) -> Iterator[Diagnosis]:
    """DistributedDataParallel waits for the gradient of each parameter; some were reached by no loss."""
    for late in history.broken_passes():
        if late.error != "ddp_unfinished" or late.where is None:
            continue
        early = max((run for run in history.passes if run.moment < late.moment), key=lambda run: run.moment)
        yield _diagnose(history, early, late)


def _diagnose(history: History, early: Pass, late: Pass) -> Diagnosis:
    assert late.where is not None
    loop = late.where.innermost_turn
    site = late.where.site_at(loop)
    freed = early.where.site_at(loop) if early.where is not None else None
    missed = [leaf for leaf in history.leaves if leaf.replicated and leaf.id not in early.reached]
    names = several(tuple(leaf.name for leaf in missed), SHOWN)
    when = f" in {freed.step_name}" if freed is not None and freed.step is not None else ""
    uses = [value for value in history.values if value.site is not None]
    unreached = "did not reach them" if len(missed) > 1 else "did not reach it"
    labels = [Label(freed, f"this backward{when} {unreached}")] if freed is not None else []
    return Diagnosis(
        message="a DistributedDataParallel module waits for gradients of parameters that no loss reached",
        primary=Label(site, f"still waits for the gradient of {names}"),
        secondary=(*labels, *_use_labels(uses)),
        why=f"DistributedDataParallel reduces the gradient of every parameter in every step. The backward{when} gave "
        f"{names} none, so that step's reduction never finished. {_reason(uses)}",
        remedies=_remedies(uses, names, site),
        built=next((value.site for value in uses), site),
        freed=freed,
        reused=site,
        bridge=Bridge(missed[0].name, "attribute") if missed else None,
        caught=late.caught,
    )


def _use_labels(uses: list[Value]) -> Iterator[Label]:
    seen: set[tuple[str, int]] = set()
    for value in uses:
        site = value.site
        assert site is not None
        if (site.file, site.line) not in seen:
            seen.add((site.file, site.line))
            text = f"`{value.name}` is used here, and its output reaches no loss"
            yield Label(site, text if value.how == "read" else f"`{value.name}` is used here, and this did not run")


def _reason(uses: list[Value]) -> str:
    if any(value.how == "read" for value in uses):
        return "They took part in the forward pass, but the loss does not depend on what they computed."
    if uses:
        return "The statement that uses them did not run in that step."
    return "No statement that ran in that step uses them."


def _remedies(uses: list[Value], names: str, site: Site) -> tuple[Remedy, ...]:
    form = "in_loss" if any(value.how == "read" for value in uses) else ""
    where = next((value.site for value in uses), site)
    return (
        Remedy("use_parameters", Effect.CHANGES_GRADIENTS, form, where, facts=(facts.code("target", names),)),
        Remedy("find_unused", Effect.SAME_GRADIENTS, "", site),
    )
