"""AFT513: a custom `autograd.Function` does not do what autograd asks of it."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Severity
from afterward.model.history import History
from afterward.rules._raised import raised, told
from afterward.rules._registry import rule


@rule("AFT513", Severity.ERROR)
def custom_function_wrong(history: History) -> Iterator[Diagnosis]:
    """A custom `autograd.Function` does not do what autograd asks of it."""
    return raised(history, "AFT513")


_ITS = "`backward` of <{value}><!value:a custom function>"
_MADE = "the function is applied here"
_STORED = "its `backward` returns here"

WORDS = {
    "custom-backward-count": told(
        "a custom `backward` returns another number of gradients than `forward` has arguments",
        _ITS + " does not return one gradient for each argument of `forward`",
        "{said}. It must return one gradient for each argument of `forward`, without `ctx`.",
        here="this `backward()` calls it",
        made=_MADE,
        stored=_STORED,
        help="return one value for each argument of `forward`, in the same order; `None` if it needs no gradient",
    ),
    "custom-backward-shape": told(
        "a custom `backward` returns a gradient of another shape than the argument",
        _ITS + " returns a gradient of another shape than the argument of `forward`",
        "{said}. The index counts the arguments of `forward`, without `ctx`, from 0.",
        here="this `backward()` calls it",
        made=_MADE,
        stored=_STORED,
        help="return a gradient of the argument's shape: sum over the dimensions that were broadcast",
    ),
    "custom-backward-for-no-tensor": told(
        "a custom `backward` returns a gradient for an argument that is no tensor",
        _ITS + " returns a gradient for an argument of `forward` that is no tensor",
        "{said}. Positions count the arguments of `forward`, without `ctx`, from 1.",
        here="this `backward()` calls it",
        made=_MADE,
        stored=_STORED,
        help="return `None` in that position, or pass a tensor to `forward` there",
    ),
    "custom-backward-returns-no-tensor": told(
        "a custom `backward` returns something that is neither a tensor nor `None`",
        _ITS + " returns something that is neither a tensor nor `None`",
        "{said}. A gradient is a tensor of the argument's shape.",
        here="this `backward()` calls it",
        made=_MADE,
        stored=_STORED,
        help="return a tensor, `torch.zeros_like(grad)` if the gradient is zero, or `None` for an argument without one",
    ),
    "marked-value-is-no-input": told(
        "a custom function marks something as overwritten that is not its input",
        "<{value}><!value:a custom function> marks something as overwritten (`mark_dirty`) that is not its input",
        "Autograd continues the graph of an overwritten input with the function that wrote it. A new tensor has none.",
        here="applies the function",
        stored="its `forward` returns here",
        help="remove `mark_dirty`, or mark the argument of `forward` that is written in place",
    ),
    "backward-not-written": told(
        "a custom function has no `backward`",
        "<{value}><!value:a custom function> has no `backward`",
        "Autograd records a custom function as one operation and calls its `backward`.",
        here="this `backward()` needs it",
        made=_MADE,
        stored=_STORED,
        help="write a static method `backward(ctx, *gradients)`, one gradient for each output of `forward`",
    ),
    "custom-function-not-static": told(
        "a custom function has methods that are not static",
        "a custom function has methods that are not static",
        "A custom function has no instances: autograd calls `forward` and `backward` on the class.",
        here="calls it",
        made=_MADE,
        stored=_STORED,
        help="put `@staticmethod` above `forward` and `backward`, and call `Function.apply(...)`",
    ),
    "differentiated-once-only": told(
        "a function that can be differentiated once is differentiated twice",
        "a custom function that can be differentiated once is differentiated a second time",
        "`@once_differentiable` says that this `backward` is not differentiable itself, so no gradient penalty and no "
        "second derivative goes through it.",
        here="differentiates it a second time",
        made="it is differentiated for the first time here",
        help="if its `backward` uses torch operations only, remove `@once_differentiable`; otherwise use another "
        "operation there",
    ),
    "saved-object-is-no-tensor": told(
        "a custom function saves something that is not a tensor",
        "`save_for_backward` is given something that is not a tensor",
        "`save_for_backward` keeps tensors; other values are attributes of `ctx`.",
        here="saves it",
        help="store it on the context: `ctx.factor = factor`",
    ),
    "written-input-not-returned": told(
        "a custom function overwrites an input and does not return it",
        "<{value}><!value:a custom function> marks an input as overwritten (`mark_dirty`) and does not return it",
        "The graph of an overwritten tensor continues with the function that wrote it, so `forward` has to return "
        "that very tensor.",
        here="applies the function",
        stored="its `forward` returns here",
        help="return the tensor itself from `forward`, or compute out of place and remove `mark_dirty`",
    ),
    "forward-not-written": told(
        "a custom function has no `forward`",
        "<{value}><!value:a custom function> has no `forward`",
        "`apply` calls the static method `forward(ctx, *arguments)` of the class.",
        here="applies the function",
        help="write a static method `forward(ctx, *arguments)`",
    ),
}
