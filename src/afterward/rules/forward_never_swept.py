"""AFT304: forward passes whose graph is dropped unused, though training was meant."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Label, Remedy, Severity
from afterward.model.history import History
from afterward.rules import rule
from afterward.rules._silent import warning


@rule("AFT304", Severity.WARNING)
def forward_never_swept(history: History) -> Iterator[Diagnosis]:
    """A loss is computed several times and swept once: all values but the last are overwritten unused."""
    for unswept in history.unswept:
        yield warning(
            "losses are overwritten before anyone sweeps them",
            unswept.site,
            f"`{unswept.name}` is computed {unswept.times} times per backward, and swept once",
            f"Each turn builds a graph and gives `{unswept.name}` a new value; the backward on line "
            f"{unswept.swept.line} comes after the loop and sweeps the last one. "
            "What the other turns computed is dropped: they teach nothing.",
            Remedy(
                "combine_losses",
                Effect.CHANGES_GRADIENTS,
                f"call backward in each turn, or add up `{unswept.name}` and sweep the sum; every turn then counts",
                unswept.site,
                unswept.name,
            ),
            secondary=(Label(unswept.swept, "sweeps only the last one"),),
            bridge=Bridge(unswept.name, "local"),
            freed=unswept.swept,
        )
