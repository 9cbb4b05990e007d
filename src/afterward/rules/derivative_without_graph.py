"""AFT407: a derivative in the loss that was taken without `create_graph=True`."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model import facts
from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Label, Remedy, Severity
from afterward.model.history import FlatPart, History
from afterward.rules import rule
from afterward.rules._silent import warning


@rule("AFT407", Severity.WARNING)
def derivative_without_graph(history: History) -> Iterator[Diagnosis]:
    """A penalty or another part of a loss is a derivative taken without `create_graph=True`, and teaches nothing."""
    for part in history.flat:
        yield _diagnose(part)


def _diagnose(part: FlatPart) -> Diagnosis:
    return warning(
        "a part of the loss has no history",
        part.site,
        f"`{part.name}` is added, and has no history",
        f"`{part.name}` is computed from what the `autograd.grad` on line {part.taken.line} returns, and without "
        "`create_graph=True` that is plain numbers. It changes the value of the loss, and no gradient: "
        f"the backward on line {part.swept.line} does not see it.",
        Remedy(
            "create_graph",
            Effect.CHANGES_GRADIENTS,
            "penalty",
            part.taken,
            part.name,
            facts=(facts.lines("lines", part.taken),),
        ),
        secondary=(
            Label(part.taken, "the derivative is taken here, without a graph"),
            Label(part.swept, "sweeps the sum"),
        ),
        bridge=Bridge(part.name, "local"),
        built=part.site,
        freed=part.swept,
        cut=part.taken,
    )
