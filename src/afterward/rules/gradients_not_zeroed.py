"""AFT402: gradients pile up over steps."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Remedy, Severity
from afterward.model.history import History, Pass
from afterward.rules import rule
from afterward.rules._silent import passes_by_site, site_of, warning


@rule("AFT402", Severity.WARNING)
def gradients_not_zeroed(history: History) -> Iterator[Diagnosis]:
    """Parameters are changed by gradients that still hold those of earlier steps."""
    told: set[int] = set()
    for runs in passes_by_site(history):
        piling = [run for run in runs if run.piled]
        leaves = frozenset().union(*(run.piled for run in piling)) if piling else frozenset()
        if len(piling) >= 2 and not leaves <= told:
            told |= leaves
            yield _diagnose(history, piling, leaves)


def _diagnose(history: History, piling: list[Pass], leaves: frozenset[int]) -> Diagnosis:
    site = site_of(piling[0])
    names = [history.leaf(leaf).name for leaf in sorted(leaves) if history.leaf(leaf).name]
    shown = f"`{names[0]}.grad`" if names else "a gradient"
    others = f" and {len(leaves) - 1} more" if len(leaves) > 1 else ""
    used = "were used to change their parameters" if others else "was used to change its parameter"
    return warning(
        "gradients of earlier steps are added to those of this step",
        site,
        f"adds to {shown}{others}, which an earlier update has already used",
        f"`backward()` adds to `.grad`. {shown}{others} {used} and not zeroed since, "
        "so an update follows the gradients of several steps together.",
        Remedy(
            "zero_grad",
            Effect.CHANGES_GRADIENTS,
            "",
            site,
            names[0] if names else "",
        ),
        bridge=Bridge(f"{names[0]}.grad" if names else "grad", "attribute"),
        freed=site,
    )
