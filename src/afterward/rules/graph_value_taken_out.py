"""AFT503: a tensor with a graph is copied, sent or converted to something that has no graph."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Severity
from afterward.model.history import History
from afterward.model.words import Words
from afterward.rules import rule
from afterward.rules._raised import raised


@rule("AFT503", Severity.ERROR)
def graph_value_taken_out(history: History) -> Iterator[Diagnosis]:
    """A tensor with a graph is copied, sent or converted to something that has no graph."""
    return raised(history, "AFT503")


def _by_function(page: str) -> Words:
    return Words(
        fault="a Python function is applied to a tensor with a graph",
        headline=(
            "a Python function is applied to each number of <{value}><!value:this tensor>, which requires gradients"
        ),
        why="Autograd cannot follow a Python function.",
        labels={
            "fault": "applies it to <{value}><!value:this tensor>",
            "made": "<{value} is computed here><!value:it is computed here>< by {op}>",
            "stored": "{value} gets its value here",
        },
        helps={("follow_page", page): "write it with tensor operations, or use `.detach()`"},
    )


WORDS = {
    "numpy-of-a-graph-tensor": Words(
        fault="a tensor with a graph is converted to numpy",
        headline="<{value}><!value:this tensor> still has its graph, and is converted to numpy",
        why=(
            "A numpy array has no graph: what is computed with it gets no gradients, so PyTorch asks for it to be said."
        ),
        labels={
            "fault": "converts <{value}><!value:this tensor> to numpy",
            "made": "<{value} is computed here><!value:it is computed here>< by {op}>",
            "stored": "{value} gets its value here",
        },
        helps={
            (
                "follow_page",
                "numpy-of-a-graph-tensor",
            ): (
                "write `.detach().numpy()` where only the numbers are wanted; gradients do not flow "
                "through them. If the loss depends on it, stay in torch"
            )
        },
    ),
    "non-leaf-copied": Words(
        fault="an object that holds a graph is deep-copied",
        headline="the deep copy meets <{value}><!value:a tensor>, which holds a graph",
        why="`copy.deepcopy` copies all that an object holds, and a computed tensor cannot be copied with its graph.",
        labels={
            "fault": "copies it",
            "made": "<{value} is computed here><!value:it is computed here>",
            "stored": "{value} is stored here, with its graph",
        },
        helps={
            (
                "follow_page",
                "non-leaf-copied",
            ): "store it detached< ({stored})>, or copy `state_dict()` instead of the whole object"
        },
    ),
    "non-leaf-sent": Words(
        fault="a tensor with a graph is sent to another process",
        headline="<{value}><!value:this tensor> still has its graph, and is sent to another process",
        why="Another process cannot continue this process's graph.",
        labels={
            "fault": "sends <{value}><!value:this tensor>",
            "made": "<{value} is computed here><!value:it is computed here>< by {op}>",
            "stored": "{value} gets its value here",
        },
        helps={("follow_page", "non-leaf-sent"): "send the value: `.detach()`"},
    ),
    "apply-on-a-graph-tensor": _by_function("apply-on-a-graph-tensor"),
    "map-on-a-graph-tensor": _by_function("map-on-a-graph-tensor"),
    "dlpack-of-a-graph-tensor": Words(
        fault="a tensor with a graph is handed to another library",
        headline="<{value}><!value:this tensor> still has its graph, and is handed to another library",
        why="Another library does not continue torch's graph.",
        labels={
            "fault": "hands over <{value}><!value:this tensor>",
            "made": "<{value} is computed here><!value:it is computed here>< by {op}>",
            "stored": "{value} gets its value here",
        },
        helps={("follow_page", "dlpack-of-a-graph-tensor"): "hand over the value: `.detach()`"},
    ),
}
