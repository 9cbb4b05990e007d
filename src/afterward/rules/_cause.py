"""Decides why a part of the graph was met again: who built it, who swept it, in which turn of which loop.

One decision, read by every rule about used-up graphs, so that one broken pass is one diagnosis.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from afterward.model.history import History, Pass, Value
from afterward.model.reuse import Reuse, bridge_of, find_reuse
from afterward.model.site import Turn

_ADDING = ("Add", "Sub", "Sum", "Mean", "Stack", "Cat", "Div", "Mul", "Unsqueeze", "View", "Squeeze")


class Cause(Enum):
    SWEPT_TWICE = "swept-twice"
    LOSSES_SHARE_FORWARD = "losses-share-forward"
    STATE_CARRIED_OVER = "state-carried-over"
    FORWARD_OUTSIDE_LOOP = "forward-outside-loop"
    OUTPUT_NOT_DETACHED = "output-not-detached"
    LOSS_ACCUMULATED = "loss-accumulated"
    HISTORY_CACHED = "history-cached"
    SAVED_READ_AFTER_FREE = "saved-read-after-free"
    COMPILED_GRAPH_SHARED = "compiled-graph-shared"


@dataclass(frozen=True, slots=True)
class Case:
    """A reuse together with what the rules ask about it."""

    history: History
    reuse: Reuse
    bridge: Value | None
    cause: Cause | None  # None: the mechanism fits no name
    foreign: bool  # the old part belongs to another optimizer than the rest of the pass, or to none

    @property
    def loop(self) -> Turn | None:
        """The loop whose turns the report counts as steps."""
        part = self.reuse.passes_part
        if part is not None and part.loop is not None and part.how == "turns":
            return part.loop
        late = self.reuse.late.where
        built = self.reuse.built_parts
        if built is not None and built.how == "turns":
            return built.loop
        return late.innermost_turn if late is not None else None

    @property
    def stepped_between(self) -> bool:
        """Did an optimizer change parameters between the two passes?"""
        early = self.reuse.early
        return early is not None and bool(self.history.steps_between(early.moment, self.reuse.late.moment))

    @property
    def old_leaves_stepped(self) -> bool:
        """Did an optimizer change the parameters under the old part since it was swept?"""
        early = self.reuse.early
        if early is None:
            return False
        old = leaves_directly_under(self.history, self.reuse.stale)
        return any(
            step.leaves & old for step in self.history.steps_between(early.moment, self.reuse.late.moment)
        )


def case_of(history: History, late: Pass) -> Case | None:
    """The case behind a broken pass; None where the record does not show what was met again."""
    reuse = find_reuse(history, late)
    if reuse is None or late.where is None:
        return None
    bridge = bridge_of(history, reuse)
    foreign = _foreign(history, reuse)
    return Case(history, reuse, bridge, _cause(history, reuse, bridge, foreign), foreign)


def leaves_directly_under(history: History, nodes: frozenset[int]) -> frozenset[int]:
    """Leaves that these nodes read themselves."""
    below = (edge.node for n in nodes for edge in history.node(n).inputs if history.knows(edge.node))
    return history.leaves_under(below)


def _foreign(history: History, reuse: Reuse) -> bool:
    old = leaves_directly_under(history, reuse.stale)
    new = leaves_directly_under(history, reuse.fresh)
    if not old or not new:
        return False
    theirs, ours = history.optimizers_of(old), history.optimizers_of(new)
    return bool(ours) and not (ours & theirs)


def _cause(history: History, reuse: Reuse, bridge: Value | None, foreign: bool) -> Cause | None:
    if reuse.late.nested_in is not None or reuse.late.read_in is not None:
        return Cause.SAVED_READ_AFTER_FREE
    if reuse.entry.node.op.startswith("CompiledFunction"):
        return Cause.COMPILED_GRAPH_SHARED
    part, built = reuse.passes_part, reuse.built_parts
    if part is None or built is None:
        return Cause.SWEPT_TWICE if reuse.starts_in_stale else None
    again_in_loop = part.how in ("turns", "calls")
    if reuse.starts_in_stale:
        return Cause.FORWARD_OUTSIDE_LOOP if again_in_loop and built.how == "outside" else Cause.SWEPT_TWICE
    if _sums_swept_losses(history, reuse) and (again_in_loop or part.how == "after"):
        return Cause.LOSS_ACCUMULATED
    if built.how == "turns":
        return Cause.STATE_CARRIED_OVER if _renewed(history, reuse) else Cause.HISTORY_CACHED
    if built.how == "outside" and not _loss_built_outside(reuse):
        kept = bridge is not None and bridge.kind in ("attribute", "item")
        return Cause.HISTORY_CACHED if kept and not foreign else Cause.FORWARD_OUTSIDE_LOOP
    if foreign:
        return Cause.OUTPUT_NOT_DETACHED
    return Cause.LOSSES_SHARE_FORWARD


def _loss_built_outside(reuse: Reuse) -> bool:
    """Is all of it outside, the losses too, and the loop does nothing but sweep them one by one?"""
    read = reuse.read_parts
    return read is not None and read.how == "outside"


def _renewed(history: History, reuse: Reuse) -> bool:
    """Is the value made anew in every step? Then the statement that made it has run in this step too."""
    node, late = reuse.entry.node, reuse.late
    built = reuse.built_parts
    if node.where is None or late.where is None or built is None or built.loop is None:
        return False
    now = late.where.turn_of(built.loop)
    for fresh in reuse.fresh:
        where = history.node(fresh).where
        if where is not None and where.turn_of(built.loop) == now and where.site.same_lines(node.where.site):
            return True
    return False


def _sums_swept_losses(history: History, reuse: Reuse) -> bool:
    """Does the pass start from a sum that holds the very loss which the earlier pass was called on?"""
    early = reuse.early
    if early is None or early.call != "backward":
        return False
    swept_roots = {edge.node for run in history.passes if run.id != reuse.late.id for edge in run.roots}
    if not (swept_roots & {entry.node.id for entry in reuse.entries}):
        return False
    current = [edge.node for edge in reuse.late.roots]
    seen: set[int] = set()
    while current:  # from the root down, through additions only
        number = current.pop()
        if number in seen:
            continue
        seen.add(number)
        if number in swept_roots and number in reuse.stale:
            return True
        node = history.node(number)
        if number in reuse.fresh and node.op.startswith(_ADDING):
            current.extend(edge.node for edge in node.inputs if history.knows(edge.node))
    return False
