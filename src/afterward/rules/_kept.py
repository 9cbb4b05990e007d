"""Decides which of the names that hold graphs of several steps are records of past steps: a log, a running sum."""

from __future__ import annotations

from afterward.model.history import History, Kept
from afterward.model.records import FEW, STEPS, WINDOW

STATE = 2  # passes that used the same part: a state that goes from step to step, no record of them
UNUSED = 8  # graphs that no pass has used, and what is taken out again is none of them


def records(history: History) -> list[Kept]:
    """The records, one for each statement that fills one: what it puts there may go by several names."""
    least = STEPS if history.observed else FEW
    found = [one for one in history.kept if one.steps >= least and one.times < STATE and not _is_window(one)]
    best: dict[object, Kept] = {}
    for one in sorted(found, key=lambda one: ("." not in one.name, -one.steps)):
        best.setdefault(one.site or one.name, one)
    chosen = {id(one) for one in best.values()}
    return [one for one in found if id(one) in chosen]


def _is_window(kept: Kept) -> bool:
    """Does it hold only the last few, or the newest of each kind?"""
    if not kept.times:
        return kept.forgets and kept.steps < UNUSED
    return kept.steps <= WINDOW and (kept.forgets or (kept.by_count and kept.replaces))
