"""AFT404: an optimizer holds parameters that no backward reaches."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model import facts
from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Label, Remedy, Role, Severity
from afterward.model.history import History, Optimizer
from afterward.model.site import Site, dated_site
from afterward.model.words import Words
from afterward.rules._built import left_out
from afterward.rules._gradients import frozen_while_stepping
from afterward.rules._idle import Idle, idle_optimizers
from afterward.rules._often import AGAIN
from afterward.rules._registry import rule
from afterward.rules._silent import warning


@rule("AFT404", Severity.WARNING, breaks=7)
def parameters_never_reached(history: History) -> Iterator[Diagnosis]:
    """An optimizer steps parameters that no `backward()` gives a gradient."""
    for idle in idle_optimizers(history):
        explained = idle.cut is not None or idle.instead
        if explained or not left_out(history):  # else AFT304: a loss is there for them, and left out
            yield _diagnose(idle)
    for optimizer, late in frozen_while_stepping(history):
        site = dated_site(history.step(late[0]).where)
        if len(late) >= AGAIN and site is not None:
            yield _frozen(history, optimizer, len(late), site)


def _frozen(history: History, optimizer: Optimizer, steps: int, site: Site) -> Diagnosis:
    names = tuple(name for leaf in sorted(optimizer.leaves) if (name := history.leaf(leaf).name))
    return warning(
        site,
        facts.code("optimizer", optimizer.name),
        facts.count("steps", steps, "time"),
        facts.count("parameters", len(optimizer.leaves), "parameter", measured=False),
        facts.names("who", names),
        remedy=Remedy("remove_detach", Effect.CHANGES_GRADIENTS, "thaw", site, optimizer.name),
        form="frozen",
        bridge=Bridge(optimizer.name, "local"),
    )


def _diagnose(idle: Idle) -> Diagnosis:
    labels = []
    if idle.cut is not None:
        labels.append(Label(idle.cut.site, Role.CUT))
    if idle.replaced is not None:
        labels.append(Label(idle.replaced, "replaced"))
    part = idle.parameters < idle.held
    return warning(
        idle.site,
        facts.code("optimizer", idle.optimizer),
        facts.count("steps", idle.steps, "time"),
        facts.count("parameters", idle.parameters, "parameter", measured=False),
        facts.count("number", idle.parameters, measured=False),
        facts.count("held", idle.held if part else None, "parameter", measured=False),
        facts.names("who", idle.names if part else ()),
        facts.names("instead", idle.instead),
        facts.code("cut", idle.cut.how if idle.cut is not None else ""),
        facts.lines("cut_line", idle.cut.site if idle.cut is not None else None),
        remedy=_remedy(idle),
        form=_form(idle),
        secondary=tuple(labels),
        bridge=Bridge(idle.cut.name if idle.cut is not None and idle.cut.name else idle.optimizer, "local"),
        built=idle.cut.site if idle.cut is not None else idle.replaced,
        cut=idle.cut.site if idle.cut is not None else None,
    )


def _form(idle: Idle) -> str:
    if idle.cut is not None:
        return "cut"
    if idle.instead:
        return "part_replaced" if idle.parameters < idle.held else "replaced"
    return ""


def _remedy(idle: Idle) -> Remedy:
    if idle.instead:
        return Remedy(
            "rebuild_optimizer",
            Effect.CHANGES_GRADIENTS,
            "part_replaced" if idle.parameters < idle.held else "",
            idle.replaced or idle.site,
            idle.optimizer,
            facts=(facts.lines("lines", idle.replaced),),
        )
    cut = idle.cut
    if cut is None:
        return Remedy("remove_detach", Effect.CHANGES_GRADIENTS, "unknown", idle.site, idle.optimizer)
    return Remedy(
        "remove_detach",
        Effect.CHANGES_GRADIENTS,
        "sample_on_line" if cut.how == ".sample()" else "on_line",
        cut.site,
        cut.name or idle.optimizer,
        facts=(facts.code("cut", cut.how), facts.lines("lines", cut.site)),
    )


def _words(cause: str) -> Words:
    return Words(
        fault="an optimizer steps parameters that get no gradient",
        headline="{optimizer} steps <{number} of its {held}><!held:{parameters}> that no `backward()` gives a gradient",
        why=f"A step without gradients changes nothing: they keep their values. {cause}",
        labels={
            "fault": "{optimizer} <stepped {steps}><!steps:steps>, and <{number} of its {held}><!held:its "
            "{parameters}> got no gradient< ({who})>",
            "cut": "{cut} disconnects them from the loss",
            "replaced": "replaces them< ({instead})>",
        },
    )


_OTHERS = "`backward()` reaches <{instead}><!instead:other parameters>, which no optimizer holds: "

WORDS = {
    "": _words(
        "Something disconnects them from every loss: a `detach()`, a `no_grad()`, or another copy of them is used."
    ),
    "frozen": _words("They were trained before; since then `requires_grad` is `False`, and nothing sets it to `True`."),
    "cut": _words("{cut} on {cut_line} disconnects them."),
    "replaced": _words(_OTHERS + "the model was copied or replaced after the optimizer was created."),
    "part_replaced": _words(_OTHERS + "a part of the model was replaced after the optimizer was created."),
}
