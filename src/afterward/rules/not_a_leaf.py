"""AFT502: a tensor that was computed is used as if it were a leaf: only leaves are trained and keep a gradient."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Severity
from afterward.model.history import History
from afterward.model.words import Words
from afterward.rules import rule
from afterward.rules._raised import raised


@rule("AFT502", Severity.ERROR)
def not_a_leaf(history: History) -> Iterator[Diagnosis]:
    """A tensor that was computed is used as if it were a leaf: only leaves are trained and keep a gradient."""
    return raised(history, "AFT502")


WORDS = {
    "non-leaf-optimized": Words(
        fault="an optimizer is given a computed tensor",
        headline="<{value}><!value:this tensor> cannot be optimized: it was computed<, by {op}>, and is not a leaf",
        why=(
            "<{value}><!value:this tensor> is the result of an operation< ({op})>, not a leaf. An "
            "optimizer updates leaves: its updates would be lost with the next computation."
        ),
        labels={
            "fault": "the optimizer is given <{value}><!value:this tensor>",
            "made": "<{value} is computed here><!value:it is computed here>< by {op}>",
            "stored": "{value} gets its value here",
        },
        helps={
            (
                "follow_page",
                "non-leaf-optimized",
            ): (
                "ask for gradients after the last operation: `.detach().requires_grad_()`, or wrap "
                "the value in `torch.nn.Parameter`"
            )
        },
    ),
    "grad-is-none": Words(
        fault="a gradient that is not there is used",
        headline="`.grad` of <{value}><!value:this tensor> is `None`",
        why=(
            "<{value}><!value:this tensor> is the result of an operation< ({op})>, not a leaf: "
            "`backward()` fills `.grad` of leaves only."
        ),
        labels={
            "fault": "uses `.grad` of <{value}><!value:this tensor>, which is `None`",
            "made": "<{value} is computed here><!value:it is computed here>< by {op}>",
            "stored": "{value} gets its value here",
        },
        helps={
            (
                "follow_page",
                "grad-is-none",
            ): (
                "train a leaf: update it in place under `torch.no_grad()` (`weight -= lr * "
                "weight.grad`), which keeps it a leaf; for a computed tensor call `retain_grad()` "
                "before `backward()`"
            )
        },
    ),
    "grad-of-non-leaf": Words(
        fault="`.grad` of a computed tensor is read",
        headline="`.grad` of <{value}><!value:this tensor> is read, and it is not a leaf",
        why=(
            "<{value}><!value:this tensor> is the result of an operation< ({op})>, not a leaf: "
            "`backward()` fills `.grad` of leaves only."
        ),
        labels={
            "fault": "reads `.grad` of <{value}><!value:this tensor>",
            "made": "<{value} is computed here><!value:it is computed here>< by {op}>",
            "stored": "{value} gets its value here",
        },
        helps={
            ("follow_page", "grad-of-non-leaf"): "call `retain_grad()` on it before `backward()`, or make it a leaf"
        },
    ),
    "requires-grad-of-non-leaf": Words(
        fault="`requires_grad` of a computed tensor is set",
        headline="`requires_grad` of <{value}><!value:this tensor> cannot be set: it was computed<, by {op}>",
        why="Whether a computed tensor requires gradients follows from what it was computed from.",
        labels={
            "fault": "sets `requires_grad` of <{value}><!value:this tensor>",
            "made": "<{value} is computed here><!value:it is computed here>< by {op}>",
            "stored": "{value} gets its value here",
        },
        helps={
            (
                "follow_page",
                "requires-grad-of-non-leaf",
            ): (
                "use the detached value: `.detach()`; to freeze a layer, switch off its parameters "
                "before the forward pass"
            )
        },
    ),
    "tensor-as-parameter": Words(
        fault="a computed tensor is assigned to a parameter",
        headline="<{value}><!value:a computed tensor> cannot replace a parameter: it is no `nn.Parameter`",
        why=(
            "A module's parameter is a leaf that the optimizer holds. A computed tensor would put "
            "another one in its place."
        ),
        labels={
            "fault": "assigns it to a parameter",
            "made": "<{value} is computed here><!value:it is computed here>< by {op}>",
            "stored": "{value} gets its value here",
        },
        helps={
            (
                "follow_page",
                "tensor-as-parameter",
            ): (
                "write into the parameter under `torch.no_grad()`, or wrap the value: "
                "`torch.nn.Parameter(value.detach())`"
            )
        },
    ),
    "hook-on-non-leaf": Words(
        fault="a hook of leaves is registered on a computed tensor",
        headline="<{value}><!value:this tensor> cannot have a post-accumulate hook: it was computed<, by {op}>",
        why="Gradients are accumulated in leaves only.",
        labels={
            "fault": "registers it on <{value}><!value:this tensor>",
            "made": "<{value} is computed here><!value:it is computed here>< by {op}>",
            "stored": "{value} gets its value here",
        },
        helps={("follow_page", "hook-on-non-leaf"): "use `register_hook`, which sees the gradient pass by"},
    ),
}
