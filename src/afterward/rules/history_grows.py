"""AFT302: each backward goes further back than the previous one."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model import facts
from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Remedy, Severity
from afterward.model.facts import Fact, FactKind
from afterward.model.history import History, Pass, Value
from afterward.model.words import Words
from afterward.rules._registry import rule
from afterward.rules._silent import passes_by_site, site_of, warning

STEPS = 5  # each of which goes further back than the one before
FEW = 3  # where they were interpreted, and each iteration is like the last


@rule("AFT302", Severity.WARNING, breaks=3)
def history_grows(history: History) -> Iterator[Diagnosis]:
    """Every `backward()` goes through the graphs of all earlier steps again, further than the previous one."""
    for passes in passes_by_site(history):
        runs = [run for run in passes if not (run.call == "grad" and run.creates_graph)]  # those are within a step
        growing = growing_passes(runs, STEPS if history.observed else FEW)
        if growing:
            yield _diagnose(growing, _carried(history, growing))


def growing_passes(runs: list[Pass], iterations: int) -> list[Pass]:
    """Consecutive passes of one window, each longer than the one before, and with more of its nodes in common."""
    chain: list[Pass] = []
    shared = 0
    for run in runs:
        assert run.used is not None
        if chain:
            before = chain[-1].used or frozenset()
            again = len(run.used & before)
            if run.window == chain[-1].window and len(run.used) > len(before) and again > shared:
                chain.append(run)
                shared = again
                continue
            if len(chain) >= iterations:
                return chain
        chain, shared = [run], 0
    return chain if len(chain) >= iterations else []


def _carried(history: History, chain: list[Pass]) -> Value | None:
    """What held, when an earlier pass ran, a part that the last one goes through again: the simplest name of it."""
    last = chain[-1]
    earlier = {run.moment for run in chain[:-1]}
    held = [one for one in history.values if one.read_at in earlier and one.node in (last.used or ())]
    return min(held, key=lambda one: (one.name.count(".") + one.name.count("["), len(one.name), one.name), default=None)


def _diagnose(chain: list[Pass], carried: Value | None) -> Diagnosis:
    sizes = [len(run.used or ()) for run in chain]
    site, iterations = site_of(chain[-1]), len(chain) - 1
    return warning(
        site,
        facts.code("value", carried.name if carried is not None else ""),
        Fact("sizes", FactKind.VERBATIM, ", ".join(f"{size:,}" for size in sizes[:4]), measured=True),
        facts.count("growth", (sizes[-1] - sizes[0]) // iterations, "node"),
        facts.size("growth_bytes", max((chain[-1].bytes - chain[0].bytes) // iterations, 0)),
        remedy=Remedy("detach_state", Effect.CUTS_GRADIENTS, "growing", site),
        bridge=Bridge(carried.name, carried.kind) if carried is not None else None,
        nodes=sizes[-1],
        size=chain[-1].bytes,
    )


WORDS = Words(
    fault="each `backward()` goes further back than the previous one",
    headline="<{value} carries its graph from step to step: each `backward()` goes further back><!value:each "
    "`backward()` goes further back than the previous one>",
    why="<{value}><!value:A value> carries its graph from one step to the next, so each `backward()` goes through the "
    "graphs of all earlier steps again. Nothing fails, because what they saved is kept or not needed.< Each step adds "
    "about {growth}< and {growth_bytes} of saved values>.>",
    labels={
        "fault": "goes through <{sizes} nodes, one step after another><!sizes:the graphs of all earlier steps again>"
    },
)
