"""A patch on the way to a cure, and what is told of all that were tried for one fault."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from afterward.model import facts
from afterward.model.diagnosis import Diagnosis, Effect, Proof, Remedy
from afterward.model.facts import Note
from afterward.tasks.choices import naming_all
from afterward.tasks.proof import Verdict
from afterward.tasks.same_gradients import first_difference
from afterward.tasks.trial import Trial

if TYPE_CHECKING:
    from afterward.repair import Edit


@dataclass
class Cure:
    """All texts that a patch changes, and what its last trial showed."""

    remedy: Remedy
    texts: dict[str, str]
    verdict: Verdict
    trial: Trial
    curing: frozenset[str] = frozenset()  # codes of the faults that it is meant to cure
    parts: int = 1  # patches that it is made of
    names: tuple[str, ...] = ()  # what they change
    edits: Mapping[str, tuple[Edit, ...]] = field(default_factory=dict)  # of the last of them, where it is known

    def compared_with(self, proven: Cure) -> Cure:
        """What following the message's own advice computes, next to the recommended change."""
        differs = first_difference(self.trial.training, proven.trial.training)
        same = None if differs is None else differs == 0
        if proven.remedy.kind == "combine_losses":  # said to give the same gradients: so they are compared
            proven.verdict = replace(proven.verdict, proof=replace(proven.verdict.proof, same_gradients=same))
        notes = self.verdict.proof.notes
        if same is False:
            notes = (Note("other_gradients", (facts.count("step", differs),)), *notes)
        elif same:
            notes = (Note("same_gradients"), *notes)
        proof = replace(self.verdict.proof, notes=notes, same_gradients=same)
        if same is False and proven.remedy.kind == "create_graph":
            # The derivative has an effect on training, and a graph that is only kept leaves it a constant.
            return replace(self, verdict=Verdict("changed", replace(proof, status="failed")))
        return replace(self, verdict=replace(self.verdict, proof=proof))

    def told(self, texts: Mapping[str, str]) -> Remedy:
        """The remedy with its patch and its proof."""
        from afterward.repair import unified

        changed = sorted(self.texts.items())
        patch = "".join(
            unified(os.path.relpath(file), texts[file], text, self.edits.get(file, ())) for file, text in changed
        )
        effect, proof = self.remedy.effect, self.verdict.proof
        same = proof.same_gradients
        if effect is Effect.SAME_GRADIENTS and same is False:
            effect = Effect.CHANGES_GRADIENTS
        elif effect is Effect.SAME_GRADIENTS and same is None and proof.status == "proven" and proof.passes:
            proof = replace(proof, notes=(*proof.notes, Note("not_compared")))
        return replace(naming_all(self.remedy, self.names), patch=patch, proof=proof, effect=effect)


def told_of(
    found: Diagnosis, cures: list[Cure], tried: list[Cure], texts: Mapping[str, str], passed_over: Collection[str]
) -> tuple[Remedy, ...]:
    """Proven ones first, then what was tried and failed, then what did not apply."""
    order = [*cures, *(cure for cure in tried if cure not in cures)]
    shown = [cure.told(texts) for cure in order]
    seen = {remedy.kind for remedy in shown}
    for remedy in found.remedies:
        if remedy.kind in seen:
            continue
        if remedy.effect is Effect.SKETCH:
            shown.append(remedy)
        elif remedy.kind in passed_over:
            shown.append(replace(remedy, proof=Proof("not_proven", (Note("not_tried"),))))
        else:
            shown.append(replace(remedy, proof=Proof("not_applicable", (Note("not_applicable"),))))
    return tuple(shown)
