"""AFT301: a log keeps the graphs of past steps in memory."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model import facts
from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Remedy, Severity
from afterward.model.history import History, Kept
from afterward.model.words import Words
from afterward.rules._kept import records
from afterward.rules._registry import rule
from afterward.rules._silent import warning


@rule("AFT301", Severity.WARNING, breaks=3)
def graph_kept_by_log(history: History) -> Iterator[Diagnosis]:
    """A log, a running sum or another record stores losses with their graphs, and so keeps every past graph."""
    for kept in records(history):
        if kept.site is None:
            continue
        yield warning(
            kept.site,
            facts.code("name", kept.name),
            facts.count("steps", kept.steps, "step"),
            facts.count("nodes", kept.nodes, "node"),
            facts.size("bytes", kept.bytes),
            facts.count("growth", max(kept.nodes // kept.steps, 1), "node"),
            facts.size("growth_bytes", kept.bytes // kept.steps),
            remedy=Remedy("item_for_logging", Effect.SAME_GRADIENTS, _form(kept), kept.site, kept.name),
            form="" if kept.times else "unused",
            bridge=Bridge(kept.name, "local"),
            nodes=kept.nodes,
            size=kept.bytes,
        )


def _form(kept: Kept) -> str:
    return "row" if kept.in_rows else "tensor" if kept.of_several else ""


def _words(unused: str) -> Words:
    return Words(
        fault="a log keeps the graph of every past step in memory",
        headline="{name} keeps the graph of every past step in memory",
        why=f"{{name}} stores tensors together with their graphs. {unused}<; each step adds {{growth}}< "
        f"({{growth_bytes}})>>.",
        labels={
            "fault": "<holds the graphs of {steps} ({nodes}<, {bytes} of saved values>)><!steps:stores a value "
            "together with its graph in every step>",
        },
    )


WORDS = {"": _words("Nothing uses these graphs again"), "unused": _words("Nothing has ever used these graphs")}
