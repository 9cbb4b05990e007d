"""AFT515: an optimizer or a gradient scaler refuses what it is given."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Severity
from afterward.model.history import History
from afterward.rules._raised import raised, told
from afterward.rules._registry import rule


@rule("AFT515", Severity.ERROR)
def update_refused(history: History) -> Iterator[Diagnosis]:
    """An optimizer or a gradient scaler refuses: a parameter in two groups, gradients unscaled twice or not there."""
    return raised(history, "AFT515")


WORDS = {
    "parameter-in-two-groups": told(
        "a parameter is in two groups of an optimizer",
        "<{value}><?others: and {others}><!value:a parameter> <?others:are><!others:is> in two groups of the optimizer",
        "Each group would use the gradient of its parameters once, so one step would use this gradient twice.",
        here="passes it in a second group",
        help="leave it out of one group: for instance `[p for p in model.parameters() if id(p) not in others]` with "
        "`others = {id(p) for p in head.parameters()}`",
    ),
    "scaler-unscaled-twice": told(
        "gradients are unscaled twice in one step",
        "the gradients of <{value}><!value:an optimizer> are unscaled a second time before `update()`",
        "Each call divides the gradients by the scale, so the second would make them too small. `step()` of the scaler "
        "unscales by itself where that was not done.",
        here="unscales them again",
        help="call `unscale_` once between `backward()` and `step()`, and `update()` once at the end of each step",
    ),
    "scaler-without-gradients": told(
        "a gradient scaler steps an optimizer whose parameters have no gradient",
        "no parameter of <{value}><!value:an optimizer> has a gradient when the scaler steps it",
        "No `backward()` has reached one of its parameters since they were created or their gradients were cleared: "
        "the loss does not depend on them, belongs to another optimizer, or was disconnected from them.",
        here="unscales the gradients of <{value}><!value:an optimizer>, and finds none",
        help="call `scaler.scale(loss).backward()` on a loss that depends on its parameters, after `zero_grad()`; "
        "where there is none in this step, leave out `scaler.step` for this optimizer too",
    ),
    "half-gradients-unscaled": told(
        "a gradient scaler is used with parameters in half precision",
        "<{value}><!value:a parameter> is in half precision, and so is its gradient",
        "A scaler is for parameters in `float32` whose operations run in half precision under `autocast`. A gradient "
        "in `float16` would lose small values when it is unscaled.",
        here="unscales the gradients",
        stored="{value} gets its value here",
        help="keep the model in `float32`: remove `.half()` or `dtype=torch.float16` (of adapters too), and compute "
        "under `torch.autocast`",
    ),
    "sparse-gradient-refused": told(
        "an optimizer refuses a sparse gradient",
        "the gradient of <{value}><!value:a parameter> is sparse, and this optimizer takes dense ones only",
        "{said}. An embedding with `sparse=True` gets a gradient of the rows that were looked up.",
        here="this step refuses it",
        stored="{value} gets its value here",
        help="make the embedding without `sparse=True`, or step it with an optimizer of its own: "
        "`torch.optim.SparseAdam(embedding.parameters())`",
    ),
    "dense-gradient-refused": told(
        "an optimizer for sparse gradients refuses a dense one",
        "the gradient of <{value}><!value:a parameter> is dense, and this optimizer takes sparse ones only",
        "{said}. Only an embedding with `sparse=True` gets a sparse gradient.",
        here="this step refuses it",
        stored="{value} gets its value here",
        help="make the embedding with `sparse=True`, and step all other layers with an optimizer of their own",
    ),
    "closure-missing": told(
        "an optimizer that evaluates the loss itself is stepped without a closure",
        "`step()` of <{value}><!value:this optimizer> needs a closure",
        "It computes the loss several times in one step, with other parameters each time.",
        here="steps without a closure",
        stored="{value} gets its value here",
        help="put `zero_grad()`, the forward pass and `backward()` into a function that returns the loss, and call "
        "`step(closure)`",
    ),
}
