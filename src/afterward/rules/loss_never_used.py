"""AFT304: forward passes whose graph is dropped unused, though training was meant."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model import facts
from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Label, Remedy, Severity
from afterward.model.figures import human
from afterward.model.history import History, LeftOut, Unswept
from afterward.rules import rule
from afterward.rules._silent import warning


@rule("AFT304", Severity.WARNING)
def loss_never_used(history: History) -> Iterator[Diagnosis]:
    """A loss is computed and never swept: overwritten by the next, or left out of the sum."""
    for unswept in history.unswept:
        yield _overwritten(unswept)
    for part in history.left_out:
        yield _left_out(part)


def _overwritten(unswept: Unswept) -> Diagnosis:
    took = f", and took about {100 * unswept.time_share:.0f} % of the time" if unswept.time_share >= 0.005 else ""
    return warning(
        "losses are overwritten before anyone sweeps them",
        unswept.site,
        f"`{unswept.name}` is computed {unswept.times} times per backward, and swept once",
        f"Each turn builds a graph and gives `{unswept.name}` a new value; the backward on line "
        f"{unswept.swept.line} comes after the loop and sweeps the last one. "
        f"What the other turns computed is dropped: they teach nothing{took}.",
        Remedy(
            "combine_losses",
            Effect.CHANGES_GRADIENTS,
            "each_iteration",
            unswept.site,
            unswept.name,
            facts=(facts.code("target", unswept.name),),
        ),
        secondary=(Label(unswept.swept, "sweeps only the last one"),),
        bridge=Bridge(unswept.name, "local"),
        freed=unswept.swept,
    )


def _left_out(part: LeftOut) -> Diagnosis:
    size = f", {human(part.bytes)}" if part.bytes else ""
    count = f"{part.parameters} parameter{'s' if part.parameters != 1 else ''}"
    return warning(
        "a part of the loss is never swept",
        part.site,
        f"`{part.name}` has a graph of its own ({part.nodes:,} nodes{size}), and no pass sweeps it",
        f"`{part.name}` was computed from {count}, next to `{part.swept_part}`, which line {part.swept.line} sweeps. "
        "In the steps that were looked at nothing ever went backward through it: it has a value, and teaches nothing.",
        Remedy(
            "combine_losses",
            Effect.CHANGES_GRADIENTS,
            "left_out",
            part.site,
            part.name,
            facts=(facts.code("target", part.name),),
        ),
        secondary=(Label(part.swept, f"sweeps `{part.swept_part}` without it"),),
        bridge=Bridge(part.name, "item"),
        nodes=part.nodes,
        size=part.bytes,
        freed=part.swept,
    )
