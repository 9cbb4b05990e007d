"""AFT405: gradients are zeroed between the pass that makes them and the step that should use them."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Label, Remedy, Severity
from afterward.model.history import History
from afterward.rules import rule
from afterward.rules._silent import warning


@rule("AFT405", Severity.WARNING)
def gradients_zeroed_early(history: History) -> Iterator[Diagnosis]:
    """Gradients are zeroed after the backward and before the step, so the step has nothing to go by."""
    for one in history.zeroed:
        zeroed = one.zeroed or one.site
        yield warning(
            "gradients are zeroed before the step that should use them",
            zeroed,
            f"drops the gradients that line {one.swept.line} has just made",
            f"Each of the {one.steps} steps of `{one.optimizer}` that were looked at found no gradient left of the "
            "pass before it. Nothing is trained, and nothing says so.",
            Remedy(
                "zero_grad",
                Effect.CHANGES_GRADIENTS,
                "earlier",
                zeroed,
                one.optimizer,
            ),
            secondary=(Label(one.swept, "makes the gradients"), Label(one.site, "steps without them")),
            bridge=Bridge("grad", "attribute"),
            freed=one.swept,
        )
