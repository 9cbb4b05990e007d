"""AFT509: a tensor made under `torch.inference_mode()` is used in training."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Severity
from afterward.model.history import History
from afterward.rules._raised import raised, told
from afterward.rules._registry import rule


@rule("AFT509", Severity.ERROR)
def inference_tensor_used(history: History) -> Iterator[Diagnosis]:
    """A tensor made under `torch.inference_mode()` is used in training."""
    return raised(history, "AFT509")


_UNDER = "<{value}><!value:this tensor> was made under `torch.inference_mode()` and "
_MADE = "{value} is made in inference mode"

WORDS = {
    "inference-tensor-saved": told(
        "a tensor made in inference mode is used in training",
        _UNDER + "cannot be used in training",
        "A tensor made in inference mode has no version counter and can never be part of a graph.",
        here="uses <{value}><!value:this tensor> in training",
        stored=_MADE,
        cut="inference mode is switched on here",
        help="use `torch.no_grad()` instead of `torch.inference_mode()`, or `.clone()` the tensor outside of it",
    ),
    "inference-tensor-written": told(
        "a tensor made in inference mode is written outside of it",
        _UNDER + "is written outside of it",
        "A tensor made in inference mode has no version counter, so it can only be written there.",
        here="writes into <{value}><!value:this tensor>",
        stored=_MADE,
        cut="inference mode is switched on here",
        help="use `torch.no_grad()` instead of `torch.inference_mode()`, or `.clone()` it first",
    ),
    "inference-tensor-requires-grad": told(
        "a tensor made in inference mode is asked to require gradients",
        _UNDER + "cannot require gradients",
        "A tensor made in inference mode can never be trained.",
        here="asks for gradients",
        stored=_MADE,
        cut="inference mode is switched on here",
        help="make it under `torch.no_grad()`, or `.clone()` it outside of inference mode",
    ),
    "inference-tensor-version": told(
        "the version of a tensor made in inference mode is read",
        _UNDER + "counts no versions",
        "A tensor made in inference mode has no version counter.",
        here="asks for its version",
        stored=_MADE,
        cut="inference mode is switched on here",
        help="make it under `torch.no_grad()`",
    ),
}
