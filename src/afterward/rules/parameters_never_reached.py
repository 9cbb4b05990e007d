"""AFT404: an optimizer holds parameters that no pass reaches."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Remedy, Severity
from afterward.model.history import History
from afterward.rules import rule
from afterward.rules._silent import warning


@rule("AFT404", Severity.WARNING)
def parameters_never_reached(history: History) -> Iterator[Diagnosis]:
    """An optimizer steps, and no backward pass has ever given one of its parameters a gradient."""
    for idle in history.idle:
        count = f"{idle.parameters} parameter{'s' if idle.parameters != 1 else ''}"
        yield warning(
            "an optimizer steps parameters that no pass reaches",
            idle.site,
            f"`{idle.optimizer}` has stepped {idle.steps} times, and none of its {count} has a gradient",
            "A step without gradients changes nothing, so what this optimizer holds is not trained. "
            "Something lies between its parameters and every loss: a `detach()`, a `no_grad()`, another copy of them.",
            Remedy(
                "remove_detach",
                Effect.CHANGES_GRADIENTS,
                "take out the cut between these parameters and their loss; they then get gradients",
                idle.site,
                idle.optimizer,
            ),
            bridge=Bridge(idle.optimizer, "local"),
        )
