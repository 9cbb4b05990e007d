"""AFT201: parameters were changed between the forward pass and the pass that needs them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from afterward.model import facts
from afterward.model.diagnosis import Bridge, Diagnosis, Label, Remedy, Severity
from afterward.model.history import History, Step, Write
from afterward.model.site import Site
from afterward.rules import _remedies as remedy
from afterward.rules import _speech as say
from afterward.rules import rule
from afterward.rules._cause import Case, Cause, case_of
from afterward.rules._report import diagnosis
from afterward.rules.history_cached import remedies as cached_remedies


@rule("AFT201", Severity.ERROR)
def stepped_before_backward(history: History) -> Iterator[Diagnosis]:
    """An optimizer step lies between the forward pass and the backward that needs the old parameters."""
    for late in history.broken_passes():
        case = case_of(history, late) if late.error == "inplace" else None
        if case is not None and writes_parameters(case):
            yield _diagnose(case)


def writes_parameters(case: Case) -> bool:
    """Was what the graph needs a parameter, changed by an optimizer or by hand?"""
    return isinstance(case.reuse.write, Step) or case.reuse.written is not None


def _diagnose(case: Case) -> Diagnosis:
    reuse = case.reuse
    name = f"`{reuse.written.name}`" if reuse.written is not None and reuse.written.name else "a parameter"
    reused = say.reused_site(case)
    where = reuse.write.where if reuse.write is not None else None
    written = where.site_at(case.loop) if where is not None else None
    who = say.step_words(reuse.write, reuse.late) if isinstance(reuse.write, Step) else _write_words(written, reused)
    built = reuse.culprit.where.site_at(case.loop) if reuse.culprit.where is not None else None
    labels = []
    if built is not None:
        labels.append(Label(built, f"computed with {name} as it was then" + say.in_step(built)))
    if written is not None:
        labels.append(Label(written, f"changed {name} in place" + say.in_step(written)))
    general = diagnosis(case, why="", built_text="", remedies=_remedies(case, written))
    if isinstance(reuse.write, Write) and reuse.write.how:  # it belongs to the forward pass: it can not be put off
        general = replace(general, remedies=(remedy.out_of_place(case),))
    return replace(
        general,
        message="backward through a graph whose parameters have changed since",
        primary=Label(reused, f"needs {name} as it was in the forward pass"),
        secondary=tuple(labels),
        why=f"The forward pass saved {name} for its backward. {who[0].upper() + who[1:]} "
        "has changed it in place since, so this pass would compute a wrong gradient, and PyTorch refuses.",
        notes=_notes(case),
        built=built,
        written=written,
        bridge=Bridge(reuse.write.target, "local") if isinstance(reuse.write, Write) else general.bridge,
    )


def _write_words(written: Site | None, reused: Site) -> str:
    if written is None:
        return "an in-place write"
    elsewhere = f" of {say.short(written.file)}" if written.file != reused.file else ""
    return f"the in-place write on line {written.line}{elsewhere}"


def _remedies(case: Case, written: Site | None) -> tuple[Remedy, ...]:
    if case.cause is Cause.STATE_CARRIED_OVER:
        return (remedy.detach_state(case),)
    if case.cause is Cause.HISTORY_CACHED:
        return cached_remedies(case)
    if case.cause is Cause.FORWARD_OUTSIDE_LOOP:
        if case.foreign:
            return remedy.detach_input(case), remedy.recompute_forward(case)
        return (remedy.recompute_forward(case),)
    if case.cause is Cause.LOSS_ACCUMULATED:
        return (remedy.remove_duplicate(case, "old_terms"),)
    step = case.reuse.write
    moved = f"{step.optimizer}.step()" if isinstance(step, Step) else ""
    what = facts.update("update", moved, written) if moved else facts.lines("write", written)
    return remedy.reorder_step(what), remedy.recompute_forward(case)


def _notes(case: Case) -> tuple[str, ...]:
    early = case.reuse.early
    if early is not None and early.retains_graph and early.where is not None:
        line = early.where.site.line
        flag = "create_graph" if early.creates_graph else "retain_graph"
        return (f"`{flag}=True` on line {line} kept the graph, but not the parameters it was computed with",)
    return ()
