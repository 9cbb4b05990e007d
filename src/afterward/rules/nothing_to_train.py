"""AFT504: there is nothing that could be trained: integers cannot have gradients, and an optimizer needs parameters."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Severity
from afterward.model.history import History
from afterward.rules._raised import raised, told
from afterward.rules._registry import rule


@rule("AFT504", Severity.ERROR)
def nothing_to_train(history: History) -> Iterator[Diagnosis]:
    """There is nothing that could be trained: integers cannot have gradients, and an optimizer needs parameters."""
    return raised(history, "AFT504")


WORDS = {
    "integer-requires-grad": told(
        "an integer tensor is asked to require gradients",
        "<{value} is an integer tensor, and><!value:an integer tensor> cannot require gradients",
        "A gradient says how the result changes when a value changes by a little; integers do not change by a little.",
        here="<asks for gradients of {value}><!value:makes an integer tensor that requires gradients>",
        help="make it a floating-point tensor (`dtype=torch.float32`, or `1.0` instead of `1`); for indices and "
        "counters, which are not trained, use `register_buffer` or `requires_grad=False`",
    ),
    "nothing-to-optimize": told(
        "an optimizer gets no parameters",
        "the optimizer gets no parameters",
        "<{value} holds its layers in a plain list or dict, so they are not registered as parts of the model.>"
        "<!value:The model has no registered parameters here: layers in a plain list or dict are not registered, and "
        "an iterator that was used up gives nothing.>",
        here="there are no parameters",
        help="keep layers in `torch.nn.ModuleList` or `torch.nn.ModuleDict`, and pass a list: "
        "`list(model.parameters())`",
    ),
    "optimizer-given-a-tensor": told(
        "an optimizer is given one tensor instead of several",
        "the optimizer is given one tensor; it takes a list of them",
        "An optimizer goes over its parameters; a tensor would be taken apart into rows, which are not leaves.",
        here="passes one tensor",
        help="pass a list: `[tensor]`",
    ),
    "optimized-object-is-no-tensor": told(
        "an optimizer is given something that is not a tensor",
        "the optimizer is given something that is not a tensor",
        "{said}. Often `named_parameters()` (pairs of name and tensor) or a list of modules was passed.",
        here="passes it",
        help="pass `model.parameters()`",
    ),
    "no-inputs": told(
        "gradients are asked for, with an empty list of inputs",
        "the list of inputs is empty",
        "The inputs are the tensors whose gradients are wanted; an iterator that was used up gives none.",
        here="asks for gradients, with no inputs",
        help="pass a list: `list(model.parameters())`",
    ),
}
