"""AFT302: each pass walks further back than the last."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Effect, Remedy, Severity
from afterward.model.figures import human
from afterward.model.history import History, Pass
from afterward.rules import rule
from afterward.rules._silent import duration, passes_by_site, site_of, warning

TURNS = 5
FEW = 3  # where they were interpreted, and each turn is like the last


@rule("AFT302", Severity.WARNING)
def history_grows(history: History) -> Iterator[Diagnosis]:
    """Every pass walks the graphs of all earlier steps again, and is longer than the last."""
    for runs in passes_by_site(history):
        growing = _growing(runs, TURNS if history.observed else FEW)
        if growing:
            yield _diagnose(growing)


def _growing(runs: list[Pass], turns: int) -> list[Pass]:
    """Consecutive passes of one window, each longer than the one before, and with more of its nodes in common."""
    chain: list[Pass] = []
    shared = 0
    for run in runs:
        assert run.swept is not None
        if chain:
            before = chain[-1].swept or frozenset()
            again = len(run.swept & before)
            if run.window == chain[-1].window and len(run.swept) > len(before) and again > shared:
                chain.append(run)
                shared = again
                continue
            if len(chain) >= turns:
                return chain
        chain, shared = [run], 0
    return chain if len(chain) >= turns else []


def _growth(chain: list[Pass]) -> str:
    """What each step adds, in nodes, bytes and time, as the passes at hand have shown it."""
    turns = len(chain) - 1
    text = f"Each step adds about {(len(chain[-1].swept or ()) - len(chain[0].swept or ())) // turns:,} nodes"
    size = (chain[-1].bytes - chain[0].bytes) // turns
    text += f" and {human(size)} of saved values" if size > 0 else ""
    first, second, last, end = chain[0].clock, chain[1].clock, chain[-2].clock, chain[-1].clock
    if first is None or second is None or last is None or end is None or end - last <= second - first:
        return f"{text}."
    return f"{text}; from pass to pass it took {duration(second - first)} at first and {duration(end - last)} at last."


def _diagnose(chain: list[Pass]) -> Diagnosis:
    sizes = [len(run.swept or ()) for run in chain]
    site = site_of(chain[-1])
    return warning(
        "each backward walks further back than the last",
        site,
        f"walks {', '.join(str(size) for size in sizes[-4:])} nodes, pass after pass",
        "A value goes from step to step with its history, so each pass walks the graphs of all earlier steps again. "
        f"Nothing fails, because what they saved is kept or was never needed. {_growth(chain)}",
        Remedy(
            "detach_state",
            Effect.CUTS_GRADIENTS,
            "growing",
            site,
        ),
        nodes=sizes[-1],
        size=chain[-1].bytes,
    )
