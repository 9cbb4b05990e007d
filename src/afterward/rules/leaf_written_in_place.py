"""AFT501: a trained tensor is written in place where gradients are recorded."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Severity
from afterward.model.history import History
from afterward.rules._raised import raised, told
from afterward.rules._registry import rule


@rule("AFT501", Severity.ERROR)
def leaf_written_in_place(history: History) -> Iterator[Diagnosis]:
    """A tensor that is trained (a leaf that requires gradients) is written in place where gradients are recorded."""
    return raised(history, "AFT501")


WORDS = {
    "leaf-written-in-place": told(
        "a trained tensor is written in place",
        "<{value}><!value:this tensor> is a leaf that requires gradients, and is written in place where gradients are "
        "recorded",
        "An in-place operation would turn the leaf into the result of an operation, and an optimizer could no longer "
        "train it. An update of a trained value is not part of the model.",
        here="writes into <{value}><!value:this tensor>",
        stored="{value} is a leaf that requires gradients",
        help="put the write under `with torch.no_grad():`; the values are the same, and nothing is recorded",
    ),
    "view-of-leaf-written-in-place": told(
        "a part of a trained tensor is written in place",
        "a part of <{base}><!base:<{value}><!value:this tensor>>, a leaf that requires gradients, is written in place "
        "where gradients are recorded",
        "An item, a slice or a `view` is no copy: writing into it writes into the leaf itself.",
        here="writes into <{base}, through {value}><!base:a view of <{value}><!value:this tensor>>",
        made="<?base:{value} is a view of {base}><!base:{value} is a leaf that requires gradients>",
        stored="<?base:{value} is a view of {base}><!base:{value} is a leaf that requires gradients>",
        help="put the write under `with torch.no_grad():`; if it belongs to the computation, write into a copy: "
        "`.clone()`",
    ),
}
