"""AFT407: a derivative in the loss that was taken without `create_graph=True`."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model import facts
from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Label, Remedy, Severity
from afterward.model.history import History
from afterward.model.words import Words
from afterward.rules._often import AGAIN
from afterward.rules._registry import rule
from afterward.rules._silent import FlatPart, flat_parts, warning


@rule("AFT407", Severity.WARNING, breaks=4)
def derivative_without_graph(history: History) -> Iterator[Diagnosis]:
    """A penalty or another part of a loss is a derivative computed without `create_graph=True`: it has no effect."""
    for part in flat_parts(history):
        if part.times >= AGAIN:
            yield _diagnose(part)


def _diagnose(part: FlatPart) -> Diagnosis:
    return warning(
        part.site,
        facts.code("name", part.name),
        facts.lines("taken", part.taken),
        facts.lines("backward", part.used),
        remedy=Remedy(
            "create_graph",
            Effect.CHANGES_GRADIENTS,
            "penalty",
            part.taken,
            part.name,
            facts=(facts.lines("lines", part.taken),),
        ),
        secondary=(Label(part.taken, "taken"), Label(part.used, "used")),
        form="" if part.linear else "inside",
        bridge=Bridge(part.name, "local"),
        built=part.site,
        freed=part.used,
        cut=part.taken,
    )


def _words(headline: str, why: str) -> Words:
    return Words(
        fault="a derivative in the loss has no graph, and no effect on training",
        headline=headline,
        why="{name} is computed from what the `autograd.grad()` on {taken} returns, and without `create_graph=True` "
        f"that is plain numbers. {why}",
        labels={
            "fault": "{name} is added, and has no graph",
            "taken": "the derivative is computed here, without a graph",
            "used": "`backward()` on the sum",
        },
    )


WORDS = {
    "": _words(
        "{name} is part of the loss, and has no graph: it has no effect on training",
        "It changes the value of the loss, but no gradient: the `backward()` on {backward} does not go through it.",
    ),
    "inside": _words(
        "{name} is part of the loss, and has no graph: it counts as a constant",
        "The `backward()` on {backward} does not go through it: nothing is trained to change it.",
    ),
}
