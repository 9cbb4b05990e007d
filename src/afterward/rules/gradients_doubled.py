"""AFT403: the same loss is counted twice in one gradient."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Label, Remedy, Severity
from afterward.model.history import History, Pass
from afterward.rules import rule
from afterward.rules._silent import passes_by_site, site_of, warning


@rule("AFT403", Severity.WARNING)
def gradients_doubled(history: History) -> Iterator[Diagnosis]:
    """A pass sweeps a loss whose gradients an earlier pass has already added, and nothing was zeroed between."""
    for runs in passes_by_site(history):
        pairs = [(earlier, run) for run in runs if (earlier := _already_added(history, run)) is not None]
        if len(pairs) >= 2:
            yield _diagnose(*pairs[0])


def _already_added(history: History, run: Pass) -> Pass | None:
    """An earlier pass of the same step, from a loss that lies within the graph of this one."""
    if run.call != "backward" or not run.filled:
        return None
    for earlier in reversed(history.passes):
        if earlier.moment >= run.moment or earlier.window != run.window or earlier.call != "backward":
            continue
        if not earlier.reached & run.filled:
            return None  # zeroed or used in between
        if any(edge.node in (run.swept or ()) for edge in earlier.roots):
            return earlier
    return None


def _diagnose(earlier: Pass, run: Pass) -> Diagnosis:
    first, site = site_of(earlier), site_of(run)
    return warning(
        "gradients that were already added are added again",
        site,
        f"sweeps the loss of line {first.line} again",
        f"Line {first.line} has added the gradients of its loss, and this pass sweeps a sum that holds the same loss. "
        "Nothing was zeroed in between, so that part of the gradient counts twice.",
        Remedy(
            "remove_duplicate",
            Effect.CHANGES_GRADIENTS,
            "drop one of the two passes, or call `zero_grad()` between them; each loss then counts once",
            site,
        ),
        secondary=(Label(first, "added these gradients first"),),
        bridge=Bridge("grad", "attribute"),
        nodes=len(run.swept or ()),
        freed=site,
    )
