"""AFT306: a loop hands one sample after the other to layers that take a batch."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Effect, Label, Remedy, Severity
from afterward.model.history import History, Measured
from afterward.rules import rule
from afterward.rules._silent import duration, warning


@rule("AFT306", Severity.INFO)
def sample_at_a_time(history: History) -> Iterator[Diagnosis]:
    """The rows of a tensor go through a network one by one, though it takes them all at once."""
    for one in history.singles:
        labels = () if one.loop.same_lines(one.site) else (Label(one.loop, "this loop takes the batch apart"),)
        yield warning(
            "a batch goes through the network one sample at a time",
            one.site,
            f"ran for each of {one.times} rows of one tensor, before one backward",
            "The layers take a batch, and no row needs the result of another. One by one, every operation is called "
            f"and recorded anew for each row: the backward on line {one.swept.line} walks {one.nodes:,} nodes.",
            Remedy(
                "batch_samples",
                Effect.SAME_GRADIENTS,
                "hand over the whole tensor in one call; the gradients are the same up to rounding, unless a layer "
                "looks at the batch as a whole (batch norm) or draws random numbers",
                one.site,
            ),
            secondary=labels,
            nodes=one.nodes,
            freed=one.swept,
            notes=(_measured(one.measured),) if one.measured is not None else (),
        )


def _measured(tried: Measured) -> str:
    return (
        f"measured after the run, on numbers of our own and without the rest of the program: the layers' {tried.calls} "
        f"calls took {duration(tried.seconds)}, the same work in one batch {duration(tried.together)} "
        f"({tried.seconds / tried.together:.1f} times as fast)"
    )
