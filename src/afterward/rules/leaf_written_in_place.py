"""AFT501: a trained tensor is written in place where gradients are recorded."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Severity
from afterward.model.history import History
from afterward.model.words import Words
from afterward.rules import rule
from afterward.rules._raised import raised


@rule("AFT501", Severity.ERROR)
def leaf_written_in_place(history: History) -> Iterator[Diagnosis]:
    """A tensor that is trained (a leaf that requires gradients) is written in place where gradients are recorded."""
    return raised(history, "AFT501")


WORDS = {
    "leaf-written-in-place": Words(
        fault="a trained tensor is written in place",
        headline=(
            "<{value}><!value:this tensor> is a leaf that requires gradients, and is written in "
            "place where gradients are recorded"
        ),
        why=(
            "An in-place operation would turn the leaf into the result of an operation, and an "
            "optimizer could no longer train it. An update of a trained value is not part of the "
            "model."
        ),
        labels={
            "fault": "writes into <{value}><!value:this tensor>",
            "stored": "{value} is a leaf that requires gradients",
        },
        helps={
            (
                "follow_page",
                "leaf-written-in-place",
            ): "put the update under `with torch.no_grad():`; the values are the same, and nothing is recorded"
        },
    ),
    "view-of-leaf-written-in-place": Words(
        fault="a part of a trained tensor is written in place",
        headline=(
            "a part of <{value}><!value:this tensor>, a leaf that requires gradients, is written in "
            "place where gradients are recorded"
        ),
        why="An item or a slice is a view: writing into it writes into the leaf itself.",
        labels={
            "fault": "writes into a view of <{value}><!value:this tensor>",
            "stored": "{value} is a leaf that requires gradients",
        },
        helps={
            (
                "follow_page",
                "view-of-leaf-written-in-place",
            ): (
                "put the write under `with torch.no_grad():`; if it belongs to the computation, "
                "write into a copy: `.clone()`"
            )
        },
    ),
}
