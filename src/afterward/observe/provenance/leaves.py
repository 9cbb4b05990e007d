"""Which parameter a saved tensor is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from afterward.model.history import Node, NodeId
from afterward.model.operations import is_view, operation
from afterward.observe.compat import memory_of

# Which input of a node a saved tensor is, for the operations that save weights.
_SAVED_INPUT = {
    "mat1": {"Addmm": 1, "Addmv": 1},
    "mat2": {"Addmm": 2, "Mm": 1, "Bmm": 1},
    "self": {"Mm": 0, "Mul": 0, "Bmm": 0, "Mv": 0},
    "other": {"Mul": 1, "Div": 1, "Atan2": 1},
    "input": {"Convolution": 0, "NativeLayerNorm": 0, "NativeBatchNorm": 0},
    "weight": {"Convolution": 1, "NativeLayerNorm": 1, "NativeBatchNorm": 1, "Prelu": 1},
    "vec": {"Mv": 1, "Addmv": 2},
    "batch2": {"Baddbmm": 2},
    "weight0": {"MkldnnRnn": 1},
    "weight1": {"MkldnnRnn": 2},
}


def leaf_saved(op: str, behind: Sequence[Any], name: str, tensor: Any) -> Any:
    """The leaf that a saved tensor is, of those behind the inputs: by its storage while it is there, else by the input
    that it came from."""
    if name == "self" and len(behind) == 1:  # of an operation with one input, that is the input
        return behind[0]
    if name in _SAVED_INPUT:
        position = _input_saved(op, name)
        if position is not None and position < len(behind):
            return behind[position]
    if tensor is not None:
        return next((leaf for leaf in behind if leaf is not None and _same_storage(leaf, tensor)), None)
    return None


def saved_from(node: Node, name: str) -> NodeId | None:
    """The node whose value a saved tensor of this name is, where it is always the same input."""
    positions = {one: place for one in _SAVED_INPUT if (place := _input_saved(node.op, one)) is not None}
    if not positions and name == "self" and len(node.inputs) == 1:
        return node.inputs[0].node
    if name not in positions or len(node.inputs) <= max(positions.values()):
        return None  # an input that needs no gradient has no edge: which one is missing is not known
    return node.inputs[positions[name]].node


@lru_cache(maxsize=1024)
def _input_saved(op: str, name: str) -> int | None:
    """Which input of an operation a saved value of this name is, where that is always the same."""
    return next((position for start, position in _SAVED_INPUT[name].items() if op.startswith(start)), None)


@lru_cache(maxsize=1024)
def passes_on(name: str) -> bool:
    """Does an operation of this name pass its input on unchanged?"""
    return is_view(name) or operation(name) == "ToCopy"


def _same_storage(one: Any, other: Any) -> bool:
    mine, theirs = memory_of(one), memory_of(other)
    return mine is not None and theirs is not None and mine[0] == theirs[0]
