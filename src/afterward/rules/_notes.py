"""The words of notes that several rules make, by their kind. Filled in by `render`, read by nothing else."""

from __future__ import annotations

_KEPT = "`retain_graph=True` "
_WALKS = "<it keeps {bytes} in memory, and >each `backward()` goes through that part again"

NOTES: dict[str, str] = {
    "lost_cut": "{cut} on {lines} returns a detached copy that is never used: <{value}><!value:the value> "
    "[stayed|stays] as it is",
    "inferred_free": "which `backward()` freed it is inferred from the order of calls",
    "other_bridges": "that part of the graph is also reached through {names}",
    "predicted": "predicted from the source: nothing was run",
    "predicted_if": "predicted from the source, nothing was run; happens only if {conditions} (unknown before running)",
    "predicted_maybe": "predicted from the source: nothing was run, and whether it happens depends on values that are "
    "not known before running",
    "assumes_parameters": "assuming that {name} has parameters< that {optimizer} trains>",
    "assumes_dependence": "assuming that what {name} returns depends on its arguments",
    "assumes_number": "assuming that {name} is more than 1",
    "assumes_loss": "assuming that every iteration computes {name}< from parameters that {optimizer} trains>",
    "assumes_one_forward": "assuming that these losses come out of one forward pass: {names}",
    "assumes_before": "assuming that these losses are computed before this code: {names}",
    "assumes_leaf": "assuming that {name} is a leaf that requires gradients",
    "assumes_loop": "assuming that these statements are the body of a training loop",
    "assumes_training": "assuming that every step calls `forward` and then `backward()` on a loss from what it returns",
    "rank": "on rank {ranks}< of {of}>",
    "ranks": "on ranks {ranks}< of {of}>",
    "processes": "seen in the process {names}, which the program started",
    "kept_not_values": "{flag} on {lines} [kept|keeps] the graph, but not the parameters it [was|is] computed with",
    # What `retain_graph=True` would do
    "retain_reads": _KEPT + "<on {lines} >would let this line read the value, and keep the whole graph until then",
    "retain_fails_here": _KEPT
    + "would fail too: {update} [modified|modifies] <{parameter}><!parameter:a parameter> in place",
    "retain_wrong": _KEPT + "would run and compute wrong gradients: {update} [overwrote|overwrites] "
    "<{parameter}><!parameter:a parameter> without raising an error",
    "retain_wrong_next": _KEPT + "would compute wrong gradients from {step} on: {update} overwrites "
    "<{parameter}><!parameter:a parameter> without raising an error",
    "retain_fails_here_unseen": _KEPT + "would fail too: <{parameter}><!parameter:a parameter that it saved> [was|is] "
    "modified in place between the two calls",
    "retain_fails_next": _KEPT
    + "would run in this step and fail in {step}: {update} modifies <{parameter}><!parameter:a parameter> in place",
    "retain_fails_later": _KEPT
    + "would run in this step, and fail once a later step uses what this one keeps: {update} "
    "modifies <{parameter}><!parameter:a parameter> in place",
    "retain_reduced_once": _KEPT + "would run without an error and train wrongly: DistributedDataParallel reduces the "
    "gradients of the first `backward()` only, so ranks diverge",
    "retain_all_steps": _KEPT + "would send gradients through every earlier step again, and keep all their graphs in "
    "memory",
    "retain_all_steps_risky": _KEPT + "would send gradients through every earlier step again, keep all their graphs in "
    "memory, and may fail in a later step: the optimizer modifies parameters in between",
    "retain_counts_again": _KEPT + "would add the gradients of every earlier step's loss again in each step",
    "retain_doubles": _KEPT + "would run, and add the same gradients a second time",
    "retain_not_inside": _KEPT + "outside does not reach the `backward()` inside {function}",
    "retain_mixes": _KEPT
    + "would run, and give each network the gradients of the other's loss too: they are not cleared in between",
    "retain_runs_then_fails": _KEPT + "would run in this iteration and fail in the next",
    "retain_mixes_then_fails": _KEPT + "would run in this iteration and fail in the next, and give each network the "
    "gradients of the other's loss too",
    "retain_compiled_old": _KEPT
    + "would fail or compute with old values: the optimizer [modified|modifies] parameters of the region in between",
    "retain_compiled": _KEPT
    + "would let the gradients of both calls add up, but is refused where the compiler reuses the "
    "region's buffers (donated buffers)",
    "retain_old_values": _KEPT + "would run, with values computed before the optimizer's step",
    "retain_old_values_now": _KEPT + "would run in this step, with values computed before the optimizer's step",
    "retain_unstepped": _KEPT
    + "would run: no step [modified|modifies] what <{value}><!value:the value> [was|is] computed from; "
    + _WALKS,
    "retain_cleared": _KEPT + "would run, and what the first `backward()` [added|adds] to the parameters' `.grad` "
    "[was|is] cleared in between; " + _WALKS,
    "retain_flat": _KEPT
    + "would run, but no gradient flows through what `autograd.grad` [returned|returns]: it has no graph",
    "retain_right_returned": _KEPT
    + "<on {lines} >would be right here: `autograd.grad` returns what it computes and does "
    "not touch `.grad`<, keeping {bytes} until then>",
    "retain_right_first_returned": _KEPT + "<on {lines} >would be right here: the first call does not touch "
    "`.grad`<, keeping {bytes} until then>",
    "retain_right_add_up": _KEPT
    + "<on {lines} >would be right here: the gradients of both calls add up<, keeping {bytes} until then>",
}
