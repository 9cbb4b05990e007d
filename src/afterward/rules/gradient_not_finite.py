"""AFT510: a gradient is infinite or not a number."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Severity
from afterward.model.history import History
from afterward.model.words import Words
from afterward.rules import rule
from afterward.rules._raised import raised


@rule("AFT510", Severity.ERROR)
def gradient_not_finite(history: History) -> Iterator[Diagnosis]:
    """A gradient is infinite or not a number."""
    return raised(history, "AFT510")


WORDS = {
    "nan-in-backward": Words(
        fault="a backward operation returned a value that is not a number",
        headline="<the gradient of {op} is not a number><!op:a gradient is not a number>",
        why=(
            "Anomaly mode stopped the backward pass: {said} Usual places are `sqrt` or `norm` at 0, "
            "`log` of 0, a division by 0, and `torch.where` whose unused side is infinite."
        ),
        labels={
            "fault": "this `backward()` met it",
            "made": "<{op} is computed here; its gradient is not a number><!op:computed here>",
        },
        helps={
            (
                "follow_page",
                "nan-in-backward",
            ): "keep the input of that operation away from the edge: `torch.sqrt(x + 1e-8)`, `x.clamp(min=1e-8)`"
        },
    ),
    "gradients-not-finite": Words(
        fault="a gradient norm is not finite",
        headline="the gradients are not finite, so they cannot be clipped",
        why=(
            "One of the gradients is infinite or not a number. `torch.autograd.detect_anomaly()` names the operation."
        ),
        labels={"fault": "clips them"},
        helps={
            (
                "follow_page",
                "gradients-not-finite",
            ): "find the operation with `torch.autograd.detect_anomaly()`, and keep its input away from the edge"
        },
    ),
}
