"""What the operations of autograd do with their inputs, by the names of their nodes: one table for all who ask.

What each of them saves, and which nodes it builds, is read from torch itself: `afterward.model.life.table`.
"""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=4096)
def operation(op: str) -> str:
    """What a node's operation is called, without what torch puts around it: `Add` of `AddBackward0`, and `CopySlices`
    of `torch::autograd::CopySlices`."""
    return op.rpartition("::")[2].partition("Backward")[0]


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


ADDING = _names("Add Sub Rsub Neg Sum Mean Stack Cat Unsqueeze Squeeze View")  # each input is a summand of the result
SCALING = _names("Mul Div")  # a summand too, where the other factor has no graph
ARITHMETIC = _names("Add Sub Rsub Neg Mul Div Pow")
JOINING = _names("Add Sub Mul Div Stack Cat CopySlices")  # an old value and a new one become one
BENDING = _names("Pow Abs Square Norm LinalgVectorNorm MseLoss SmoothL1Loss HuberLoss")  # distances and sizes
REDUCING = _names("Mean Sum BinaryCrossEntropy BinaryCrossEntropyWithLogits Norm LinalgVectorNorm")  # many to one
AFFINE = _names("Addmm Mm Mv Addmv Bmm Baddbmm Convolution MkldnnRnnLayer Linear Add")  # a weight is applied
# The result lies in the memory of the input.
VIEWS = _names(
    "T Transpose View ViewAsReal ViewAsComplex Permute Expand UnsafeView Unsqueeze Squeeze Slice Select Alias "
    "ReshapeAlias AsStrided Split SplitWithSizes UnsafeSplit Unbind Chunk Narrow Diagonal Unfold Detach"
)
COPIES = _names("Clone ToCopy")
SPLITTING = _names("Split SplitWithSizes UnsafeSplit Unbind Chunk")  # several outputs, each a part
PICKING = _names("Index IndexSelect Gather Stack Cat")  # no views, and yet only some of the same elements
MEETING = _names("Mm Mv Addmm Addmv Bmm Baddbmm Dot Linear Cdist EuclideanDist")  # each of one with each of the other
UNCHANGING = SCALING | COPIES | _names("Sum Mean View UnsafeView Squeeze Unsqueeze Expand Alias")  # but for a factor
COMPARING = _names("MseLoss L1Loss SmoothL1Loss HuberLoss KlDiv BinaryCrossEntropy BinaryCrossEntropyWithLogits")
# What losses usually end in: of one output, for a torch that does not tell how many a node has.
ENDING = (
    ARITHMETIC | COMPARING | _names("Mean Sum NllLoss Dot LinalgVectorNorm Squeeze View Logsumexp Exp Log Sqrt Abs")
)
FED = {"Addmm": "mat1", "Mm": "self", "Convolution": "input"}  # what a layer saves of what it is given
# What modules compute that take `inplace=True`.
ACTIVATIONS = _names("Relu LeakyRelu Elu Hardtanh Silu Threshold Hardswish Hardsigmoid Mish RreluWithNoise")


COMPILED = "CompiledFunction"  # a region that `torch.compile` has made one node


def is_view(op: str) -> bool:
    return operation(op) in VIEWS


def is_loss(op: str) -> bool:
    """Does it make one number of many?"""
    name = operation(op)
    return name in REDUCING or "Loss" in name
