"""AFT404: an optimizer holds parameters that no pass reaches."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model import facts
from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Label, Remedy, Severity
from afterward.model.history import History, Idle
from afterward.rules import rule
from afterward.rules._silent import several, warning


@rule("AFT404", Severity.WARNING)
def parameters_never_reached(history: History) -> Iterator[Diagnosis]:
    """An optimizer steps parameters that no backward pass gives a gradient."""
    for idle in history.idle:
        yield _diagnose(idle)


def _diagnose(idle: Idle) -> Diagnosis:
    labels = []
    if idle.cut is not None:
        labels.append(Label(idle.cut.site, f"`{idle.cut.how}` cuts them off from the loss"))
    if idle.replaced is not None:
        labels.append(Label(idle.replaced, f"puts others in their place{_listed(idle.instead)}"))
    part = idle.parameters < idle.held
    who = several(idle.names) if part and idle.names else ""
    return warning(
        "an optimizer steps parameters that no pass reaches",
        idle.site,
        f"`{idle.optimizer}` has stepped {idle.steps} times, and {_counted(idle)}"
        + (" a gradient" if _none_of_many(idle) else " no gradient")
        + (f" ({who})" if who else ""),
        f"A step without gradients changes nothing: they keep the values they have. {_cause(idle)}",
        _remedy(idle),
        secondary=tuple(labels),
        bridge=Bridge(idle.cut.name if idle.cut is not None and idle.cut.name else idle.optimizer, "local"),
        built=idle.cut.site if idle.cut is not None else idle.replaced,
        cut=idle.cut.site if idle.cut is not None else None,
    )


def _counted(idle: Idle) -> str:
    if idle.parameters < idle.held:
        return f"{idle.parameters} of its {idle.held} parameters got"
    return f"none of its {idle.parameters} parameters got" if idle.parameters > 1 else "its parameter got"


def _listed(names: tuple[str, ...]) -> str:
    shown = several(names)
    return f" ({shown})" if shown else ""


def _none_of_many(idle: Idle) -> bool:
    return idle.parameters > 1 and idle.parameters >= idle.held


def _cause(idle: Idle) -> str:
    if idle.cut is not None:
        return f"`{idle.cut.how}` on line {idle.cut.site.line} drops the history that leads to them."
    if idle.instead and idle.parameters < idle.held:
        return (
            f"The passes reach parameters that no optimizer holds{_listed(idle.instead)}: "
            "a part of the model was replaced after the optimizer was made."
        )
    if idle.instead:
        return (
            f"The passes reach parameters of the same shapes that no optimizer holds{_listed(idle.instead)}: "
            "the model was copied or replaced after the optimizer was made."
        )
    return "Something lies between them and every loss: a `detach()`, a `no_grad()`, another copy of them."


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
