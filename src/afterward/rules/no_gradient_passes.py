"""AFT507: a hook or `retain_grad()` is put on a tensor that never gets a gradient."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Severity
from afterward.model.history import History
from afterward.model.words import Words
from afterward.rules import rule
from afterward.rules._raised import raised


@rule("AFT507", Severity.ERROR)
def no_gradient_passes(history: History) -> Iterator[Diagnosis]:
    """A hook or `retain_grad()` is put on a tensor that never gets a gradient."""
    return raised(history, "AFT507")


WORDS = {
    "hook-without-grad": Words(
        fault="a hook is registered on a tensor that gets no gradient",
        headline="<{value}><!value:this tensor> gets no gradient, so a hook on it would never be called",
        why=(
            "<{value}><!value:this tensor> does not require gradients: it was computed from data "
            "alone, detached, or made under `no_grad`."
        ),
        labels={
            "fault": "registers a hook on <{value}><!value:this tensor>",
            "stored": "{value} is computed here from nothing that requires gradients",
        },
        helps={
            (
                "follow_page",
                "hook-without-grad",
            ): "register it on a tensor that depends on a parameter, or call `.requires_grad_()` first"
        },
    ),
    "retain-grad-without-grad": Words(
        fault="`retain_grad()` is called on a tensor that gets no gradient",
        headline="<{value}><!value:this tensor> gets no gradient, so there is none to retain",
        why=(
            "<{value}><!value:this tensor> does not require gradients: it was computed from data "
            "alone, detached, or made under `no_grad`."
        ),
        labels={
            "fault": "calls `retain_grad()` on <{value}><!value:this tensor>",
            "stored": "{value} is computed here from nothing that requires gradients",
        },
        helps={("follow_page", "retain-grad-without-grad"): "call `.requires_grad_()` on what it is computed from"},
    ),
}
