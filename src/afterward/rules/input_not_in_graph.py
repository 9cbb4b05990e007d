"""AFT506: the gradient of a tensor is asked for that no output was computed from."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Severity
from afterward.model.history import History
from afterward.rules._raised import raised, told
from afterward.rules._registry import rule


@rule("AFT506", Severity.ERROR)
def input_not_in_graph(history: History) -> Iterator[Diagnosis]:
    """The gradient of a tensor is asked for, by `autograd.grad` or by `.grad`, that no output was computed from."""
    return raised(history, "AFT506")


WORDS = {
    "input-not-in-the-graph": told(
        "the gradient of an input is asked for, and the output does not depend on it",
        "the output was not computed from <{value}><!value:one of the inputs>< and {others}>",
        "<?shared:{value} and the output are both computed from {shared}, but the output not from {value}: it is "
        "another tensor than the one that was used, even if the values are the same.><!shared:"
        "<?cut:{cut} on {cut_line} keeps the numbers and drops the graph, so the output is not connected to {value}.>"
        "<!cut:<{value}><!value:An input> is not connected to what is differentiated: it was not used, or a copy was "
        "used instead.>>",
        here="asks for the gradient of <{value}><!value:it>",
        help="compute the output from <{value}><!value:that tensor> itself<?shared:, or ask for the gradient of "
        "{shared}>; if it may be unused, pass `allow_unused=True`: its gradient is then `None`",
    ),
    "grad-of-leaf-is-none": told(
        "a gradient that no `backward()` has filled is used",
        "`.grad` of <{value}><!value:this tensor> is `None`: no `backward()` has reached it",
        "<{value}><!value:The tensor> is a leaf. Its `.grad` is `None` until a `backward()` of a loss that depends on "
        "it, and again after its gradient was cleared.",
        here="uses `.grad` of <{value}><!value:this tensor>, which is `None`",
        help="skip it where no loss has to depend on it (`if parameter.grad is not None:`); else use it in the "
        "forward pass, and call `backward()` before this line",
    ),
    "input-needs-no-gradient": told(
        "the gradient of an input is asked for, and it does not require gradients",
        "<{value}><!value:one of the inputs> does not require gradients, so none was recorded",
        "What is recorded is decided during the forward pass.",
        here="asks for the gradient of <{value}><!value:it>",
        stored="{value} is made here, without `requires_grad`",
        help="call `.requires_grad_()` on it before the forward pass",
    ),
    "strict-derivative-of-nothing": told(
        "a strict derivative of a function that does not depend on its input",
        "the function that is differentiated does not depend on its input",
        "{said}. It detaches the input, takes a number out of it, returns a constant, or is linear where a second "
        "derivative is asked for.",
        here="differentiates it, with `strict=True`",
        help="compute the result from the input with torch operations, or pass `strict=False` if zero is right",
    ),
}
