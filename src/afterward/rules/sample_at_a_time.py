"""AFT306: a loop hands one sample after the other to layers that take a batch."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model import facts
from afterward.model.diagnosis import Diagnosis, Effect, Label, Remedy, Severity
from afterward.model.history import History, Singles
from afterward.model.words import Words
from afterward.rules import rule
from afterward.rules._silent import warning


@rule("AFT306", Severity.INFO)
def sample_at_a_time(history: History) -> Iterator[Diagnosis]:
    """The rows of a tensor go through a network one by one, though it takes them all at once."""
    for one in history.singles:
        yield _one_pass(one) if one.kind == "pass" else _each_iteration(one)


def _one_pass(one: Singles) -> Diagnosis:
    return warning(
        one.site,
        facts.count("times", one.times, "row"),
        facts.code("name", one.name),
        facts.lines("backward", one.used),
        facts.count("nodes", one.nodes, "node"),
        remedy=Remedy("batch_samples", Effect.SAME_GRADIENTS, "", one.site),
        form="rows",
        secondary=() if one.loop.same_lines(one.site) else (Label(one.loop, "loop"),),
        nodes=one.nodes,
        freed=one.used,
    )


def _each_iteration(one: Singles) -> Diagnosis:
    """A backward for each sample, and a step for each or one after all."""
    form = "steps" if one.kind == "step" else "sums"
    return warning(
        one.site,
        facts.count("times", one.times, "iteration"),
        facts.code("name", one.name),
        facts.lines("backward", one.used),
        remedy=Remedy("batch_samples", Effect.SKETCH, form, one.site),
        form=form,
        secondary=(Label(one.loop, "loop"),),
        nodes=one.nodes,
        freed=one.used,
    )


def _each(passes: str) -> Words:
    return Words(
        fault="a training loop takes one sample at a time",
        headline="<{name} is computed for><!name:the training loop takes> one sample at a time",
        why="The model takes a batch, and an iteration needs nothing from the one before but the parameters. Now "
        f"{passes} run once for each sample.",
        labels={
            "fault": "runs for one row of a tensor, and {backward} calls `backward()` for it",
            "loop": "each <of its {times}><!times:iteration> takes one sample",
        },
    )


WORDS = {
    "rows": Words(
        fault="a batch goes through the network one sample at a time",
        headline="<{name} is computed for><!name:a batch goes through the network> one sample at a time",
        why="The model takes a batch, and no row needs the result of another. Now every operation runs and is recorded "
        "once for each row< (the `backward()` on {backward} goes through {nodes})>.",
        labels={
            "fault": "[ran|runs] for each <of {times} of><!times:row of> one tensor, before one `backward()`",
            "loop": "this loop takes the batch apart",
        },
    ),
    "steps": _each("the forward pass, the backward pass and the step"),
    "sums": _each("the forward pass and the backward pass"),
}
