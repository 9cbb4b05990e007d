"""AFT506: `autograd.grad` is asked for the gradient of a tensor that the output was not computed from."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Severity
from afterward.model.history import History
from afterward.model.words import Words
from afterward.rules import rule
from afterward.rules._raised import raised


@rule("AFT506", Severity.ERROR)
def input_not_in_graph(history: History) -> Iterator[Diagnosis]:
    """`autograd.grad` is asked for the gradient of a tensor that the output was not computed from."""
    return raised(history, "AFT506")


WORDS = {
    "input-not-in-the-graph": Words(
        fault="a gradient is asked for of a tensor that the output does not depend on",
        headline="the output was not computed from <{value}><!value:one of the inputs>< and {others}>",
        why=(
            "<{value}><!value:An input> is not connected to what is differentiated: it was not used, "
            "it was cut off, or a copy of it was used instead."
        ),
        labels={
            "fault": "asks for the gradient of <{value}><!value:it>",
            "stored": "{value} gets its value here",
            "made": "{value} is computed here",
        },
        helps={
            (
                "follow_page",
                "input-not-in-the-graph",
            ): (
                "compute the output from that very tensor; if it may be unused, pass "
                "`allow_unused=True` and expect `None`"
            )
        },
    ),
    "input-needs-no-gradient": Words(
        fault="a gradient is asked for of a tensor that does not require gradients",
        headline="<{value}><!value:one of the inputs> does not require gradients, so none was recorded",
        why="What is recorded is decided during the forward pass.",
        labels={
            "fault": "asks for the gradient of <{value}><!value:it>",
            "stored": "{value} is made here, without `requires_grad`",
        },
        helps={("follow_page", "input-needs-no-gradient"): "call `.requires_grad_()` on it before the forward pass"},
    ),
}
