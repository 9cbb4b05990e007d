"""AFT511: a checkpointed function does something else when `backward()` calls it again."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Severity
from afterward.model.history import History
from afterward.model.words import Words
from afterward.rules import rule
from afterward.rules._raised import raised


@rule("AFT511", Severity.ERROR)
def checkpoint_differs(history: History) -> Iterator[Diagnosis]:
    """A checkpointed function does something else when `backward()` calls it again."""
    return raised(history, "AFT511")


WORDS = {
    "checkpoint-saved-another-number": Words(
        fault="a checkpointed function saved another number of tensors the second time",
        headline="a checkpointed function does something else when `backward()` calls it again",
        why=(
            "A checkpoint saves nothing and calls the function again during `backward()`. It then "
            "took another way: it depends on a counter, a cache, an attribute, a random number or "
            "the mode."
        ),
        labels={"fault": "calls it again, and it does something else"},
        helps={("follow_page", "checkpoint-saved-another-number"): "make the function depend on its arguments alone"},
    ),
    "checkpoint-saved-another-shape": Words(
        fault="a checkpointed function saved tensors of another shape the second time",
        headline="a checkpointed function computes tensors of another shape when `backward()` calls it again",
        why=(
            "A checkpoint saves nothing and calls the function again during `backward()`, and its "
            "tensors then had another shape, type or device."
        ),
        labels={"fault": "calls it again, and it does something else"},
        helps={("follow_page", "checkpoint-saved-another-shape"): "make the function depend on its arguments alone"},
    ),
    "checkpoint-with-grad": Words(
        fault="a reentrant checkpoint is used with `autograd.grad`",
        headline="a reentrant checkpoint cannot be used with `autograd.grad` or `inputs=`",
        why="It calls `backward()` inside the backward pass.",
        labels={"fault": "differentiates through it"},
        helps={("follow_page", "checkpoint-with-grad"): "pass `use_reentrant=False` to `checkpoint`"},
    ),
}
