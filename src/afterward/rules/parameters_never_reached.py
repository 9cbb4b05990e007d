"""AFT404: an optimizer holds parameters that no pass reaches."""

from __future__ import annotations

from collections.abc import Iterator

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
    if idle.instead and idle.parameters < idle.held:
        line = f" on line {idle.replaced.line}" if idle.replaced is not None else ""
        return Remedy(
            "rebuild_optimizer",
            Effect.CHANGES_GRADIENTS,
            f"replace that part{line} first and make the optimizer then; its steps then change what is trained",
            idle.replaced or idle.site,
            idle.optimizer,
        )
    if idle.instead:
        return Remedy(
            "rebuild_optimizer",
            Effect.CHANGES_GRADIENTS,
            "make the optimizer anew for the model that is used, or copy the values into the old one with "
            "`load_state_dict`; its steps then change what is trained",
            idle.replaced or idle.site,
            idle.optimizer,
        )
    cut = idle.cut
    return Remedy(
        "remove_detach",
        Effect.CHANGES_GRADIENTS,
        f"{_instead_of(cut.how)} on line {cut.site.line}; they then get gradients"
        if cut is not None
        else "take out the cut between these parameters and their loss; they then get gradients",
        cut.site if cut is not None else idle.site,
        cut.name if cut is not None and cut.name else idle.optimizer,
    )


def _instead_of(how: str) -> str:
    return "draw with `.rsample()`, not `.sample()`," if how == ".sample()" else f"take out `{how}`"
