"""AFT203: parameters change between a forward pass and a backward through it, and nothing notices."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Label, Remedy, Severity
from afterward.model.history import History, Pass, Step
from afterward.rules import rule
from afterward.rules._silent import passes_by_site, several, site_of, warning

PASSES = 2  # of one call: a single one may be meant


@rule("AFT203", Severity.WARNING)
def stepped_between_passes(history: History) -> Iterator[Diagnosis]:
    """An optimizer steps between a forward pass and a backward through it; no saved value was overwritten."""
    for runs in passes_by_site(history):
        late = [(run, step) for run in runs if (step := _step_before(history, run)) is not None]
        wrong = [(run, step) for run, step in late if run.overwritten & step.leaves]
        if wrong:
            yield _diagnose_overwritten(history, *wrong[0], len(wrong))
        elif len(late) >= PASSES:
            yield _diagnose(history, *late[0], len(late))


def _step_before(history: History, run: Pass) -> Step | None:
    """The step, since the pass before this one, that changed a parameter which the forward had used by then."""
    if not (run.stale or run.overwritten) or run.error is not None or run.call != "backward":
        return None
    earlier = max((other.moment for other in history.passes if other.moment < run.moment), default=0)
    steps = history.steps_between(earlier, run.moment)
    return next((step for step in reversed(steps) if step.leaves & (run.stale | run.overwritten)), None)


def _diagnose_overwritten(history: History, run: Pass, step: Step, times: int) -> Diagnosis:
    """A fused optimizer writes without raising the version counter: PyTorch would have refused another's write."""
    site = site_of(run)
    names = tuple(history.leaf(leaf).name for leaf in sorted(run.overwritten & step.leaves))
    who = several(names) or "a parameter"
    labels: tuple[Label, ...] = ()
    if step.where is not None:
        labels = (Label(step.where.site_at(step.where.innermost_turn), f"overwrites {who} in place"),)
    return warning(
        "wrong gradients: a fused optimizer overwrote parameters that this backward needs",
        site,
        f"needs the values that {who} had in the forward pass",
        f"The forward pass saved {who} for its backward, and `{step.optimizer}.step()` overwrote it in between "
        f"({times} of the passes that were looked at). With any other optimizer PyTorch raises an in-place error here. "
        "A fused optimizer (`fused=True`) does not raise the version counter, so nothing fails and the gradients are "
        "wrong.",
        Remedy(
            "move_step",
            Effect.CHANGES_GRADIENTS,
            "",
            step.where.site if step.where is not None else site,
            step.optimizer,
        ),
        secondary=labels,
        bridge=Bridge(names[0], "attribute") if names and names[0] else None,
        nodes=len(run.swept or ()),
        freed=site,
    )


def _diagnose(history: History, run: Pass, step: Step, times: int) -> Diagnosis:
    site = site_of(run)
    leaves = sorted(run.stale & step.leaves)
    names = tuple(history.leaf(leaf).name for leaf in leaves)
    who = several(names) or f"{len(leaves)} parameters"
    labels: tuple[Label, ...] = ()
    if step.where is not None:
        labels = (Label(step.where.site_at(step.where.innermost_turn), f"changes {who} in between"),)
    return warning(
        "an optimizer stepped between the forward pass and this backward",
        site,
        f"goes through a forward pass that used {who} before the step",
        f"The forward pass ran, `{step.optimizer}` changed {who}, and then this pass went backward through what was "
        f"computed before ({times} of the passes that were looked at). No saved value was overwritten, so nothing "
        "failed; the gradients are those of parameters that are gone, added to the ones that are there now.",
        Remedy(
            "move_step",
            Effect.CHANGES_GRADIENTS,
            "",
            step.where.site if step.where is not None else site,
            step.optimizer,
        ),
        secondary=labels,
        bridge=Bridge(names[0], "attribute") if names and names[0] else None,
        nodes=len(run.swept or ()),
        freed=site,
    )
