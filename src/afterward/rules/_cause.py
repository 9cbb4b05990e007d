"""Decides why a part of the graph was met again: who built it, who used it, in which iteration of which loop.

One decision, read by every rule about used-up graphs, so that one broken pass is one diagnosis.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from afterward.model.history import History, Node, Pass, Value
from afterward.model.operations import ADDING, SCALING, UNCHANGING, operation
from afterward.model.reuse import Reuse, bridge_of, find_reuse, last_iteration_before, other_outputs
from afterward.model.site import Iteration


class Cause(Enum):
    BACKWARD_TWICE = "backward-twice"
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
    def loop(self) -> Iteration | None:
        """The loop whose iterations the report counts as steps."""
        return self.reuse.loop

    @property
    def meant_for_late(self) -> bool:
        """Is the old part trained by the failing pass? What the earlier one was for was stepped, and none of this."""
        return self.stepped_between and not self.old_leaves_stepped

    @property
    def next_iteration_meets_it(self) -> bool:
        """Is the failing pass in a loop that has neither the earlier pass nor the making of the old part in it?"""
        early, late, built = self.reuse.early, self.reuse.late.where, self.reuse.entry.node.where
        iteration = late.innermost_iteration if late is not None else None
        if iteration is None or built is None or early is None or early.where is None:
            return False
        return built.iteration_of(iteration) is None and early.where.iteration_of(iteration) is None

    @property
    def stepped_between(self) -> bool:
        """Did an optimizer change parameters between the two passes?"""
        early = self.reuse.early
        return early is not None and bool(self.history.steps_between(early.moment, self.reuse.late.moment))

    @property
    def old_leaves_stepped(self) -> bool:
        """Did an optimizer change the parameters under the old part since it was used?"""
        early = self.reuse.early
        if early is None:
            return False
        old = leaves_directly_under(self.history, self.reuse.stale)
        return any(step.leaves & old for step in self.history.steps_between(early.moment, self.reuse.late.moment))


_asked: list[tuple[History, Pass, Case | None]] = []  # the last question: each rule asks the same one


def case_of(history: History, late: Pass) -> Case | None:
    """The case behind a broken pass; None where the record does not show what was met again."""
    for asked, run, case in _asked:
        if asked is history and run is late:
            return case
    found = _decide(history, late)
    _asked[:] = [(history, late, found)]
    return found


def cases(history: History, cause: Cause, errors: tuple[str, ...] = ("second_backward",)) -> Iterator[Case]:
    """The cases of one cause behind the passes that failed with one of these errors."""
    found = (case_of(history, late) for late in history.broken_passes() if late.error in errors)
    return (case for case in found if case is not None and case.cause is cause)


def forget() -> None:
    """Keep nothing of a history that has been judged."""
    _asked.clear()


def _decide(history: History, late: Pass) -> Case | None:
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
    trains = reuse.late.trains
    if trains and _stepped_between(history, reuse) & theirs:
        if trains & (theirs - ours):
            return False  # both passes are meant to go there: each is followed by a step of parameters of the old part
        if "" not in trains and not trains & theirs and trains & ours:
            return True  # the old part was stepped for the earlier pass, and will not be for this one
    return bool(ours) and not (ours & theirs) and not _trains_the_old(history, reuse, theirs, ours)


def _stepped_between(history: History, reuse: Reuse) -> frozenset[str]:
    """The optimizers that stepped between the earlier pass and the broken one."""
    early = reuse.early
    return (
        frozenset(s.optimizer for s in history.steps_between(early.moment, reuse.late.moment)) if early else frozenset()
    )


def _trains_the_old(history: History, reuse: Reuse, theirs: frozenset[str], ours: frozenset[str]) -> bool:
    """Is it one line that uses both times, and does the step that follows train the old part, not the rest?"""
    early, late = reuse.early, reuse.late
    if early is None or early.where is None or late.where is None or not early.where.site.same_lines(late.where.site):
        return False
    stepped = _stepped_between(history, reuse)
    return bool(stepped & theirs) and not stepped & ours


def _cause(history: History, reuse: Reuse, bridge: Value | None, foreign: bool) -> Cause | None:
    if reuse.late.nested_in is not None or reuse.late.read_in is not None:
        return Cause.SAVED_READ_AFTER_FREE
    part, built = reuse.passes_part, reuse.built_parts
    if reuse.entry.node.is_region and (built is None or built.how not in ("iterations", "outside")):
        return Cause.COMPILED_GRAPH_SHARED  # of one step; what comes from an earlier one is a state, compiled or not
    if part is None or built is None:
        return Cause.BACKWARD_TWICE if reuse.starts_in_stale else None
    if _other_output(reuse):
        return Cause.LOSSES_SHARE_FORWARD
    if reuse.starts_in_stale or _same_loss(history, reuse):
        return Cause.BACKWARD_TWICE
    if built.how == "iterations":
        return _from_earlier_iteration(history, reuse, bridge)
    if _shared_trunk(history, reuse):
        return Cause.LOSSES_SHARE_FORWARD
    early = reuse.early
    if part.how == "after" and early is not None and early.call == "backward" and _summed_in(history, reuse):
        return Cause.LOSS_ACCUMULATED
    if built.how == "outside" and not _loss_built_outside(history, reuse):
        kept = bridge is not None and _belongs_to_object(bridge)
        return Cause.HISTORY_CACHED if kept and not foreign else Cause.FORWARD_OUTSIDE_LOOP
    if foreign:
        return Cause.OUTPUT_NOT_DETACHED
    return Cause.LOSSES_SHARE_FORWARD


def _belongs_to_object(bridge: Value) -> bool:
    """Is it an attribute, as `self.memory` and `net.cache[0]` are? A dot may also stand in a key: `fast["0.bias"]`."""
    return "." in re.sub(r"""\[("[^"]*"|'[^']*'|[^\]]*)\]""", "", bridge.name)


