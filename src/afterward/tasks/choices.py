"""Which changes are tried for a fault, in which order, and how they are called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from afterward.model import facts
from afterward.model.diagnosis import Diagnosis, Effect, Remedy, Severity
from afterward.model.names import container_of

_OTHERS = {  # what else may cure an error, in the order in which a maintainer would try it
    "second_backward": (
        "detach_state",
        "detach_input",
        "recompute_forward",
        "combine_losses",
        "remove_duplicate",
        "retain_graph",
    ),
    "inplace": (
        "recompute_forward",
        "combine_losses",
        "detach_state",
        "reorder_step",
        "detach_input",
        "out_of_place",
    ),
}
_BY_CODE = {
    "AFT401": ("ask_for_gradient",),  # nothing disconnects it: what is trained may not require gradients
    "AFT404": ("rebuild_optimizer",),  # nothing disconnects them: the model may be another one than the optimizer has
    "AFT405": ("move_step", "remove_detach"),  # no gradients when a step comes: it may be too early, or they are frozen
}
_RATHER_RECOMPUTED = ("backward-twice", "losses-share-forward", "forward-outside-loop")  # nothing is carried over there


def remedies_for(found: Diagnosis) -> list[Remedy]:
    """The remedies that the rule names, then others that may do, each once."""
    remedies = list({remedy.kind: remedy for remedy in reversed(found.remedies)}.values())[::-1]
    kinds = {remedy.kind for remedy in remedies}
    if found.code in _BY_CODE:
        place = found.remedies[0].site if found.remedies else None
        holder = found.remedies[0].target if found.remedies else ""
        more = [kind for kind in _BY_CODE[found.code] if kind not in kinds]
        remedies += [Remedy(kind, _EFFECTS[kind], "other", place, holder) for kind in more]
    if found.severity is Severity.ERROR:
        family = "inplace" if found.code.startswith("AFT2") else "second_backward"
        if found.code.startswith("AFT1") or family == "inplace":
            name = found.bridge.name if found.bridge is not None else ""
            site = found.bridge.site if found.bridge is not None else None
            others = list(_OTHERS[family])
            if found.name in _RATHER_RECOMPUTED:
                others.sort(key=lambda kind: kind != "recompute_forward")
            target = (facts.code("target", name),)
            remedies += [
                Remedy(kind, _EFFECTS[kind], "other", site, name, facts=target) for kind in others if kind not in kinds
            ]
    return remedies


_EFFECTS = {
    "detach_state": Effect.CUTS_GRADIENTS,
    "detach_input": Effect.CUTS_GRADIENTS,
    "recompute_forward": Effect.CHANGES_GRADIENTS,
    "combine_losses": Effect.CHANGES_GRADIENTS,
    "remove_duplicate": Effect.CHANGES_GRADIENTS,
    "retain_graph": Effect.CHANGES_GRADIENTS,
    "reorder_step": Effect.CHANGES_GRADIENTS,
    "out_of_place": Effect.SAME_GRADIENTS,
    "move_step": Effect.CHANGES_GRADIENTS,
    "rebuild_optimizer": Effect.CHANGES_GRADIENTS,
    "remove_detach": Effect.CHANGES_GRADIENTS,
    "ask_for_gradient": Effect.CHANGES_GRADIENTS,
}


def naming_all(remedy: Remedy, names: Sequence[str]) -> Remedy:
    """The remedy with all that is changed in this way: `h` becomes `h` and `self.memory`."""
    others = tuple(name for name in names if name and name != container_of(remedy.target))
    return replace(remedy, also=others) if others else remedy
