"""Taking out what a node saved: the moment at which a pass fails, if it does.

A node that was freed has nothing to take out. One whose saved value has been written to since has the
wrong numbers, and says so, if the value is in its own keeping: what a hook keeps is not looked at, and what
a checkpoint computes again is right if its arguments are.
"""

from __future__ import annotations

from afterward.model.life.faults import Fault, Refused
from afterward.model.life.histories import grad_fn, needs_grad
from afterward.model.life.parts import Kind, MadeAs, Node, Region, Saved, Tensor
from afterward.model.life.tape import Tape


def refusal(node: Node, tape: Tape | None = None) -> Fault | None:
    """What taking out the saved values of this node would raise; with a tape, as part of a pass."""
    if node.kind is Kind.CUSTOM:
        if not node.reads:
            return None
    elif node.kind is Kind.COPY_SLICES:
        if node.released:
            return Fault.SECOND_TIME
        assert node.inner is not None
        return refusal(node.inner, tape)
    elif not node.saved:
        return None
    if node.released:
        return Fault.SECOND_TIME
    for saved in node.saved:
        version = saved.version
        if version is not None:
            if version.count != saved.count:
                return _overwritten(saved, tape)
        elif saved.region is not None:
            fault = _compute_again(saved.region, tape)
            if fault is not None:
                return fault
    return None


def _overwritten(saved: Saved, tape: Tape | None) -> Fault:
    """The numbers are no longer those that were saved.

    To word its complaint, PyTorch asks a saved argument for its `grad_fn`. If that is a view, asking makes
    its node again, and for a view that may not look on while its base is written to it fails differently.
    """
    tensor = saved.tensor
    if tensor is None or tensor.base is None or saved.is_result:
        return Fault.MODIFIED
    if tensor.is_leaf and not needs_grad(tensor.base):
        return Fault.MODIFIED
    if tensor.made is not MadeAs.PLAIN:
        fault: Fault = tensor.made.value
        return fault
    if tape is not None:
        grad_fn(tape, tensor)
    return Fault.MODIFIED


def _compute_again(region: Region, tape: Tape | None) -> Fault | None:
    """Once a pass, however many of the stretch's values it takes out; it needs the arguments as they were."""
    if tape is not None and region.computed_for == tape.passes:
        return None
    for saved in region.arguments:
        if saved.is_overwritten:
            return _overwritten(saved, tape)
        # A checkpoint takes its arguments without asking for their edges: a view can be out of date from
        # the start, and is asked for its `grad_fn` only now.
        view = saved.tensor
        if view is not None and view.version is not None and view.seen != view.version.count:
            fault = _overwritten(saved, tape) if view.base is not None else Fault.MODIFIED
            if fault is not Fault.MODIFIED:
                return fault
    if tape is not None:
        region.computed_for = tape.passes
    return None


def moved(leaf: Tensor, tape: Tape | None) -> Fault | None:
    """A leaf that was written to since, and so has a history now, takes no more gradients as a leaf."""
    base = leaf.base
    if base is None:
        return None if leaf.node is None else Fault.LEAF_MOVED
    if tape is None:
        assert leaf.version is not None
        is_stale = leaf.seen != leaf.version.count and needs_grad(base)
        return Fault.LEAF_MOVED if leaf.node is not None or is_stale else None
    try:
        return None if grad_fn(tape, leaf) is None else Fault.LEAF_MOVED
    except Refused as refused:
        return refused.fault


def derivative(node: Node) -> int:
    """The symbol of a node's local derivative, with the numbers it would take out now."""
    symbol = node.symbol
    for saved in node.saved:
        storage = saved.storage
        if storage is not None and storage.symbol != saved.symbol:
            symbol = hash((symbol, storage.symbol))
        if saved.region is not None:
            drift = saved.region.drift()
            if drift:
                symbol = hash((symbol, drift))
    if node.inner is not None:
        symbol = hash((symbol, derivative(node.inner)))
    return symbol
