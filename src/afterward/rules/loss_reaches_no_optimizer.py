"""AFT406: a loss whose parameters no optimizer holds."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model import facts
from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Remedy, Severity
from afterward.model.history import History, Leaf, Pass
from afterward.model.words import Words
from afterward.rules._idle import idle_optimizers
from afterward.rules._often import AGAIN, SEVERAL
from afterward.rules._registry import rule
from afterward.rules._silent import passes_by_site, site_of, warning


@rule("AFT406", Severity.WARNING, breaks=7)
def loss_reaches_no_optimizer(history: History) -> Iterator[Diagnosis]:
    """`backward()` is called on a loss again and again, and nothing that its gradients reach is ever updated."""
    if idle_optimizers(history):
        return  # one cause, reported once: a cut or a copy lies between this loss and its optimizer
    for runs in passes_by_site(history):
        reached = {leaf for run in runs for leaf in run.reached if run.call == "backward"}
        leaves = [leaf for leaf in history.leaves if leaf.id in reached]
        steps = history.steps_between(runs[0].moment, runs[-1].moment)
        if len(runs) >= SEVERAL and len(steps) >= AGAIN and leaves and all(map(_is_untrained, leaves)):
            yield _diagnose(runs, leaves)


def _is_untrained(leaf: Leaf) -> bool:
    return leaf.unchanged and not leaf.optimizers


def _diagnose(runs: list[Pass], leaves: list[Leaf]) -> Diagnosis:
    site, names = site_of(runs[-1]), tuple(sorted(leaf.name for leaf in leaves if leaf.name))
    who = facts.names("who", names)
    return warning(
        site,
        who,
        facts.count("parameters", len(leaves), "parameter", measured=False),
        facts.count("times", len(runs), "call"),
        remedy=Remedy(
            "rebuild_optimizer", Effect.CHANGES_GRADIENTS, "not_held", site, names[0] if names else "", facts=(who,)
        ),
        bridge=Bridge(names[0], "attribute") if names else None,
        freed=site,
    )


_WHO = "<{who}><!who:{parameters}>"

WORDS = Words(
    fault="a loss gives gradients only to parameters that no optimizer holds",
    headline=f"this loss gives gradients only to {_WHO}, which no optimizer holds",
    why="<In the {times} that were looked at, every><!times:Every> parameter that [got|gets] a gradient is held by no "
    "optimizer and [kept|keeps] its value, while optimizers [stepped|step]. This loss has no effect on training.",
    labels={"fault": f"gives gradients to {_WHO}, which nothing updates"},
)
