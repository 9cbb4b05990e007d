"""AFT303: `retain_graph=True` that no later pass uses."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Remedy, Severity
from afterward.model.history import History, Pass
from afterward.rules import rule
from afterward.rules._silent import passes_by_site, site_of, warning
from afterward.rules._speech import human


@rule("AFT303", Severity.WARNING)
def needless_retain(history: History) -> Iterator[Diagnosis]:
    """A graph is kept with `retain_graph=True`, and no later pass walks it."""
    looked = [run for run in history.passes if run.swept is not None]
    for runs in passes_by_site(history):
        retained = [run for run in runs if run.retains_graph and not run.creates_graph]
        if len(retained) != len(runs) or not retained:
            continue
        judged = [used for run in retained if (used := _used(run, runs, looked)) is not None]
        if len(judged) >= 2 and not any(judged):
            yield _diagnose(retained)


def _used(run: Pass, runs: list[Pass], looked: list[Pass]) -> bool | None:
    """Did a pass after this one, up to the next from the same site, walk the kept graph? None: nobody knows."""
    after = [other for other in runs if other.moment > run.moment]
    if not after or after[0].window != run.window:
        return None
    later = [other for other in looked if run.moment < other.moment <= after[0].moment]
    return any((run.swept or frozenset()) & (other.swept or frozenset()) for other in later)


def _diagnose(retained: list[Pass]) -> Diagnosis:
    site = site_of(retained[0])
    size = max(run.bytes for run in retained)
    nodes = max(len(run.swept or ()) for run in retained)
    cost = f", {human(size)}" if size else ""
    return warning(
        "`retain_graph=True` that no later pass uses",
        site,
        f"keeps {nodes:,} nodes{cost} that no pass walked again",
        f"In the {len(retained)} passes that were looked at, nothing went backward through the kept graph again. "
        "Keeping it holds the saved values until the loss is overwritten, which a plain backward would have freed.",
        Remedy(
            "remove_retain",
            Effect.SAME_GRADIENTS,
            "drop `retain_graph=True`; the gradients are the same, and the saved values are freed at once",
            site,
            "retain_graph",
        ),
        bridge=Bridge("retain_graph", "expression"),
        nodes=nodes,
        size=size,
        freed=site,
    )
