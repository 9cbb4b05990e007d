"""AFT510: a gradient is infinite or not a number."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Severity
from afterward.model.history import History
from afterward.rules._raised import raised, told
from afterward.rules._registry import rule


@rule("AFT510", Severity.ERROR)
def gradient_not_finite(history: History) -> Iterator[Diagnosis]:
    """A gradient is infinite or not a number."""
    return raised(history, "AFT510")


WORDS = {
    "nan-in-backward": told(
        "a backward operation returned a value that is not finite",
        "<{op}<, recorded on {made},> returned a gradient that is not finite><!op:a gradient is not finite>",
        "Anomaly mode stopped the backward pass: {said}. <{op} is the first operation whose gradient was not finite; "
        "the gradient that came in was. It was computed from: {extents}.><!extents:The cause is this operation, or "
        "one that comes after it in the forward pass and returned an infinite gradient: `sqrt` or `norm` at 0, `log` "
        "of 0, a division by 0, `torch.where` whose unused side is infinite. `afterward fix` runs the program again "
        "and finds the first one.>",
        here="it happens in this `backward()`",
        made="computed here; the gradient of this operation is not finite",
        help="keep the input of that operation away from the edge: `torch.sqrt(x + 1e-8)`, `x.clamp(min=1e-8)`",
    ),
    "gradients-not-finite": told(
        "a gradient norm is not finite",
        "<{op}<, recorded on {made},> returned a gradient that is not finite><!op:the gradients are not finite, "
        "so they cannot be clipped>",
        "One of the gradients is infinite or not a number, so they cannot be clipped. <{op} is the first operation "
        "whose gradient was not finite; the gradient that came in was. It was computed from: {extents}.><!extents:"
        "`afterward fix` runs the program again and finds the operation.>",
        here="clips them",
        made="computed here; the gradient of this operation is not finite",
        help="keep the input of that operation away from the edge: `torch.sqrt(x + 1e-8)`, `x.clamp(min=1e-8)`",
    ),
}
