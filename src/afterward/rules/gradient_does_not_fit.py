"""AFT505: `backward()` starts from something that is not one number, or from gradients of another shape."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Severity
from afterward.model.history import History
from afterward.model.words import Words
from afterward.rules import rule
from afterward.rules._raised import raised


@rule("AFT505", Severity.ERROR)
def gradient_does_not_fit(history: History) -> Iterator[Diagnosis]:
    """`backward()` starts from something that is not one number, or from gradients of another shape."""
    return raised(history, "AFT505")


WORDS = {
    "loss-not-scalar": Words(
        fault="`backward()` is called on a loss with several elements",
        headline=(
            "<{value}><!value:this tensor> has several elements< (shape {shape})>; `backward()` starts from one number"
        ),
        why="Without a `gradient` argument, `backward()` can only start from one number.",
        labels={
            "fault": "calls `backward()` on <{value}><!value:this tensor>",
            "made": "{value} is computed here, one loss for each element",
            "stored": "{value} is computed here",
        },
        helps={
            (
                "follow_page",
                "loss-not-scalar",
            ): "reduce it first: `.mean()`, or `.sum()` (gradients are then larger by the number of elements)"
        },
    ),
    "loss-is-complex": Words(
        fault="`backward()` is called on a complex number",
        headline="<{value}><!value:this tensor> is complex; `backward()` starts from a real number",
        why="A complex number has no direction in which it gets smaller.",
        labels={
            "fault": "calls `backward()` on <{value}><!value:this tensor>",
            "made": "<{value} is computed here><!value:it is computed here>< by {op}>",
            "stored": "{value} gets its value here",
        },
        helps={("follow_page", "loss-is-complex"): "make a real loss of it: `.abs()` or `.real`"},
    ),
    "gradient-of-another-shape": Words(
        fault="the gradient passed to `backward()` has another shape",
        headline=(
            "the gradient passed to `backward()` does not have the shape of <{value}><!value:this tensor>< ({shape})>"
        ),
        why="It holds one number for each element of the output.",
        labels={
            "fault": "passes a gradient of another shape",
            "made": "<{value} is computed here><!value:it is computed here>< by {op}>",
            "stored": "{value} gets its value here",
        },
        helps={("follow_page", "gradient-of-another-shape"): "give it the output's shape: `torch.ones_like(output)`"},
    ),
    "gradients-not-one-each": Words(
        fault="not every output has its gradient",
        headline="there is not one gradient for each output",
        why="With several outputs, each needs its own entry; `None` stands for 1 of a scalar.",
        labels={"fault": "outputs and gradients differ in number"},
        helps={("follow_page", "gradients-not-one-each"): "pass one gradient for each output"},
    ),
    "func-grad-not-scalar": Words(
        fault="`torch.func.grad` of a function that returns several numbers",
        headline="`torch.func.grad` is given a function that returns several numbers",
        why="`torch.func.grad` differentiates one number.",
        labels={"fault": "the function returns several numbers"},
        helps={
            ("follow_page", "func-grad-not-scalar"): (
                "reduce inside the function (`.sum()`), or use `torch.func.jacrev`"
            )
        },
    ),
}
