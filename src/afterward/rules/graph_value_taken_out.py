"""AFT503: a tensor with a graph is copied, sent or converted to something that has no graph."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Severity
from afterward.model.history import History
from afterward.rules._raised import raised, told
from afterward.rules._registry import rule


@rule("AFT503", Severity.ERROR)
def graph_value_taken_out(history: History) -> Iterator[Diagnosis]:
    """A tensor with a graph is copied, sent or converted to something that has no graph."""
    return raised(history, "AFT503")


_BY_FUNCTION = told(
    "a Python function is applied to a tensor with a graph",
    "a Python function is applied to each number of <{value}><!value:this tensor>, which requires gradients",
    "Autograd cannot follow a Python function.",
    here="applies it to <{value}><!value:this tensor>",
    help="write it with tensor operations, or use `.detach()`",
)

WORDS = {
    "numpy-of-a-graph-tensor": told(
        "a tensor with a graph is converted to numpy",
        "<{value}><!value:this tensor> still has its graph, and is converted to numpy",
        "A numpy array has no graph: no gradients flow through what is computed with it.",
        here="converts <{value}><!value:this tensor> to numpy",
        stored="{value} is stored here, with its graph",
        help="detach it where only the numbers are needed (`.detach()`, or `.item()` for one number); if the loss "
        "depends on them, use torch operations instead of numpy",
    ),
    "non-leaf-copied": told(
        "an object that holds a graph is deep-copied",
        "the deep copy reaches <{value}><!value:a tensor>, which holds a graph",
        "`copy.deepcopy` copies everything that an object holds; a computed tensor cannot be copied with its graph.",
        here="copies it",
        stored="{value} is stored here, with its graph",
        help="detach it before the copy, or where it is stored< ({stored})>; or copy `state_dict()` instead of the "
        "whole object",
    ),
    "non-leaf-sent": told(
        "a tensor with a graph is sent to another process",
        "<{value}><!value:this tensor> still has its graph, and is sent to another process",
        "Another process cannot continue this process's graph.",
        here="sends <{value}><!value:this tensor>",
        help="send the value without its graph: `.detach()`",
    ),
    "apply-on-a-graph-tensor": _BY_FUNCTION,
    "map-on-a-graph-tensor": _BY_FUNCTION,
    "dlpack-of-a-graph-tensor": told(
        "a tensor with a graph is handed to another library",
        "<{value}><!value:this tensor> still has its graph, and is handed to another library",
        "Another library does not continue torch's graph.",
        here="hands over <{value}><!value:this tensor>",
        help="hand over the value without its graph: `.detach()`",
    ),
}
