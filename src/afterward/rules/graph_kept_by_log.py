"""AFT301: bookkeeping keeps the graphs of past steps alive."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Remedy, Severity
from afterward.model.figures import human
from afterward.model.history import History, Kept
from afterward.rules import rule
from afterward.rules._silent import warning


@rule("AFT301", Severity.WARNING)
def graph_kept_by_log(history: History) -> Iterator[Diagnosis]:
    """A log, a running sum or another record holds losses with their history, and so every past graph."""
    for kept in history.kept:
        if kept.site is None:
            continue
        size = f", {human(kept.bytes)} of saved values" if kept.bytes else ""
        growth = f"{max(kept.nodes // kept.steps, 1):,} nodes"
        growth += f", {human(kept.bytes // kept.steps)}" if kept.bytes >= kept.steps else ""
        yield warning(
            "a record keeps the graphs of past steps alive",
            kept.site,
            f"`{kept.name}` holds graphs of {kept.steps} steps ({kept.nodes:,} nodes{size})",
            f"`{kept.name}` takes tensors with their history, so the graph of every step stays reachable from it. "
            f"{_unused(kept)}; memory grows by about {growth} a step.",
            Remedy(
                "item_for_logging",
                Effect.SAME_GRADIENTS,
                "",
                kept.site,
                kept.name,
            ),
            bridge=Bridge(kept.name, "local"),
            nodes=kept.nodes,
            size=kept.bytes,
        )


def _unused(kept: Kept) -> str:
    if kept.swept:
        return "No pass walks them any more"
    return "No pass has ever walked them"
