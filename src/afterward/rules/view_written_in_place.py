"""AFT508: a view is written in place that autograd cannot follow."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Severity
from afterward.model.history import History
from afterward.rules._raised import raised, told
from afterward.rules._registry import rule


@rule("AFT508", Severity.ERROR)
def view_written_in_place(history: History) -> Iterator[Diagnosis]:
    """A view is written in place that autograd cannot follow: one of several views, or one taken in another mode."""
    return raised(history, "AFT508")


_INTO = "writes into <{value}><!value:this tensor>"
_VIEW = "{value} becomes a view here"
_MODE = "PyTorch does not guess whether the write should be recorded."

WORDS = {
    "one-of-several-views-written": told(
        "one of several views of a tensor is written in place",
        "<{value}><!value:this tensor> is one of several views that one call returned, and is written in place",
        "`unbind`, `split`, `chunk` and iterating over a tensor return several views at once; a write into one of them "
        "cannot be recorded.",
        here=_INTO,
        made=_VIEW,
        stored=_VIEW,
        help="make a new tensor instead of writing in place, or index the tensor itself (`out[i] += 1`)",
    ),
    "view-of-no-grad-written": told(
        "a view taken under `no_grad` is written where gradients are recorded",
        "<{value}><!value:this tensor> was taken under `no_grad`, and is written where gradients are recorded",
        _MODE,
        here=_INTO,
        made=_VIEW,
        stored=_VIEW,
        help="take the view and write into it in the same mode",
    ),
    "view-of-inference-written": told(
        "a view taken in inference mode is written outside of it",
        "<{value}><!value:this tensor> was taken in inference mode, and is written outside of it",
        _MODE,
        here=_INTO,
        made=_VIEW,
        stored=_VIEW,
        help="take the view and write into it in the same mode, or use `torch.no_grad()`",
    ),
    "view-of-custom-function-written": told(
        "what a custom function returned as a view is written in place",
        "<{value}><!value:this tensor> is a view that a custom function returned, and is written in place",
        "The write would skip the function's own `backward`.",
        here=_INTO,
        made=_VIEW,
        stored=_VIEW,
        help="make a new tensor instead of writing in place, or write into a copy: `.clone()`",
    ),
    "expanded-tensor-written": told(
        "an expanded tensor is written in place",
        "<{value}><!value:this tensor> repeats its numbers without copies (`expand`), and is written in place",
        "Several of its elements are one number in memory.",
        here=_INTO,
        made=_VIEW,
        stored=_VIEW,
        help="make a new tensor instead of writing in place, or copy it first: `.expand(...).clone()`",
    ),
}
