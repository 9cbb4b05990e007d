"""AFT306: a loop hands one sample after the other to layers that take a batch."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Effect, Label, Remedy, Severity
from afterward.model.history import History, Singles
from afterward.rules import rule
from afterward.rules._silent import warning


@rule("AFT306", Severity.INFO)
def sample_at_a_time(history: History) -> Iterator[Diagnosis]:
    """The rows of a tensor go through a network one by one, though it takes them all at once."""
    for one in history.singles:
        yield _one_pass(one) if one.kind == "pass" else _each_turn(one)


def _one_pass(one: Singles) -> Diagnosis:
    labels = () if one.loop.same_lines(one.site) else (Label(one.loop, "this loop takes the batch apart"),)
    return warning(
        "a batch goes through the network one sample at a time",
        one.site,
        f"ran for each of {one.times} rows of one tensor, before one backward",
        "The layers take a batch, and no row needs the result of another. One by one, every operation is called "
        f"and recorded anew for each row: the backward on line {one.swept.line} walks {one.nodes:,} nodes.",
        Remedy(
            "batch_samples",
            Effect.SAME_GRADIENTS,
            "",
            one.site,
        ),
        secondary=labels,
        nodes=one.nodes,
        freed=one.swept,
    )


def _each_turn(one: Singles) -> Diagnosis:
    """A backward for each sample, and a step for each or one after all."""
    steps = one.kind == "step"
    return warning(
        "a training loop takes one sample at a time",
        one.site,
        f"runs for one row of a tensor, and line {one.swept.line} calls `backward()` for it",
        "The layers take a batch, and no iteration needs anything of the one before but the parameters. One by one, "
        "every operation of the forward pass, of the backward pass"
        f"{' and of the step' if steps else ''} is called anew for each sample.",
        Remedy(
            "batch_samples",
            Effect.SKETCH,
            "steps" if steps else "sums",
            one.site,
        ),
        secondary=(Label(one.loop, f"each of its {one.times:,} iterations takes one sample"),),
        nodes=one.nodes,
        freed=one.swept,
    )
