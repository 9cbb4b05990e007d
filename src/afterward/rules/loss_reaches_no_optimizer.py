"""AFT406: a loss whose parameters no optimizer holds."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model import facts
from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Remedy, Severity
from afterward.model.history import History
from afterward.rules import rule
from afterward.rules._silent import several, warning


@rule("AFT406", Severity.WARNING)
def loss_reaches_no_optimizer(history: History) -> Iterator[Diagnosis]:
    """A loss is swept again and again, and nothing that its gradients reach is ever updated."""
    if history.idle:
        return  # one cause, told once: a cut or a copy lies between this loss and its optimizer
    for one in history.unheld:
        who = several(one.names) or f"{one.parameters} parameters"
        yield warning(
            "a loss reaches no parameter of any optimizer",
            one.site,
            f"gives gradients to {who}, which nothing updates",
            f"In the {one.passes} passes that were looked at, every parameter that got a gradient is held by no "
            "optimizer and kept its value from pass to pass, while optimizers stepped. This loss teaches nothing.",
            Remedy(
                "rebuild_optimizer",
                Effect.CHANGES_GRADIENTS,
                "not_held",
                one.site,
                one.names[0] if one.names else "",
                facts=(facts.names("who", one.names),),
            ),
            bridge=Bridge(one.names[0], "attribute") if one.names else None,
            freed=one.site,
        )