def _from_earlier_iteration(history: History, reuse: Reuse, bridge: Value | None) -> Cause:
    """A value of an earlier iteration: a summand of the loss, a state made again each iteration, or something kept."""
    renewed = _renewed(history, reuse, bridge)
    if renewed and _summed_in(history, reuse):
        return Cause.LOSS_ACCUMULATED
    in_memory = (bridge is not None and bridge.how == "held" and bridge.kind == "item") or _skipped_an_iteration(
        history, reuse
    )
    if renewed and not in_memory:
        return Cause.STATE_CARRIED_OVER
    plain = bridge is not None and bridge.kind in ("local", "global") and not _belongs_to_object(bridge)
    return Cause.FORWARD_OUTSIDE_LOOP if plain and not in_memory else Cause.HISTORY_CACHED


def _skipped_an_iteration(history: History, reuse: Reuse) -> bool:
    """A state comes from the last iteration that called backward; what is older was kept somewhere."""
    built, where = reuse.built_parts, reuse.entry.node.where
    if built is None or built.loop is None or where is None:
        return False
    made = where.iteration_of(built.loop)
    return made is not None and made < last_iteration_before(history, reuse, built.loop)


def _shared_trunk(history: History, reuse: Reuse) -> bool:
    """Do the two passes each train something of their own, besides the part they share?"""
    early, late = reuse.early, history.optimizers_of(history.leaves_under(history.walk_of(reuse.late)))
    if early is None or early.optimizers is None:
        return False
    own = early.optimizers - late
    steps = history.steps_between(early.moment, reuse.late.moment)
    if steps:  # what it reached and nothing stepped then, it went through on the way: a critic that judges an action
        own &= {step.optimizer for step in steps}
    return bool(own) and bool(late - early.optimizers)


def _other_output(reuse: Reuse) -> bool:
    """Does the pass start from another output of the very operation that the earlier one started from?"""
    return reuse.early is not None and bool(other_outputs(reuse.late, [reuse.early]))


def _same_loss(history: History, reuse: Reuse) -> bool:
    """Is it the very loss of the earlier pass, only scaled or reshaped, or written out again?"""
    early = reuse.early
    if early is not None and _written_again(history, reuse, early):
        return True
    if early is None or early.call != "backward" or reuse.entry.node.id not in {edge.node for edge in early.roots}:
        return False
    fresh = [history.node(number) for number in reuse.fresh]  # `-loss` and `loss.sqrt()` have gradients of their own
    same = all(len(node.inputs) == 1 and operation(node.op) in UNCHANGING for node in fresh)
    return len(reuse.entries) == 1 and same


def _written_again(history: History, reuse: Reuse, early: Pass) -> bool:
    """Is it the expression of the earlier pass, and has nothing but this very statement computed anything since?

    Where parameters were moved in between, the same words mean another loss: the forward pass is to be run again.
    """
    late = reuse.late.where if not reuse.late.stale else None
    made = [history.node(number).where for number in reuse.fresh]
    own = late is not None and all(where is not None and where.runs_under(late) for where in made)
    return own and (early.id, reuse.late.id) in history.repeats


def _loss_built_outside(history: History, reuse: Reuse) -> bool:
    """Is all of it outside, the losses too, and the loop does nothing but use them one by one?"""
    parts = (reuse.lies(history.node(number)) for number in reuse.fresh)
    return all(part is not None and part.how == "outside" for part in parts)


def _renewed(history: History, reuse: Reuse, bridge: Value | None) -> bool:
    """Is the value made again in every step? Then the statement that made it has run in this step too, or it ran
    after the earlier pass, as the last act of its step."""
    node, late = reuse.entry.node, reuse.late
    built = reuse.built_parts
    if bridge is not None and bridge.renewed:
        return True
    if node.where is None or late.where is None or built is None or built.loop is None:
        return False
    if reuse.early is not None and node.moment > reuse.early.moment:
        return True
    now = late.where.iteration_of(built.loop)
    for fresh in reuse.fresh:
        where = history.node(fresh).where
        if where is not None and where.iteration_of(built.loop) == now and where.site.same_lines(node.where.site):
            return True
    return False


def _summed_in(history: History, reuse: Reuse) -> bool:
    """Is the old value a summand of the loss? Then only additions and scalings lie between the two."""
    wanted = {entry.node.id for entry in reuse.entries}
    current = [edge.node for edge in reuse.late.roots]
    seen: set[int] = set()
    while current:  # from the root down
        number = current.pop()
        if number in seen or not history.knows(number):
            continue
        seen.add(number)
        if number in wanted:
            return True
        node = history.node(number)
        if adds_up(node):
            current.extend(edge.node for edge in node.inputs)
    return False


def adds_up(node: Node) -> bool:
    """Is it an addition or a scaling: does each of its inputs enter the result as a summand?"""
    name = operation(node.op)
    return name in ADDING or (name in SCALING and len(node.inputs) == 1)
