"""AFT406: a loss whose parameters no optimizer holds."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model import facts
from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Remedy, Severity
from afterward.model.history import History
from afterward.model.words import Words
from afterward.rules import rule
from afterward.rules._silent import warning


@rule("AFT406", Severity.WARNING)
def loss_reaches_no_optimizer(history: History) -> Iterator[Diagnosis]:
    """`backward()` is called on a loss again and again, and nothing that its gradients reach is ever updated."""
    if history.idle:
        return  # one cause, reported once: a cut or a copy lies between this loss and its optimizer
    for one in history.unheld:
        yield warning(
            one.site,
            facts.names("who", one.names),
            facts.count("parameters", one.parameters, "parameter", measured=False),
            facts.count("times", one.passes, "call"),
            remedy=Remedy(
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


_WHO = "<{who}><!who:{parameters}>"

WORDS = Words(
    fault="a loss gives gradients only to parameters that no optimizer holds",
    headline=f"this loss gives gradients only to {_WHO}, which no optimizer holds",
    why="<In the {times} that were looked at, every><!times:Every> parameter that [got|gets] a gradient is held "
    "by no optimizer "
    "and [kept|keeps] its value, while optimizers [stepped|step]. This loss has no effect on training.",
    labels={"fault": f"gives gradients to {_WHO}, which nothing updates"},
)
