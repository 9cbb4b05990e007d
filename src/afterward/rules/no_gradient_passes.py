"""AFT507: a hook or `retain_grad()` is put on a tensor that never gets a gradient."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Severity
from afterward.model.history import History
from afterward.rules._raised import raised, told
from afterward.rules._registry import rule


@rule("AFT507", Severity.ERROR)
def no_gradient_passes(history: History) -> Iterator[Diagnosis]:
    """A hook or `retain_grad()` is put on a tensor that never gets a gradient."""
    return raised(history, "AFT507")


_WHY = (
    "<{value}><!value:This tensor> does not require gradients<?cut:, because of {cut} on {cut_line}><!cut:: it was "
    "computed from data or frozen parameters alone, detached, or computed under `no_grad`>."
)
_FROM_NOTHING = "{value} is computed here, from nothing that requires gradients"

WORDS = {
    "hook-without-grad": told(
        "a hook is registered on a tensor that gets no gradient",
        "<{value}><!value:this tensor> gets no gradient, so a hook on it would never be called",
        _WHY,
        here="registers a hook on <{value}><!value:this tensor>",
        stored=_FROM_NOTHING,
        cut="{cut} switches gradients off here",
        help="register it on a tensor that depends on something that requires gradients (where all parameters are "
        "frozen, call `.requires_grad_()` on the input)",
    ),
    "retain-grad-without-grad": told(
        "`retain_grad()` is called on a tensor that gets no gradient",
        "<{value}><!value:this tensor> gets no gradient, so there is none to retain",
        _WHY,
        here="calls `retain_grad()` on <{value}><!value:this tensor>",
        stored=_FROM_NOTHING,
        cut="{cut} switches gradients off here",
        help="call `.requires_grad_()` on what it is computed from",
    ),
}
