"""Turns a remedy into edits of source: one file per kind, each with `candidates(job)`, best patch first."""

from __future__ import annotations

from afterward.model.diagnosis import Diagnosis, Remedy
from afterward.repair import (
    ask_for_gradient,
    combine_losses,
    create_graph,
    detach_input,
    detach_state,
    detach_value,
    fit_gradient,
    item_for_logging,
    leave_inference,
    make_leaf,
    move_step,
    no_grad,
    out_of_place,
    rebuild_optimizer,
    recompute_forward,
    remove_detach,
    remove_duplicate,
    remove_retain,
    reorder_step,
    retain_graph,
    zero_grad,
)
from afterward.repair.edits import Edit, Patch, apply, in_place, unified
from afterward.repair.workshop import Candidates, Job, Workshop

__all__ = ["Candidates", "Edit", "Job", "Patch", "Workshop", "apply", "candidates", "in_place", "unified"]

_KINDS = {
    "ask_for_gradient": ask_for_gradient.candidates,
    "combine_losses": combine_losses.candidates,
    "create_graph": create_graph.candidates,
    "detach_input": detach_input.candidates,
    "detach_state": detach_state.candidates,
    "detach_value": detach_value.candidates,
    "fit_gradient": fit_gradient.candidates,
    "item_for_logging": item_for_logging.candidates,
    "leave_inference": leave_inference.candidates,
    "make_leaf": make_leaf.candidates,
    "move_step": move_step.candidates,
    "no_grad": no_grad.candidates,
    "out_of_place": out_of_place.candidates,
    "rebuild_optimizer": rebuild_optimizer.candidates,
    "recompute_forward": recompute_forward.candidates,
    "remove_detach": remove_detach.candidates,
    "remove_duplicate": remove_duplicate.candidates,
    "remove_retain": remove_retain.candidates,
    "reorder_step": reorder_step.candidates,
    "retain_graph": retain_graph.candidates,
    "zero_grad": zero_grad.candidates,
}


def candidates(shop: Workshop, found: Diagnosis, remedy: Remedy) -> Candidates:
    """The patches by which a remedy may be written, best first. A kind that nothing can write yields none."""
    write = _KINDS.get(remedy.kind)
    if write is None:
        return
    writing = write(Job(shop, found, remedy))
    answer = None
    while True:
        try:
            patch = next(writing) if answer is None else writing.send(answer)
        except StopIteration:
            return
        # Asked for again where it is in place, a remedy has nothing to add.
        done = all(in_place(shop.texts[file], edits) for file, edits in patch.edits.items())
        answer = "" if done else (yield patch)
