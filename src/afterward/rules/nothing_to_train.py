"""AFT504: there is nothing that could be trained: integers cannot have gradients, and an optimizer needs parameters."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Severity
from afterward.model.history import History
from afterward.model.words import Words
from afterward.rules import rule
from afterward.rules._raised import raised


@rule("AFT504", Severity.ERROR)
def nothing_to_train(history: History) -> Iterator[Diagnosis]:
    """There is nothing that could be trained: integers cannot have gradients, and an optimizer needs parameters."""
    return raised(history, "AFT504")


WORDS = {
    "integer-requires-grad": Words(
        fault="an integer tensor is to require gradients",
        headline="an integer tensor cannot require gradients",
        why=(
            "A gradient says how the result changes when a value changes by a little; integers do "
            "not change by a little."
        ),
        labels={"fault": "makes an integer tensor that requires gradients"},
        helps={
            (
                "follow_page",
                "integer-requires-grad",
            ): "make it a floating-point tensor: `dtype=torch.float32`, or write `1.0` instead of `1`"
        },
    ),
    "nothing-to-optimize": Words(
        fault="an optimizer gets no parameters",
        headline="the optimizer gets no parameters",
        why=(
            "The model has no registered parameters here: layers in a plain list or dict are not "
            "registered, and an iterator that was used up gives nothing."
        ),
        labels={"fault": "there are no parameters"},
        helps={
            (
                "follow_page",
                "nothing-to-optimize",
            ): (
                "keep layers in `torch.nn.ModuleList` or `torch.nn.ModuleDict`, and pass a list: "
                "`list(model.parameters())`"
            )
        },
    ),
}
