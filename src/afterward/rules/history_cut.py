"""AFT401: a loss has no graph, because it was cut off from its parameters on the way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from afterward.model import facts
from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Label, Remedy, Role, Severity
from afterward.model.facts import Note
from afterward.model.history import BY_GRAD, Cut, History, Pass
from afterward.model.words import Words
from afterward.rules._registry import rule


@rule("AFT401", Severity.ERROR, breaks=4)
def history_cut(history: History) -> Iterator[Diagnosis]:
    """`backward()` is called on a value that has no graph: it was cut off from its parameters on the way."""
    for late in history.broken_passes():
        if late.error == "no_grad" and late.where is not None:
            yield _diagnose(late, history.cuts)


def _diagnose(late: Pass, cuts: tuple[Cut, ...]) -> Diagnosis:
    assert late.where is not None
    loop = late.where.innermost_iteration
    reused = late.where.site_at(loop)
    loss = facts.code("loss", late.receiver)
    if not cuts:
        return Diagnosis(
            Label(reused, Role.REUSED),
            form="unknown",
            facts=(loss,),
            reused=reused,
            bridge=Bridge(late.receiver, "expression") if late.receiver else None,
            caught=late.caught,
        )
    cut, *others = cuts
    what = cut.name if cut.name and "requires_grad" not in cut.how else late.receiver
    elsewhere = Note("more_cuts", (facts.lines("lines", *(other.site for other in others)),))
    return Diagnosis(
        Label(reused, Role.REUSED),
        (
            Label(cut.site, Role.CUT),
            *(Label(other.site, "cut_too", (facts.code("other_cut", other.how),)) for other in others),
        ),
        _form(cut),
        (loss, facts.code("cut", cut.how), facts.code("value", what)),
        (elsewhere,) if others else (),
        remedies=(_cure(cut, late),),
        reused=reused,
        cut=replace(cut.where.site_at(loop), line=cut.site.line, end_line=cut.site.end_line),
        bridge=Bridge(cut.name or late.receiver, "local"),
        caught=late.caught,
    )


def _kind(cut: Cut) -> str:
    return "create_graph" if cut.how == BY_GRAD else "remove_detach"


def _cure(cut: Cut, late: Pass) -> Remedy:
    return Remedy(
        _kind(cut),
        Effect.CHANGES_GRADIENTS,
        _form(cut),
        cut.site,
        cut.name or late.receiver,
        facts=(facts.code("cut", cut.how), facts.lines("lines", cut.site)),
    )


def _form(cut: Cut) -> str:
    if cut.how == BY_GRAD:
        return "result"
    if "requires_grad" in cut.how:
        return "frozen"
    if cut.how.startswith("checkpoint"):
        return "checkpoint"
    if cut.how == ".sample()":
        return "sample"
    if "tensor" in cut.how.lower():
        return "rebuilt"
    if "no_grad" in cut.how or "inference_mode" in cut.how or "set_grad_enabled" in cut.how:
        return "grad_mode"
    return ""


def _words(what_it_does: str) -> Words:
    return Words(
        fault="`backward()` is called on a loss that is not connected to any parameter",
        headline="<{loss}><!loss:this loss> is not connected to any parameter: {cut} disconnects it",
        why=f"{what_it_does}. So <{{value}}><!value:this value> is not connected to any parameter.",
        labels={
            "reused": "<{loss}><!loss:this value> has no graph",
            "cut": "{cut} disconnects it here",
            "cut_too": "{other_cut} disconnects it here too",
        },
        notes={"more_cuts": "it is also disconnected on {lines}: all of these have to be removed"},
    )


_KEEPS_NUMBERS = _words("{cut} keeps the numbers and drops the graph")

WORDS = {
    "unknown": Words(
        fault="`backward()` is called on a loss that is not connected to any parameter",
        headline="<{loss}><!loss:this loss> is not connected to any parameter",
        why="<{loss}><!loss:This value> [was|is] not computed from anything that requires gradients. The record does "
        "not show a place where it was disconnected.",
        labels={"reused": "<{loss}><!loss:this value> has no graph"},
    ),
    "": _KEEPS_NUMBERS,
    "sample": _KEEPS_NUMBERS,
    "rebuilt": _KEEPS_NUMBERS,
    "grad_mode": _KEEPS_NUMBERS,
    "result": _words("Without `create_graph=True`, what `autograd.grad` returns has no graph"),
    "frozen": _words("{cut} [switched|switches] off gradients for the parameters that it is computed from"),
    "checkpoint": _words("{cut} records nothing where none of its inputs requires gradients"),
}
