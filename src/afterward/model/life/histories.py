"""The history of a tensor: whether it has one, where its gradient goes, and what a write does to it.

The one subtle thing here is the view. A view and its base are one memory with one history, but each holds
a node of its own. After a write through either, the view's node is out of date; PyTorch notices by the
version counter, and makes a new node when someone next asks for it. So does `grad_fn` below.
"""

from __future__ import annotations

from afterward.model.life.faults import Fault, Refused, Unmodelled
from afterward.model.life.parts import Edge, Kind, MadeAs, Node, Tensor
from afterward.model.life.tape import Tape


def needs_grad(tensor: Tensor) -> bool:
    """`tensor.requires_grad`: by its own flag, by its history, or because its base does."""
    if tensor.needs or tensor.node is not None:
        return True
    return tensor.base is not None and needs_grad(tensor.base)


def grad_fn(tape: Tape, tensor: Tensor) -> Node | None:
    """`tensor.grad_fn`. Asking makes a view's node again if its memory was written to since."""
    if tensor.hidden and tensor.version is not None and tensor.seen != tensor.version.count:
        raise Unmodelled("a write to the memory of a result that is a view of something hidden")
    base = tensor.base
    if base is None:
        return tensor.node
    if tensor.node is None and not needs_grad(base):
        return None
    assert tensor.version is not None
    if tensor.seen != tensor.version.count:
        refuse_unless_plain(tensor)
        node = tape.node("AsStridedBackward0")
        node.symbol = hash((base.symbol, tensor.path))
        node.edges = [gradient_edge(tape, base)]
        tensor.node, tensor.slot, tensor.seen = node, 0, tensor.version.count
    return tensor.node


def gradient_edge(tape: Tape, tensor: Tensor) -> Edge:
    """Where a gradient for this tensor goes: into its history, or into `.grad` if it is a leaf."""
    node = tensor.node if tensor.base is None and not tensor.hidden else grad_fn(tape, tensor)
    if node is not None:
        return node, tensor.slot
    if tensor.needs:
        return tape.accumulator(tensor), 0
    return None


def refuse_unless_plain(view: Tensor) -> None:
    if view.made is not MadeAs.PLAIN:
        raise Refused(view.made.value)


def refuse_to_record_write(target: Tensor) -> None:
    """The checks before an in-place operation that is to be recorded."""
    if target.base is not None:
        refuse_unless_plain(target)
        if needs_grad(target) and target.base.is_leaf:
            raise Refused(Fault.LEAF_VIEW_WRITTEN)
    if target.is_leaf and needs_grad(target):
        raise Refused(Fault.LEAF_WRITTEN)


def count_write(tape: Tape, target: Tensor, symbol: int) -> None:
    """New numbers in the memory; every alias that shares the counter can tell."""
    target.storage.symbol = hash((target.storage.symbol, target.path, symbol)) if target.path else symbol
    if target.version is None:
        if tape.watches:
            raise Refused(Fault.INFERENCE_WRITTEN)
    else:
        target.version.count += 1


def rebase(tape: Tape, target: Tensor, node: Node) -> None:
    """After a recorded write: the node is the target's history now, and the base's if it is a view."""
    base = target.base
    if base is None:
        target.node, target.slot = node, 0
        return
    around = tape.node("CopySlices", Kind.COPY_SLICES)
    around.inner = node
    around.symbol = hash((node.symbol, target.path))
    around.cut_from = node.cut_from
    around.edges = [gradient_edge(tape, base), *node.edges[1:]]
    base.node, base.slot = around, 0
    target.slot = 0
    grad_fn(tape, target)
