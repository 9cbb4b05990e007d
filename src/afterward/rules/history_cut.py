"""AFT401: a loss has no graph, because its history was cut on the way."""

from __future__ import annotations

from collections.abc import Iterator

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
        remedies=(Remedy(_kind(cut), Effect.CHANGES_GRADIENTS, _cure(cut), cut.site, cut.name),),
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


def _cure(cut: Cut) -> str:
    if cut.how == BY_GRAD:
        return f"pass `create_graph=True` on line {cut.site.line}: its result is what is to be trained through"
    if "requires_grad" in cut.how:
        return f"leave out `{cut.how}`, or switch the parameters on again before the loss is computed"
    if cut.how.startswith("checkpoint"):
        return "pass `use_reentrant=False`: it then records what its parameters need, whatever it is given"
    if cut.how == ".sample()":
        return "draw with `.rsample()`, where the distribution has it; gradients then flow through what is drawn"
    if "tensor" in cut.how.lower():
        return f"use `torch.stack` (or the tensor itself) in place of `{cut.how}`; gradients then flow through it"
    if "no_grad" in cut.how or "inference_mode" in cut.how or "set_grad_enabled" in cut.how:
        return f"compute the loss outside `{cut.how}`; gradients then flow through it"
    return f"leave out `{cut.how}` where the loss is computed; gradients then flow through it"
