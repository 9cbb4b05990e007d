"""The shape that the other errors of autograd share: the line that raised, the tensor, where it was made and stored."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model import facts
from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Label, Remedy, Role
from afterward.model.history import History, operation
from afterward.model.raised import Operand, Raised

MADE, STORED = "made", "stored"  # where the tensor was computed, and where the program put it


def raised(history: History, code: str) -> Iterator[Diagnosis]:
    """One diagnosis for each error that this rule explains; its words are those of the message."""
    return (_diagnosis(one) for one in history.raised if code in one.rules[:1])


def _diagnosis(one: Raised) -> Diagnosis:
    site = one.where.site_at(one.where.innermost_turn)
    operand = one.operand
    made = operand.made.site_at(operand.made.innermost_turn) if operand is not None and operand.made else None
    stored = operand.stored if operand is not None else None
    places = [(made, MADE), (stored, STORED)]
    labels = [Label(place, role) for place, role in places if place is not None and not place.same_lines(site)]
    if len(labels) > 1 and labels[0].site.same_lines(labels[1].site):
        labels.pop()
    return Diagnosis(
        Label(site, Role.FAULT),
        tuple(labels),
        one.page,
        (facts.code("value", operand.name if operand is not None else ""), *_figures(one)),
        remedies=(Remedy("follow_page", Effect.SKETCH, one.page, site, operand.name if operand is not None else ""),),
        built=made,
        reused=site,
        bridge=Bridge(operand.name, "attribute" if "." in operand.name else "local", stored)
        if operand is not None and operand.name
        else None,
    )


def _figures(one: Raised) -> tuple[facts.Fact, ...]:
    operand = one.operand or Operand("", False, False)
    return (
        facts.code("op", operation(operand.op)),
        facts.names("others", tuple(other.name for other in one.others)),
        facts.code("shape", str(list(operand.shape)) if operand.shape else ""),
        facts.code("dtype", operand.dtype),
        facts.lines("made", operand.made.site if operand.made is not None else None),
        facts.lines("stored", operand.stored),
        facts.verbatim("said", one.message.partition("\n")[0]),
    )
