"""AFT514: autograd cannot follow what is done here."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Severity
from afterward.model.history import History
from afterward.rules._raised import raised, told
from afterward.rules._registry import rule


@rule("AFT514", Severity.ERROR)
def autograd_cannot_follow(history: History) -> Iterator[Diagnosis]:
    """Autograd cannot follow what is done here: an operation without a derivative, a number taken out under `vmap`."""
    return raised(history, "AFT514")


WORDS = {
    "no-derivative": told(
        "an operation without a derivative is differentiated",
        "an operation without a derivative is differentiated",
        "{said}. PyTorch has no formula for the gradient of this operation.",
        here="needs its derivative",
        made="this operation has no derivative",
        help="use an operation that has one, or `.detach()` its input if no gradient should flow through it",
    ),
    "form-without-derivative": told(
        "an operation is differentiated in a form that has no derivative",
        "an operation is differentiated in a form that has no derivative",
        "{said}.",
        here="needs its derivative",
        made="this operation has no derivative in this form",
        help='use the form that has one, `mode="reduced"` for `qr`; or `.detach()` its input',
    ),
    "argument-not-differentiable": told(
        "an argument of a function requires gradients, and the function has none for it",
        "<{value}><!value:an argument> requires gradients, and this function has no gradient for it",
        "{said}.",
        here="passes it to the function",
        help="pass it without its graph: `.detach()`; what it was computed from then gets no gradient from here. To "
        "train it, compute the loss without this argument: `(losses * weight).mean()`",
    ),
    "chunked-loss-backward-twice": told(
        "a loss that is computed in chunks is differentiated twice",
        "`linear_cross_entropy` handed its gradients over to an earlier `backward()`",
        "In chunks it computes its gradients in the forward pass, and hands them over once. `retain_graph=True` has no "
        "effect on that.",
        here="asks it for its gradients again",
        help="call `backward()` once, or create its options with `allow_retain_graph=True`",
    ),
    "out-argument-with-gradients": told(
        "`out=` is used where gradients are recorded",
        "`out=` cannot be used with tensors that require gradients",
        "The result would overwrite a tensor that the graph may need.",
        here="writes into the tensor given as `out=`",
        help="assign the result to a name instead of passing `out=`",
    ),
    "resized-graph-tensor": told(
        "a tensor that requires gradients is resized",
        "<{value}><!value:a tensor> requires gradients and is resized in place",
        "A graph keeps the shape of each tensor.",
        here="resizes <{value}><!value:it>",
        help="make a new tensor: `reshape`, a slice, or `torch.cat`",
    ),
    "view-detached-in-place": told(
        "a view is detached in place",
        "<{value}><!value:this tensor> is a view, and is detached in place",
        "A view and its base share their numbers and their graph.",
        here="detaches it in place",
        help="use `.detach()` and assign its result",
    ),
    "saved-tensor-detached-in-place": told(
        "a tensor that a graph has saved was detached in place",
        "<{value}><!value:a tensor> was detached in place after an operation had saved it",
        "`detach_()` takes the tensor itself out of the graph, and the backward of an operation that saved it needs "
        "to know where it came from.",
        here="needs it",
        stored="detaches {value} in place",
        help="use `.detach()` and assign its result: the name then holds another tensor, and the graph keeps its own",
    ),
    "recurrent-layer-in-eval-mode": told(
        "a recurrent layer in eval mode is differentiated",
        "a recurrent layer in eval mode is differentiated on a GPU",
        "In eval mode cuDNN keeps nothing of a recurrent layer for a backward pass.",
        here="needs what was not kept",
        help="call `train()` on the model before the forward pass, or switch cuDNN off around it: "
        "`torch.backends.cudnn.flags(enabled=False)`",
    ),
    "recurrent-layer-differentiated-twice": told(
        "a recurrent layer is differentiated twice on a GPU",
        "a recurrent layer is differentiated twice, which cuDNN cannot do",
        "For a recurrent layer cuDNN has a gradient, and no gradient of that gradient.",
        here="needs a second derivative",
        help="compute the layer's forward pass without cuDNN: `with torch.backends.cudnn.flags(enabled=False):`",
    ),
    "vmap-item": told(
        "a number is taken out of a tensor under `vmap`",
        "one number is taken out of a tensor under `vmap`",
        "Under `vmap` a tensor stands for a whole batch, so it has no single number and no single truth value.",
        here="takes one number out",
        help="stay with tensors: `torch.where(condition, a, b)` instead of `if`, no `.item()`",
    ),
    "requires-grad-inside-transform": told(
        "`requires_grad_()` is called inside a `torch.func` transform",
        "`requires_grad_()` is called inside a `torch.func` transform",
        "`torch.func.grad` differentiates with respect to the function's arguments, whatever their flags.",
        here="calls `requires_grad_()`",
        help="remove it, and pass the tensor as an argument of the function",
    ),
    "negative-slope-in-place": told(
        "an activation with a negative slope writes in place",
        "an activation with a negative slope was computed in place, so its gradient cannot be computed",
        "Only the output is left, and with a negative slope its sign does not say which side of zero the input was on.",
        here="needs its gradient",
        help="pass `inplace=False`, or make the slope positive",
    ),
    "pack-hook-writes": told(
        "a hook for saved tensors overwrites what it is given",
        "a pack hook overwrites the value that is saved",
        "It is given the very tensor that the program goes on computing with.",
        here="saves a value, and calls the pack hook",
        help="return a new tensor from the pack hook: `saved * 0.5` instead of `saved.mul_(0.5)`",
    ),
}
