"""AFT509: a tensor made under `torch.inference_mode()` is used in training."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Severity
from afterward.model.history import History
from afterward.model.words import Words
from afterward.rules import rule
from afterward.rules._raised import raised


@rule("AFT509", Severity.ERROR)
def inference_tensor_used(history: History) -> Iterator[Diagnosis]:
    """A tensor made under `torch.inference_mode()` is used in training."""
    return raised(history, "AFT509")


WORDS = {
    "inference-tensor-saved": Words(
        fault="a tensor of inference mode is used in training",
        headline=(
            "<{value}><!value:this tensor> was made under `torch.inference_mode()` and cannot be used in training"
        ),
        why="What is made in inference mode has no version counter and no place in a graph, for ever.",
        labels={
            "fault": "uses <{value}><!value:this tensor> in training",
            "stored": "{value} is made in inference mode",
        },
        helps={
            (
                "follow_page",
                "inference-tensor-saved",
            ): "use `torch.no_grad()` instead of `torch.inference_mode()`, or `.clone()` the tensor outside of it"
        },
    ),
    "inference-tensor-written": Words(
        fault="a tensor of inference mode is written outside of it",
        headline="<{value}><!value:this tensor> was made under `torch.inference_mode()` and is written outside of it",
        why="What is made in inference mode counts no versions, so it may only be written there.",
        labels={"fault": "writes into <{value}><!value:this tensor>", "stored": "{value} is made in inference mode"},
        helps={("follow_page", "inference-tensor-written"): "use `torch.no_grad()` instead, or `.clone()` it first"},
    ),
    "inference-tensor-requires-grad": Words(
        fault="a tensor of inference mode is to require gradients",
        headline="<{value}><!value:this tensor> was made under `torch.inference_mode()` and cannot require gradients",
        why="What is made in inference mode can never be trained.",
        labels={"fault": "asks for gradients", "stored": "{value} is made in inference mode"},
        helps={
            (
                "follow_page",
                "inference-tensor-requires-grad",
            ): "`.clone()` it outside of inference mode, or make it under `torch.no_grad()`"
        },
    ),
    "inference-tensor-version": Words(
        fault="the version of a tensor of inference mode is asked for",
        headline="<{value}><!value:this tensor> was made under `torch.inference_mode()` and counts no versions",
        why="What is made in inference mode has no version counter.",
        labels={"fault": "asks for its version", "stored": "{value} is made in inference mode"},
        helps={("follow_page", "inference-tensor-version"): "make it under `torch.no_grad()`"},
    ),
}
