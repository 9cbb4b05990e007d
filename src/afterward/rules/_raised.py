"""The shape that the other errors of autograd share: the line that raised, the tensor, where it was made and stored."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model import facts
from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Label, Remedy, Role
from afterward.model.history import Cut, History
from afterward.model.raised import Extent, Operand, Raised
from afterward.model.site import Site
from afterward.model.words import Words

MADE, STORED = "made", "stored"  # where the tensor was computed, and where the program put it
BY_HAND = "follow_page"  # what only the program's author can choose
_CHANGES = {  # errors whose cure is one change of the source
    "input-needs-no-gradient": ("ask_for_gradient", Effect.CHANGES_GRADIENTS),
    "leaf-written-in-place": ("no_grad", Effect.SAME_GRADIENTS),
    "view-of-leaf-written-in-place": ("no_grad", Effect.SAME_GRADIENTS),
    "one-of-several-views-written": ("out_of_place", Effect.SAME_GRADIENTS),
    "expanded-tensor-written": ("out_of_place", Effect.SAME_GRADIENTS),
    "view-of-custom-function-written": ("out_of_place", Effect.SAME_GRADIENTS),
    "numpy-of-a-graph-tensor": ("detach_value", Effect.CUTS_GRADIENTS),
    "dlpack-of-a-graph-tensor": ("detach_value", Effect.CUTS_GRADIENTS),
    "non-leaf-sent": ("detach_value", Effect.CUTS_GRADIENTS),
    "non-leaf-copied": ("detach_value", Effect.CUTS_GRADIENTS),
    "requires-grad-of-non-leaf": ("detach_value", Effect.CUTS_GRADIENTS),
    "argument-not-differentiable": ("detach_value", Effect.CUTS_GRADIENTS),
    "non-leaf-optimized": ("make_leaf", Effect.CHANGES_GRADIENTS),
    "grad-is-none": ("make_leaf", Effect.CHANGES_GRADIENTS),
    "assigned-gradient-of-another-size": ("fit_gradient", Effect.CHANGES_GRADIENTS),
    "custom-backward-count": ("fit_gradient", Effect.CHANGES_GRADIENTS),
    "inference-tensor-saved": ("leave_inference", Effect.SAME_GRADIENTS),
    "inference-tensor-written": ("leave_inference", Effect.SAME_GRADIENTS),
    "inference-tensor-requires-grad": ("leave_inference", Effect.SAME_GRADIENTS),
}
VIEWS = "views"  # the form of a remedy where what is written is a part of one tensor, as its rows are
_KINDS = {BY_HAND, *(kind for kind, _ in _CHANGES.values())}


def told(
    fault: str,
    headline: str,
    why: str,
    *,
    here: str,
    help: str,
    made: str = "<{value} is computed here><!value:it is computed here><, in {at_step}>",
    stored: str = "{value} gets its value here",
    cut: str = "{cut} disconnects it here",
) -> Words:
    """The words of one message. `here` is the label of the line that raised; every change has the same help."""
    labels = {str(Role.FAULT.value): here, MADE: made, STORED: stored, str(Role.CUT.value): cut}
    return Words(fault, headline, why, labels, helps={(kind, form): help for kind in _KINDS for form in ("", VIEWS)})


def raised(history: History, code: str) -> Iterator[Diagnosis]:
    """One diagnosis for each error that this rule explains; its words are those of the message."""
    return (_diagnosis(one, history.cuts) for one in history.raised if code in one.rules[:1])


def _diagnosis(one: Raised, cuts: tuple[Cut, ...]) -> Diagnosis:
    loop = one.where.innermost_iteration
    site = one.where.site_at(loop)
    operand = one.operand or Operand("", False, False)
    made = operand.made.site_at(loop) if operand.made else None
    places = [(made, MADE), (operand.stored, STORED)]
    labels = [_label(place, role, site) for place, role in places if place is not None and not _same(place, site)]
    if len(labels) > 1 and labels[0].site.same_lines(labels[1].site):
        labels.pop()
    labels += [Label(cut.site, Role.CUT) for cut in cuts if not cut.site.same_lines(site)]
    kind, effect = _CHANGES.get(one.page, (BY_HAND, Effect.SKETCH))
    known = (facts.code("value", operand.name), *_figures(one, operand), *_cut(cuts))
    return Diagnosis(
        Label(site, Role.FAULT),
        tuple(labels),
        one.page,
        known,
        remedies=(Remedy(kind, effect, VIEWS if kind == "out_of_place" else "", site, operand.name, facts=known),),
        built=made,
        reused=site,
        cut=cuts[0].site if cuts else None,
        written=site if kind == "out_of_place" else None,
        bridge=Bridge(operand.name, "attribute" if "." in operand.name else "local", operand.stored)
        if operand.name
        else None,
    )


def _label(place: Site, role: str, site: Site) -> Label:
    """A place, with its step where the same line is shown in a later one."""
    return Label(place, role, (facts.step("at_step", place),) if place.same_lines(site) else ())


def _same(place: Site, site: Site) -> bool:
    """One line, and not in an earlier iteration of the loop."""
    return place.same_lines(site) and place.step in (None, site.step)


def _figures(one: Raised, operand: Operand) -> tuple[facts.Fact, ...]:
    return (
        facts.code("op", operand.op),
        facts.names("others", tuple(other.name for other in one.others)),
        facts.code("base", operand.base),
        facts.names("shared", operand.shared),
        facts.code("shape", str(list(operand.shape)) if operand.shape else ""),
        facts.code("dtype", operand.dtype),
        facts.verbatim("extents", "; ".join(map(_extent, operand.extents))),
        facts.lines("made", operand.made.site if operand.made is not None else None),
        facts.lines("stored", operand.stored),
        facts.verbatim("said", one.message.partition("\n")[0].rstrip(".")),  # a template ends the sentence
    )


def _extent(one: Extent) -> str:
    """`result` 0 to 1.5, 3 of 8 are 0."""
    counts = [(one.zeros, "0"), (one.not_finite, "not finite")]
    some = [f"{number:,} of {one.of:,} {'is' if number == 1 else 'are'} {what}" for number, what in counts if number]
    return ", ".join([f"`{one.name}` {one.least:.3g} to {one.greatest:.3g}", *some])


def _cut(cuts: tuple[Cut, ...]) -> tuple[facts.Fact, ...]:
    return tuple(fact for cut in cuts[:1] for fact in (facts.code("cut", cut.how), facts.lines("cut_line", cut.site)))
