"""AFT401: a loss has no graph, because its history was cut on the way."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model import facts
from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Label, Remedy, Severity
from afterward.model.history import BY_GRAD, Cut, History, Pass
from afterward.rules import rule


@rule("AFT401", Severity.ERROR)
def history_cut(history: History) -> Iterator[Diagnosis]:
    """A pass is called on a value that has no graph: its history was cut on the way."""
    for late in history.broken_passes():
        if late.error == "no_grad" and late.where is not None:
            yield _diagnose(late, history.cuts)


def _diagnose(late: Pass, cuts: tuple[Cut, ...]) -> Diagnosis:
    assert late.where is not None
    loop = late.where.innermost_turn
    reused = late.where.site_at(loop)
    name = f"`{late.receiver}`" if late.receiver else "this value"
    if not cuts:
        return Diagnosis(
            message="backward on a value that has no graph",
            primary=Label(reused, f"{name} has no history"),
            why=f"{name} was not computed from anything that needs gradients. "
            "The record does not show a place where a history was cut.",
            reused=reused,
            bridge=Bridge(late.receiver, "expression") if late.receiver else None,
            caught=late.caught,
        )
    cut, *others = cuts
    what = f"`{cut.name}`" if cut.name and "requires_grad" not in cut.how else name
    notes = (
        (f"it is cut on line {_lines(others)} too: all these cuts have to go, or there is still nothing to walk",)
        if others
        else ()
    )
    return Diagnosis(
        message="backward on a value whose history was cut",
        primary=Label(reused, f"{name} has no history"),
        secondary=(
            Label(cut.site, f"`{cut.how}` cuts the history here"),
            *(Label(other.site, f"`{other.how}` cuts it here too") for other in others),
        ),
        notes=notes,
        why=f"{_what_it_does(cut)}. So {what} leads back to no parameter, and there is nothing to walk.",
        remedies=(_cure(cut),),
        reused=reused,
        cut=cut.where.site_at(loop),
        bridge=Bridge(cut.name or late.receiver, "local"),
        caught=late.caught,
    )


def _lines(cuts: list[Cut]) -> str:
    return " and ".join(dict.fromkeys(str(cut.site.line) for cut in cuts))


def _kind(cut: Cut) -> str:
    return "create_graph" if cut.how == BY_GRAD else "remove_detach"


def _what_it_does(cut: Cut) -> str:
    if cut.how == BY_GRAD:
        return "Without `create_graph=True`, what `autograd.grad` returns has no history"
    if "requires_grad" in cut.how:
        return f"`{cut.how}` has switched off the parameters that it is computed from"
    if cut.how.startswith("checkpoint"):
        return f"`{cut.how}` records nothing where no tensor that it is given needs gradients"
    return f"`{cut.how}` keeps the numbers and drops the graph"


def _cure(cut: Cut) -> Remedy:
    return Remedy(
        _kind(cut),
        Effect.CHANGES_GRADIENTS,
        _form(cut),
        cut.site,
        cut.name,
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
