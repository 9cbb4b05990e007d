"""The helps of a report: what to change, the change itself, and what became of it when it was tried."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Proof, Remedy
from afterward.model.site import Site
from afterward.render.proofs import proof_text
from afterward.render.spans import Line, Span, wrapped
from afterward.render.wording import help_text

_KINDS = {
    "ask_for_gradient": "ask for its gradient",
    "combine_losses": "combine the losses",
    "create_graph": "create_graph=True",
    "detach_input": "detach the input",
    "detach_state": "detach the state",
    "detach_value": "detach it",
    "fit_gradient": "fit the gradient",
    "item_for_logging": "store a number",
    "leave_inference": "no_grad instead",
    "make_leaf": "make it a leaf",
    "move_step": "move the step",
    "no_grad": "write under no_grad",
    "out_of_place": "make a new tensor",
    "rebuild_optimizer": "rebuild the optimizer",
    "recompute_forward": "recompute it",
    "remove_detach": "remove the cut",
    "remove_duplicate": "remove one backward",
    "remove_retain": "remove the flag",
    "reorder_step": "move the step",
    "retain_graph": "retain_graph=True",
    "zero_grad": "clear the gradients",
}
LONGEST = 12  # lines of a change that is shown before it was tried
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


def helps(found: Diagnosis, width: int) -> Iterator[Line]:
    """The recommended change first; the others as alternatives, or, once they were tried, with their fate."""
    remedies = found.remedies

    def title(remedy: Remedy) -> str:
        return help_text(found, remedy)

    if not any(_was_tried(remedy) for remedy in remedies):
        for number, remedy in enumerate(remedies):
            yield from wrapped("help: ", ("" if number == 0 else "or ") + title(remedy), "help", width)
            change = list(_change(remedy.patch or "", width))
            yield from change if len(change) <= LONGEST else ()
        return
    best, *others = remedies
    yield from wrapped("help: ", title(best), "help", width)
    if best.proof is not None and best.proof.status in ("proven", "not_proven"):
        yield from _change(best.patch or "", width)
        yield from wrapped(f"{_word(best.proof)}: ", proof_text(best.proof, found.primary.site), "help", width)
    else:
        others = list(remedies)
    if others:
        yield (Span("also tried:" if best not in others else "tried:", "note"),)
        for remedy in others:
            yield from _fate(remedy, found.primary.site, width)


def short_name(remedy: Remedy) -> str:
    return _KINDS.get(remedy.kind, remedy.kind)


def _was_tried(remedy: Remedy) -> bool:
    return remedy.proof is not None and remedy.proof.status != "checked"


def _word(proof: Proof) -> str:
    return "proven" if proof.status == "proven" else "not proven"


def _change(patch: str, width: int) -> Iterator[Line]:
    """The changed lines of a diff, with their numbers."""
    old = new = 0
    files = patch.count("\n+++ ") + patch.startswith("+++ ")
    for line in patch.splitlines():
        hunk = _HUNK.match(line)
        if hunk is not None:
            old, new = int(hunk[1]), int(hunk[2])
        elif line.startswith("+++ ") and files > 1:
            yield (Span("   ::: ", "frame"), Span(line[6:]))
        elif line.startswith(("--- ", "+++ ", "\\")):
            continue
        elif line.startswith("-"):
            yield from _folded(f"{old:>5} - ", line[1:], "removed", width)
            old += 1
        elif line.startswith("+"):
            yield from _folded(f"{new:>5} + ", line[1:], "added", width)
            new += 1
        else:
            old, new = old + 1, new + 1


def _folded(gutter: str, code: str, style: str, width: int) -> Iterator[Line]:
    """A line of a change; one that is too long goes on in the next, further in, under its sign."""
    indent = len(code) - len(code.lstrip())
    rest = " " * (indent + 4)
    room = max(width - len(gutter), len(rest) + 20)
    parts = textwrap.wrap(
        code, room, subsequent_indent=rest, drop_whitespace=True, break_long_words=False, break_on_hyphens=False
    )
    for number, part in enumerate(parts if len(code) > room else [code]):
        yield (Span(gutter if number == 0 else f"{gutter.strip()[-1]:>7} ", style), Span(part, style))


def _fate(remedy: Remedy, here: Site, width: int) -> Iterator[Line]:
    name = f"  {short_name(remedy):<22} "
    text = proof_text(remedy.proof, here) if remedy.proof is not None else "not tried"
    parts = textwrap.wrap(text, max(width - len(name), 20), break_long_words=False, break_on_hyphens=False) or [""]
    yield (Span(name), Span(parts[0]))
    for part in parts[1:]:
        yield (Span(" " * len(name)), Span(part))
