"""AFT502: a tensor that was computed is used as if it were a leaf: only leaves are trained and keep a gradient."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Severity
from afterward.model.history import History
from afterward.rules._raised import raised, told
from afterward.rules._registry import rule


@rule("AFT502", Severity.ERROR)
def not_a_leaf(history: History) -> Iterator[Diagnosis]:
    """A tensor that was computed is used as if it were a leaf: only leaves are trained and keep a gradient."""
    return raised(history, "AFT502")


_IS_COMPUTED = "<{value}><!value:This tensor> is the result of an operation< (its `grad_fn` is {op})>, not a leaf"

WORDS = {
    "non-leaf-optimized": told(
        "an optimizer is given a computed tensor",
        "<{value}><!value:this tensor> cannot be optimized: it was computed< ({made})>, and is not a leaf",
        _IS_COMPUTED + ". An optimizer updates leaves: its updates would be lost with the next computation.",
        here="the optimizer is given <{value}><!value:this tensor>",
        help="make it a leaf after the last operation: `.detach().requires_grad_()`, or `torch.nn.Parameter` of it",
    ),
    "grad-is-none": told(
        "a gradient that is not there is used",
        "`.grad` of <{value}><!value:this tensor> is `None`: it was computed< ({made})>, and is not a leaf",
        _IS_COMPUTED + ": `backward()` fills `.grad` of leaves only.",
        here="uses `.grad` of <{value}><!value:this tensor>, which is `None`",
        help="after an update, make the new value a leaf again (`.detach().requires_grad_()`), or update the leaf in "
        "place under `torch.no_grad()`; to keep the gradient of a computed tensor, call `retain_grad()` on it before "
        "`backward()`",
    ),
    "grad-of-non-leaf": told(
        "`.grad` of a computed tensor is read",
        "`.grad` of <{value}><!value:this tensor> is read, and it is not a leaf",
        _IS_COMPUTED + ": `backward()` fills `.grad` of leaves only.",
        here="reads `.grad` of <{value}><!value:this tensor>",
        help="call `retain_grad()` on it before `backward()`, or make it a leaf",
    ),
    "requires-grad-of-non-leaf": told(
        "`requires_grad` of a computed tensor is set",
        "`requires_grad` of <{value}><!value:this tensor> cannot be set: it was computed< ({made})>",
        "Whether a computed tensor requires gradients follows from what it was computed from.",
        here="sets `requires_grad` of <{value}><!value:this tensor>",
        help="use the detached value: `.detach()`; to freeze a layer, freeze its parameters before the forward pass",
    ),
    "tensor-as-parameter": told(
        "a computed tensor is assigned to a parameter",
        "<{value}><!value:a computed tensor> cannot replace a parameter: it is not an `nn.Parameter`",
        "A module's parameter is a leaf that the optimizer holds; a computed tensor would take its place.",
        here="assigns it to a parameter",
        help="to train what it was computed from, pass it to the layer's function (`F.linear(x, weight)`) or to "
        "`torch.func.functional_call`; to set the parameter's value, copy it: `with torch.no_grad(): "
        "parameter.copy_(value)`",
    ),
    "hook-on-non-leaf": told(
        "a hook for leaves is registered on a computed tensor",
        "<{value}><!value:this tensor> cannot have a post-accumulate hook: it was computed< ({made})>",
        "Gradients are accumulated in leaves only.",
        here="registers it on <{value}><!value:this tensor>",
        help="use `register_hook`, which is called with the gradient of any tensor",
    ),
}
