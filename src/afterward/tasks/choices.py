"""Which changes are tried for a fault, in which order, and how they are called."""

from __future__ import annotations

import re
from collections.abc import Sequence

from afterward.model.diagnosis import Diagnosis, Effect, Remedy, Severity

_OTHERS = {  # what else may cure an error, in the order in which a maintainer would try it
    "second_backward": ("detach_state", "detach_input", "recompute_forward", "combine_losses", "retain_graph"),
    "inplace": (
        "recompute_forward",
        "combine_losses",
        "detach_state",
        "reorder_step",
        "detach_input",
        "out_of_place",
    ),
}
_RATHER_ANEW = ("backward-twice", "losses-share-forward", "forward-outside-loop")  # nothing is carried over there


def remedies_for(found: Diagnosis) -> list[Remedy]:
    """The remedies that the rule names, then others that may do, each once."""
    remedies = list({remedy.kind: remedy for remedy in reversed(found.remedies)}.values())[::-1]
    kinds = {remedy.kind for remedy in remedies}
    if found.severity is Severity.ERROR:
        family = "inplace" if found.code.startswith("AFT2") else "second_backward"
        if found.code.startswith("AFT1") or family == "inplace":
            name = found.bridge.name if found.bridge is not None else ""
            site = found.bridge.site if found.bridge is not None else None
            others = list(_OTHERS[family])
            if found.name in _RATHER_ANEW:
                others.sort(key=lambda kind: kind != "recompute_forward")
            remedies += [Remedy(kind, *_OTHER_WORDS[kind], site, name) for kind in others if kind not in kinds]
    return remedies


_OTHER_WORDS: dict[str, tuple[Effect, str]] = {
    "detach_state": (Effect.CUTS_GRADIENTS, "detach what is carried over; gradients then stop there"),
    "detach_input": (Effect.CUTS_GRADIENTS, "detach the value where this pass reads it; it is data there"),
    "recompute_forward": (Effect.CHANGES_GRADIENTS, "compute the value anew for each pass; costs a forward each time"),
    "combine_losses": (Effect.CHANGES_GRADIENTS, "add the losses and call backward once on the sum"),
    "retain_graph": (Effect.CHANGES_GRADIENTS, "pass `retain_graph=True` to the first pass; keeps its graph in memory"),
    "reorder_step": (Effect.CHANGES_GRADIENTS, "move the step behind the last pass that needs the old parameters"),
    "out_of_place": (Effect.SAME_GRADIENTS, "make a new tensor instead of writing into this one; costs one copy"),
}


def whole(name: str) -> str:
    """What an element belongs to: `state` of `state[1]`."""
    return re.sub(r"(\[[^\]]*\])+$", "", name)


def naming_all(remedy: Remedy, names: Sequence[str]) -> str:
    """The title with all that is changed in this way: `h` becomes `h` and `self.memory`."""
    own = f"`{remedy.target}`"
    others = [f"`{name}`" for name in names if name and name != whole(remedy.target)]
    if not others or own not in remedy.title:
        return remedy.title
    *most, last = [own, *others]
    return remedy.title.replace(own, f"{', '.join(most)} and {last}", 1)
