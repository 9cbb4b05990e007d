"""AFT508: a view is written in place that autograd cannot follow."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Severity
from afterward.model.history import History
from afterward.model.words import Words
from afterward.rules import rule
from afterward.rules._raised import raised


@rule("AFT508", Severity.ERROR)
def view_written_in_place(history: History) -> Iterator[Diagnosis]:
    """A view is written in place that autograd cannot follow: one of several views, or one taken in another mode."""
    return raised(history, "AFT508")


WORDS = {
    "one-of-several-views-written": Words(
        fault="one of several views of a tensor is written in place",
        headline=(
            "<{value}><!value:this tensor> is one of several views that one call returned, and is written in place"
        ),
        why=(
            "`unbind`, `split`, `chunk` and iterating over a tensor return several views at once; a "
            "write into one of them cannot be recorded."
        ),
        labels={
            "fault": "writes into <{value}><!value:this tensor>",
            "made": "{value} becomes a view here",
            "stored": "{value} becomes a view here",
        },
        helps={
            (
                "follow_page",
                "one-of-several-views-written",
            ): "write out of place (`row = row + 1`), or index the tensor itself (`out[i] += 1`)"
        },
    ),
    "view-of-no-grad-written": Words(
        fault="a view taken under `no_grad` is written where gradients are recorded",
        headline=(
            "<{value}><!value:this tensor> was taken under `no_grad`, and is written where gradients are recorded"
        ),
        why="PyTorch does not guess whether the write should be recorded.",
        labels={
            "fault": "writes into <{value}><!value:this tensor>",
            "made": "{value} becomes a view here",
            "stored": "{value} becomes a view here",
        },
        helps={("follow_page", "view-of-no-grad-written"): "take the view and write into it in the same mode"},
    ),
    "view-of-inference-written": Words(
        fault="a view taken in inference mode is written outside of it",
        headline="<{value}><!value:this tensor> was taken in inference mode, and is written outside of it",
        why="PyTorch does not guess whether the write should be recorded.",
        labels={
            "fault": "writes into <{value}><!value:this tensor>",
            "made": "{value} becomes a view here",
            "stored": "{value} becomes a view here",
        },
        helps={
            (
                "follow_page",
                "view-of-inference-written",
            ): "take the view and write into it in the same mode, or use `torch.no_grad()`"
        },
    ),
    "view-of-custom-function-written": Words(
        fault="what a custom function returned as a view is written in place",
        headline="<{value}><!value:this tensor> is a view that a custom function returned, and is written in place",
        why="The write would skip the function's own `backward`.",
        labels={
            "fault": "writes into <{value}><!value:this tensor>",
            "made": "{value} becomes a view here",
            "stored": "{value} becomes a view here",
        },
        helps={("follow_page", "view-of-custom-function-written"): "write out of place, or into a copy: `.clone()`"},
    ),
    "expanded-tensor-written": Words(
        fault="an expanded tensor is written in place",
        headline=(
            "<{value}><!value:this tensor> repeats its numbers without copies (`expand`), and is written in place"
        ),
        why="Several of its elements are one number in memory.",
        labels={
            "fault": "writes into <{value}><!value:this tensor>",
            "made": "{value} becomes a view here",
            "stored": "{value} becomes a view here",
        },
        helps={("follow_page", "expanded-tensor-written"): "copy it first: `.expand(...).clone()`"},
    ),
}
