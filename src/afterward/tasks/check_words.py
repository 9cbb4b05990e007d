"""Words for what was worked out and not seen: "is freed", where the rules, which can not tell, say "was freed".

The rules speak of a record as of something that happened. Nothing happened yet when it was read off the source, so
their sentences are put into the present, phrase by phrase. A phrase that is not listed stays as it is, and so does the
headline, by which a fault is known.
"""

from __future__ import annotations

import re
from dataclasses import replace

from afterward.model.diagnosis import Diagnosis

_PHRASES = (
    # labels
    (r"that were already", "that are already"),
    (r"^(needs values that .*) freed$", r"\1 frees"),
    (r"as it was in the forward pass", "as it is in the forward pass"),
    (r"^(needs .*) as it was$", r"\1 as it is before"),
    (r"an earlier update has already used", "an earlier update already uses"),
    (r"^(freed|built|computed) ", r"is \1 "),
    (r"^saved here", "is saved here"),
    (r"^saved (.* for its backward)", r"saves \1"),
    (r"that was written over since", "that is written over before"),
    (r"as it was then", "as it is then"),
    (r"^changed (.* in place)", r"changes \1"),
    (r"^added these", "adds these"),
    # what retain_graph would do
    (r"was changed by (.*) since, in place", r"is changed by \1 before, in place"),
    (r"has changed what (`[^`]*`) was computed", r"changes what \1 is computed"),
    (
        r"kept the graph, but not the parameters it was computed",
        "keeps the graph, but not the parameters it is computed",
    ),
    (r"the optimizer has changed parameters since", "the optimizer changes parameters before"),
    # why
    (r"was swept before, by (.*?), and that freed", r"is swept before, by \1, and that frees"),
    (r"Nothing was (computed|zeroed)", r"Nothing is \1"),
    (r"were computed from", "are computed from"),
    (r"walked that part and freed it", "walks that part and frees it"),
    (r"returned went into this loss", "returns goes into this loss"),
    (r"Taking it walked the graph of (.*?) and freed it", r"Taking it walks the graph of \1 and frees it"),
    (r"what `autograd.grad` returned", "what `autograd.grad` returns"),
    (r"went through it into that network and freed", "goes through it into that network and frees"),
    (r"has already swept and freed", "already sweeps and frees"),
    (r"was computed (once|in step \d+) and kept", r"is computed \1 and kept"),
    (r"through what was kept", "through what is kept"),
    (r"had saved", "saves"),
    (r"has been through here before and freed", "comes through here before and frees"),
    (r"(pass|backward|grad|\)|line \d+|\.py|cell \d+) (?:has )?freed (its|that|the|it\b)", r"\1 frees \2"),
    (r" has freed\.", " frees."),
    (r"has done that;", "does that;"),
    (r"has switched off", "switches off"),
    (r"(pass|operation) saved ", r"\1 saves "),
    (r"has changed it in place since", "changes it in place before this pass"),
    (r"was written over before that backward ran", "is written over before that backward runs"),
    (r"what they saved is kept or was never", "what they save is kept or is never"),
    (r"the other turns computed", "the other turns compute"),
    (r"was used to change its parameter and not zeroed since", "is used to change its parameter and not zeroed after"),
    (
        r"were used to change their parameters and not zeroed since",
        "are used to change their parameters and not zeroed after",
    ),
    (r"has added the gradients", "adds the gradients"),
)
_PRESENT = tuple((re.compile(past), present) for past, present in _PHRASES)


def in_present(text: str) -> str:
    """A sentence about what happened, as one about what happens."""
    for past, present in _PRESENT:
        text = past.sub(present, text)
    return text


def as_inferred(found: Diagnosis) -> Diagnosis:
    """A finding in the words for what was not seen."""
    return replace(
        found,
        primary=replace(found.primary, text=in_present(found.primary.text)),
        secondary=tuple(replace(label, text=in_present(label.text)) for label in found.secondary),
        why=in_present(found.why),
        notes=tuple(in_present(note) for note in found.notes),
    )
