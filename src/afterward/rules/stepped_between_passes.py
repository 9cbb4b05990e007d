"""AFT203: parameters change between a forward pass and a backward through it, and nothing notices."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model import facts
from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Label, Remedy, Severity
from afterward.model.history import History, LeafId, Pass, Step
from afterward.model.words import Words
from afterward.rules._often import AGAIN
from afterward.rules._registry import rule
from afterward.rules._silent import passes_by_site, site_of, warning


@rule("AFT203", Severity.WARNING, breaks=2)
def stepped_between_passes(history: History) -> Iterator[Diagnosis]:
    """An optimizer steps between a forward pass and its `backward()`; no saved value was overwritten: nothing fails."""
    for runs in passes_by_site(history):
        late = [(run, step) for run in runs if (step := _step_before(history, run)) is not None]
        wrong = [(run, step) for run, step in late if run.overwritten & step.leaves]
        if wrong:
            run, step = wrong[0]
            yield _diagnose(history, run, step, len(wrong), run.overwritten & step.leaves, "fused")
        elif len(late) >= AGAIN:
            run, step = late[0]
            yield _diagnose(history, run, step, len(late), run.stale & step.leaves)


def _step_before(history: History, run: Pass) -> Step | None:
    """The step, since the pass before this one, that changed a parameter which the forward had used by then."""
    if not (run.stale or run.overwritten) or run.error is not None or run.call != "backward":
        return None
    earlier = max((other.moment for other in history.passes if other.moment < run.moment), default=0)
    steps = history.steps_between(earlier, run.moment)
    return next((step for step in reversed(steps) if step.leaves & (run.stale | run.overwritten)), None)


def _diagnose(
    history: History, run: Pass, step: Step, times: int, leaves: frozenset[LeafId], form: str = ""
) -> Diagnosis:
    site = site_of(run)
    names = tuple(history.leaf(leaf).name for leaf in sorted(leaves))
    stepped = step.where.dated_site if step.where is not None else None
    return warning(
        site,
        facts.names("who", names),
        facts.count("parameters", len(leaves), "parameter", measured=False),
        facts.code("optimizer", step.optimizer),
        facts.code("step", f"{step.optimizer}.step()"),
        facts.count("times", times, "call"),
        remedy=Remedy(
            "move_step",
            Effect.CHANGES_GRADIENTS,
            "",
            step.where.site if step.where is not None else site,
            step.optimizer,
        ),
        form=form,
        secondary=(Label(stepped, "stepped"),) if stepped is not None else (),
        bridge=Bridge(names[0], "attribute") if names and names[0] else None,
        nodes=len(run.used or ()),
        freed=site,
        written=stepped,
    )


_WHO = "<{who}><!who:{parameters}>"

WORDS = {
    "": Words(
        fault="an optimizer steps between a forward pass and its `backward()`",
        headline="{optimizer} [stepped|steps] between the forward pass and this `backward()`",
        why=f"The forward pass [ran|runs], {{optimizer}} [modified|modifies] {_WHO}, and then this `backward()` "
        "[went|goes] through what [was|is] computed before< ({times} that were looked at)>. No saved value [was|is] "
        "overwritten, so nothing fails; but these gradients belong to the old parameters, and are added to those of "
        "the current ones.",
        labels={
            "fault": f"goes through a forward pass that used {_WHO} before the step",
            "stepped": f"modifies {_WHO} in between",
        },
    ),
    # A fused optimizer writes without raising the version counter: PyTorch would have refused another's write.
    "fused": Words(
        fault="a fused optimizer overwrites parameters that a later `backward()` needs: wrong gradients, and no error",
        headline=f"wrong gradients: {{step}} is fused and [overwrote|overwrites] {_WHO}, which this `backward()` needs",
        why=f"The forward pass [saved|saves] {_WHO} for its backward, and {{step}} [overwrote|overwrites] it in between"
        "< ({times} that were looked at)>. With any other optimizer PyTorch raises an in-place error here. A fused "
        "optimizer (`fused=True`) does not raise the version counter, so nothing fails and the gradients are wrong.",
        labels={
            "fault": f"needs the values that {_WHO} [had|has] in the forward pass",
            "stepped": f"overwrites {_WHO} in place",
        },
    ),
}
