"""What became of a change when it was tried, in words."""

from __future__ import annotations

from collections.abc import Iterable

from afterward.model.diagnosis import Proof
from afterward.model.facts import Fact, FactKind, Note
from afterward.model.site import Site
from afterward.render.template import fill
from afterward.rules import words_of

# By the kind of the note. `{finding}` is what is wrong with the changed program.
PROOFS: dict[str, str] = {
    "ran_to_end": "ran to the end without an error ({passes})",
    "ran_to_limit": "ran without an error up to the time limit ({passes})",
    "ran": "ran without an error ({passes})",
    "ran_untrained": "ran to the end without an error; the program calls no `backward()`",
    "on_ranks": "on {ranks}, which stay alike",
    "on_each_rank": "on each of {ranks}",
    "ranks_missing": "ended at the time limit: {ranks} had not come past the point of failure",
    "not_measured": "how the processes that it starts train could not be followed: they are no ranks of one job",
    "ranks_hang": "{count} had to be ended, because their ranks hung",
    "ranks_differ": "ranks would diverge: in step {step} <{subject}><!subject:a parameter> would get other gradients "
    "on one of ranks {ranks} than on the other",
    "memory_flat": "graph memory stays at {size}",
    "memory_grows": "graph memory would grow from step to step (to {size})",
    "memory_at_most": "graph memory at most {size}",
    "not_compared": "gradients not compared",
    "same_gradients": "runs with the same gradients, and keeps the graph of the previous `backward()` in memory",
    "other_gradients": "runs, but from step {step} on with other gradients than the recommended change",
    "stopped_early": "stopped after {passes}, before the point of failure",
    "not_followed": "runs, but how it trains could not be followed: {error}",
    "cannot_run": "cannot be written for this program",
    # What a change does to the training, other than to cure its fault.
    "also_trained": "{subject} would also be trained by <{loss}><!loss:the loss of {line}>",
    "not_trained": "{subject} would get no gradient from <{loss}><!loss:the loss of {line}>",
    "also_used": "{subject} would also use gradients of <{loss}><!loss:the loss of {line}>",
    "used_twice": "{subject} would use gradients of <{loss}><!loss:the loss of {line}> in more than one step",
    "counted_twice": "<{loss}><!loss:the loss of {line}> would be counted twice",
    "edited_late": "gradients of {subject} would be changed (clipped, scaled) only after the step that uses them",
    "cleared_unused": "gradients of <{loss}><!loss:the loss of {line}> would be cleared before {subject} uses them",
    "other_gradient": "{subject} would get another gradient (off by {off} in its step {step})",
    "other_loss": "<{loss}><!loss:the loss of {line}> would have another value in step {step}",
    "stale": "{subject} would be trained through values computed before it last changed",
    "only_first": "only the first `backward()` on {line} would go through what was computed before the loop",
    "no_gradient": "{subject} would make {count} without any gradient",
    "updates_gone": "{count} of {of} updates by {subject} would be gone",
    "updates_rarer": "updates by {subject} would be gone",
    "updates_added": "{subject} would make {count} more",
    "all_zero": "runs, and every gradient is zero",
    "made_again": "{subject} would be made again, and forget what it has gathered",
    "may_need_graph": "this graph may be what is missing elsewhere: {finding}",
    "still": "still: {finding}",
    "then": "runs, but then: {finding}",
    "fails": "fails< in {step}>< on {line}>: {finding}< (changed on {written})>",
    "writes_outside": "the program writes to {path}, outside of the folder that test runs get a copy of",
    "disk_full": "the program writes more than a test run can hold: what it writes is kept in memory",
    "folder_too_large": "test runs need a copy of {folder}, which is too large (more than {files} or {bytes})",
    "not_isolated": "test runs use a copy of {folder}: this system allows no private view of its files ({reason}). Not "
    "isolated: the network, and what other programs or C code write elsewhere",
    "reads_terminal": "the program reads from the terminal, which a test run does not have: pipe its input in",
    "not_tried": "not tried, the change above works",
    "not_applicable": "does not apply",
    "checked": "not run yet; in the source, the fault is gone. `afterward fix` runs it and tests it",
}


def proof_text(proof: Proof, here: Site | None = None) -> str:
    """What was seen, in one line."""
    return "; ".join(note_text(note, here) for note in proof.notes)


def note_text(note: Note, here: Site | None = None) -> str:
    return fill(PROOFS[note.kind], _with_findings(note.facts), here=here)


def _with_findings(facts: Iterable[Fact]) -> Iterable[Fact]:
    """A finding is held by its code; it is shown as what that rule finds."""
    for fact in facts:
        if fact.name == "finding":
            fact = Fact(fact.name, FactKind.VERBATIM, words_of(fact.text).fault)
        yield fact
