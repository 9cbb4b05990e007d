"""AFT306: a loop hands one sample after the other to layers that take a batch."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model import facts
from afterward.model.diagnosis import Diagnosis, Effect, Label, Remedy, Severity
from afterward.model.history import History, Measured, Singles
from afterward.rules import rule
from afterward.rules._silent import duration, warning


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
        notes=(_measured(one.measured),) if one.measured is not None else (),
    )


def _each_turn(one: Singles) -> Diagnosis:
    """A backward for each sample, and a step for each or one after all."""
    steps = one.kind == "step"
    return warning(
        "a training loop takes one sample at a time",
        one.site,
        f"runs for one sample out of `{one.source}`, and line {one.swept.line} sweeps its graph",
        f"The model takes a batch: tried on {_count(one.measured)} samples at once, it gave for each what it gives for "
        "it alone. One by one, every operation of the forward pass, of the backward pass"
        f"{' and of the step' if steps else ''} is called anew for each sample.",
        Remedy(
            "batch_samples",
            Effect.SKETCH,
            "steps" if steps else "sums",
            one.site,
            facts=(facts.code("target", one.source),),
        ),
        secondary=(Label(one.loop, f"each of its {one.times:,} turns takes one sample"),),
        nodes=one.nodes,
        freed=one.swept,
        notes=(_measured(one.measured),) if one.measured is not None else (),
    )


def _count(tried: Measured | None) -> str:
    return str(tried.calls) if tried is not None else "several"


def _measured(tried: Measured) -> str:
    gain = f"({tried.seconds / tried.together:.1f} times as fast)"
    if tried.model:
        return (
            f"measured in the middle of the run, without recording: {tried.calls} calls of `{tried.model}` took "
            f"{duration(tried.seconds)}, one call with the same samples as a batch {duration(tried.together)} {gain}"
        )
    return (
        f"measured after the run, on numbers of our own and without the rest of the program: the layers' {tried.calls} "
        f"calls took {duration(tried.seconds)}, the same work in one batch {duration(tried.together)} {gain}"
    )
