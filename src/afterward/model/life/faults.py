"""What autograd refuses to do, in its own words."""

from __future__ import annotations

from enum import Enum


class Fault(Enum):
    """A refusal; the value is the part of PyTorch's message that tells it from the others."""

    # Refusals of a pass.
    SECOND_TIME = "backward through the graph a second time"
    MODIFIED = "modified by an inplace operation"
    NO_GRAD = "does not require grad and does not have a grad_fn"
    NOT_SCALAR = "grad can be implicitly created only for scalar outputs"
    INPUT_NO_GRAD = "One of the differentiated Tensors does not require grad"
    UNUSED = "appears to not have been used in the graph"
    LEAF_MOVED = "leaf variable has been moved into the graph interior"
    # Refusals while the graph is built.
    LEAF_WRITTEN = "a leaf Variable that requires grad is being used in an in-place operation"
    LEAF_VIEW_WRITTEN = "a view of a leaf Variable that requires grad is being used in an in-place operation"
    MANY_VIEWS = "is the output of a function that returns multiple views"
    NO_GRAD_VIEW = "was created in no_grad mode"
    INFERENCE_VIEW = "was created in inference mode"
    INFERENCE_SAVED = "Inference tensors cannot be saved for backward"
    INFERENCE_WRITTEN = "Inplace update to inference tensor outside InferenceMode"
    INFERENCE_NEEDS = "Setting requires_grad=True on inference tensor outside InferenceMode"
    NOT_OPTIMIZED = "can't optimize a non-leaf Tensor"
    NOT_LEAF = "you can only change requires_grad flags of leaf variables"


class Refused(Exception):
    """PyTorch would raise here: the operation did not happen."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.value)
        self.fault = fault


class Unmodelled(Exception):
    """PyTorch would do something here that this model does not know. It never guesses."""
