"""AFT505: `backward()` starts from something other than one number, or a gradient has another shape than its tensor."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Severity
from afterward.model.history import History
from afterward.rules._raised import raised, told
from afterward.rules._registry import rule


@rule("AFT505", Severity.ERROR)
def gradient_does_not_fit(history: History) -> Iterator[Diagnosis]:
    """`backward()` starts from something other than one number, or a gradient has another shape than its tensor."""
    return raised(history, "AFT505")


WORDS = {
    "loss-not-scalar": told(
        "`backward()` is called on a loss with several elements",
        "<{value}><!value:this tensor> has several elements< (shape {shape})>; `backward()` starts from one number",
        "Without a `gradient` argument, `backward()` can only start from one number.",
        here="calls `backward()` on <{value}><!value:this tensor>",
        made="<{value} is computed here><!value:it is computed here>, one loss for each element",
        help="reduce it first: `.mean()`, or `.sum()` (gradients are then larger by the number of elements)",
    ),
    "loss-is-complex": told(
        "`backward()` is called on a complex number",
        "<{value}><!value:this tensor> is complex; `backward()` starts from a real number",
        "Complex numbers have no order, so there is nothing to minimize.",
        here="calls `backward()` on <{value}><!value:this tensor>",
        help="make a real loss of it: `.abs()` or `.real`",
    ),
    "loss-of-another-dtype": told(
        "a gradient has another dtype than its tensor",
        "a gradient has another dtype than its tensor",
        "{said}. Usually the target has another dtype than the model's output.",
        here="it happens in this `backward()`",
        help="give the target the output's dtype: `target.to(output.dtype)`",
    ),
    "gradient-of-another-shape": told(
        "the gradient passed to `backward()` has another shape",
        "the gradient passed to `backward()` does not have the shape of <{value}><!value:this tensor>< ({shape})>",
        "A gradient holds one number for each element of the output.",
        here="passes a gradient of another shape",
        help="pass a gradient of this tensor's shape; to sum over all elements, `torch.ones_like(output)`",
    ),
    "gradients-not-one-each": told(
        "not every output has its gradient",
        "there is not one gradient for each output",
        "With several outputs, each needs its own entry; `None` stands for 1 of a scalar.",
        here="outputs and gradients differ in number",
        help="pass one gradient for each output",
    ),
    "gradient-is-no-tensor": told(
        "the gradient passed to `backward()` is not a tensor",
        "the gradient passed to `backward()` is not a tensor",
        "A gradient holds one number for each element of the output, as a tensor.",
        here="passes something else",
        help="pass a tensor of the output's shape, such as `torch.ones_like(output)`",
    ),
    "assigned-gradient-of-another-size": told(
        "a gradient of another shape is assigned to `.grad`",
        "the gradient assigned to `.grad` does not have the shape of <{value}><!value:its tensor>< ({shape})>",
        "`.grad` has the shape of its tensor.",
        here="assigns it<?value: to the gradient of {value}>",
        help="give it that shape, `.view_as(tensor)`, unless it belongs to another parameter",
    ),
    "assigned-gradient-of-another-type": told(
        "a gradient of another dtype or device is assigned to `.grad`",
        "the gradient assigned to `.grad` does not have the dtype or the device of <{value}><!value:its tensor>",
        "`.grad` has the dtype and the device of its tensor. PyTorch says: {said}.",
        here="assigns it<?value: to the gradient of {value}>",
        help="convert it: `.to(tensor)`",
    ),
    "func-grad-not-scalar": told(
        "`torch.func.grad` of a function that returns several numbers",
        "`torch.func.grad` is given a function that returns several numbers",
        "`torch.func.grad` differentiates one number.",
        here="the function returns several numbers",
        help="reduce inside the function (`.sum()`), or use `torch.func.jacrev`",
    ),
    "hook-returns-another-count": told(
        "a hook returns another number of gradients",
        "<{value}><!value:a backward hook> does not return one gradient for each that it replaces",
        "{said}. What a hook returns replaces the gradients that a module's inputs (in a pre-hook: its outputs) or a "
        "node would get; where no input requires a gradient there is none to replace.",
        here="this `backward()` calls the hook",
        stored="{value} returns here",
        help="return a tuple with one gradient for each of them, or nothing to leave them as they are",
    ),
    "hook-changes-the-gradient": told(
        "a hook returns a gradient that does not fit its tensor",
        "the hook <{value} ><!value:>returns something other than a gradient of its tensor's shape and dtype",
        "{said}. What a hook returns replaces the gradient; a lambda returns the value of its expression.",
        here="this `backward()` calls the hook",
        stored="{value} returns here",
        help="return a tensor of the gradient's shape and dtype, or nothing to leave the gradient as it is",
    ),
}
