"""AFT111: parameters of a DistributedDataParallel module that no loss reached."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model import facts
from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Label, Remedy, Role, Severity
from afterward.model.history import History, Pass, Value
from afterward.model.site import Site
from afterward.model.words import Words
from afterward.rules._registry import rule


@rule("AFT111", Severity.ERROR, breaks=7)
def ddp_parameters_unused(history: History) -> Iterator[Diagnosis]:
    """DistributedDataParallel waits for the gradient of each parameter; some were reached by no loss."""
    for late in history.broken_passes():
        if late.error != "ddp_unfinished" or late.where is None:
            continue
        early = max((run for run in history.passes if run.moment < late.moment), key=lambda run: run.moment)
        yield _diagnose(history, early, late)


def _diagnose(history: History, early: Pass, late: Pass) -> Diagnosis:
    assert late.where is not None
    loop = late.where.innermost_iteration
    site = late.where.site_at(loop)
    freed = early.where.site_at(loop) if early.where is not None else None
    missed = [leaf for leaf in history.leaves if leaf.replicated and leaf.id not in early.reached]
    names = tuple(leaf.name for leaf in missed)
    uses = [value for value in history.values if value.site is not None]
    return Diagnosis(
        Label(site, Role.REUSED),
        (*((Label(freed, Role.FREED),) if freed is not None else ()), *_use_labels(uses)),
        _form(uses),
        (facts.names("who", names), facts.step("freed_step", freed)),
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
            role = {"read": "used", "in_part": "in_part"}.get(value.how, "not_run")
            yield Label(site, role, (facts.code("name", value.name),))


def _form(uses: list[Value]) -> str:
    if any(value.how == "read" for value in uses):
        return "not_in_loss"
    if any(value.how == "in_part" for value in uses):
        return "in_part"
    return "not_run" if uses else ""


def _remedies(uses: list[Value], names: tuple[str, ...], site: Site) -> tuple[Remedy, ...]:
    form = "in_loss" if any(value.how == "read" for value in uses) else ""
    where = next((value.site for value in uses), site)
    return (
        Remedy("use_parameters", Effect.CHANGES_GRADIENTS, form, where, facts=(facts.names("target", names),)),
        Remedy("find_unused", Effect.SAME_GRADIENTS, "", site),
    )


def _words(reason: str) -> Words:
    return Words(
        fault="a DistributedDataParallel module waits for gradients of parameters that no loss reached",
        headline="a DistributedDataParallel module waits for the gradient of {who}, which no loss reached",
        why="DistributedDataParallel reduces the gradient of every parameter in every step. The `backward()`< in "
        f"{{freed_step}}> gave {{who}} none, so that step's reduction never finished. {reason}",
        labels={
            "reused": "still waits for the gradient of {who}",
            "freed": "this `backward()`< in {freed_step}> did not reach {who}",
            "used": "{name} is used here, and its output reaches no loss",
            "in_part": "{name} is used here, and not all of it reaches the loss",
            "not_run": "{name} is used here, and this did not run",
        },
    )


WORDS = {
    "": _words("No statement that ran in that step uses them."),
    "not_in_loss": _words("They took part in the forward pass, but the loss does not depend on what they computed."),
    "in_part": _words(
        "Other parameters of the same part of the module got one: these were not called, or what they "
        "computed is not in the loss."
    ),
    "not_run": _words("The statement that uses them did not run in that step."),
}
