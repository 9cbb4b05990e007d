"""AFT511: a checkpointed function does something else when `backward()` calls it again."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Severity
from afterward.model.history import History
from afterward.rules._raised import raised, told
from afterward.rules._registry import rule


@rule("AFT511", Severity.ERROR)
def checkpoint_differs(history: History) -> Iterator[Diagnosis]:
    """A checkpointed function does something else when `backward()` calls it again."""
    return raised(history, "AFT511")


_AGAIN = "calls it again, and it does something else"
_MADE = "part of what was recorded the first time"
_ITSELF = "make the function depend on its arguments alone"

WORDS = {
    "checkpoint-saved-another-number": told(
        "a checkpointed function saved another number of tensors the second time",
        "a checkpointed function does something else when `backward()` calls it again",
        "A checkpoint saves nothing and calls the function again during `backward()`. The second call executed other "
        "operations: the function depends on a counter, a cache, an attribute, a random number or the mode.",
        here=_AGAIN,
        made=_MADE,
        help=_ITSELF,
    ),
    "checkpoint-saved-another-shape": told(
        "a checkpointed function saved tensors of another shape the second time",
        "a checkpointed function computes tensors of another shape when `backward()` calls it again",
        "A checkpoint saves nothing and calls the function again during `backward()`, and its tensors then had another "
        "shape, type or device.",
        here=_AGAIN,
        made=_MADE,
        help=_ITSELF,
    ),
    "checkpoint-with-grad": told(
        "a reentrant checkpoint is used with `autograd.grad`",
        "a reentrant checkpoint cannot be used with `autograd.grad` or `inputs=`",
        "It calls `backward()` inside the backward pass.",
        here="differentiates through it",
        made="the checkpoint is made here",
        help="pass `use_reentrant=False` to `checkpoint`",
    ),
    "checkpoint-returns-no-graph": told(
        "a checkpointed function returns values without a graph",
        "<{value}><!value:the checkpointed function> returns values without a graph",
        "The checkpoint promised gradients, because an input requires them, and called the function again during "
        "`backward()`: what it returned is connected to nothing. It computes under `no_grad`, or detaches its result.",
        here="calls it again",
        made="<{value} is checkpointed here><!value:checkpointed here>",
        stored="returns what has no graph",
        help="call it without `checkpoint`, or remove its `no_grad` or `.detach()` if it should be trained",
    ),
    "selective-checkpoint-twice": told(
        "two backward passes over a selective checkpoint",
        "a second backward pass over what a selective checkpoint computed",
        "A selective checkpoint keeps some results for one backward pass and releases them in it; "
        "`retain_graph=True` does not keep them.",
        here="the second pass",
        help="add the losses and call `backward()` once, or call `checkpoint` without `context_fn`",
    ),
}
