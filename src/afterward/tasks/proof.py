"""What a trial proves: judged against the run that failed, and told in one line."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import pairwise

from afterward.model import facts
from afterward.model.diagnosis import Diagnosis, Proof, Severity
from afterward.model.facts import Fact, FactKind, Note
from afterward.model.site import Site
from afterward.tasks.trial import Trial

TOLERANCE = 1e-4  # of a gradient's largest entry: the order of additions may differ

CUT = "history-cut"
STARVED = "parameters-never-reached"  # a cut may have to leave something untrained; it is the last choice

_REFUSED = "WriteRefused: "  # the exception by which a trial keeps a program from writing
_LOUD = (Severity.ERROR, Severity.WARNING)


@dataclass(frozen=True)
class Verdict:
    """`outcome` is "proven", "moved" (another fault shows now), "failed" or "not_proven" (not enough was seen)."""

    outcome: str
    proof: Proof
    next: Diagnosis | None = None  # the fault to go on with
    same_start: bool | None = None  # are the gradients of the first step those of the run that failed?
    starved: bool = False  # has a parameter lost its gradient for good?

    def as_good_as(self, other: Verdict) -> bool:
        """Is as much proven, at no greater cost?"""
        same = (self.outcome, self.same_start) == (other.outcome, other.same_start)
        return same and self.starved <= other.starved and self.proof.passes >= other.proof.passes


def loud(trial: Trial) -> list[Diagnosis]:
    """The findings that matter, the error that ended the program first."""
    found = [f for f in trial.report.findings if f.severity in _LOUD and not f.caught]
    return sorted(found, key=lambda f: f.severity is not Severity.ERROR)


def obstacle(trial: Trial) -> Note | None:
    """What kept a trial from being one, whatever the patch: more trials would meet it too."""
    if trial.ending == "raised" and trial.error.startswith(_REFUSED):
        return Note("refused", (facts.verbatim("error", trial.error.removeprefix(_REFUSED)),))
    if trial.ending == "raised" and trial.error.startswith("EOFError"):
        return Note("reads_terminal")
    return None


def judge(first: Trial, before: Trial, cured: Diagnosis, trial: Trial, curing: frozenset[str]) -> Verdict:
    """Has the patch cured this fault? `before` is the run that shows it, `first` the program as it was.

    `curing` holds the codes of faults that the patch is meant to cure: none of them may come back.
    """
    found = loud(trial)
    errors = [f for f in found if f.severity is Severity.ERROR]
    old = fault(cured, before)
    hindered = obstacle(trial)
    if hindered is not None:
        return Verdict("not_proven", Proof("not_proven", (hindered,), trial.passes, _peak(trial)))
    if trial.ending in ("raised", "died"):
        proof = Proof("failed", (_failure(trial, errors),), trial.passes, _peak(trial))
        moved = errors[0] if errors and fault(errors[0], trial) != old else None
        return Verdict("moved" if moved is not None else "failed", proof, moved)
    if any(fault(f, trial) == old or _same_record(f, cured) for f in found):
        return Verdict("failed", Proof("failed", (_finding("still", cured),), trial.passes, _peak(trial)))
    if not trial.passes or (trial.ending == "time" and trial.passes <= (first.broken_at or 0)):
        early = Note("stopped_early", (_passes(trial),))
        return Verdict("not_proven", Proof("not_proven", (early,), trial.passes, _peak(trial)))
    known = {f.code for f in (*first.report.findings, *before.report.findings)} - curing
    there = {fault(f, before) for f in loud(before)}  # another one of the same kind has its own turn
    new = [f for f in found if f.code not in known and fault(f, trial) not in there]
    starving = [f for f in new if f.name == STARVED and f.code not in curing]
    same, starved = same_gradients(first, trial), bool(starving) or bool(first.reached - trial.reached)
    if cured.name == CUT and trial.idle > first.idle:  # something flows again, but not to what this loss is to train
        return Verdict("failed", Proof("failed", (Note("loss_trains_nothing"),), trial.passes, _peak(trial), same))
    if trial.hungry and not first.hungry:  # a cut in the wrong place: the step that follows the pass has nothing to do
        return Verdict("failed", Proof("failed", (Note("step_without_gradient"),), trial.passes, _peak(trial), same))
    if len(new) > len(starving):
        proof = Proof("failed", (_finding("then", new[0]),), trial.passes, _peak(trial), same)
        return Verdict("moved", proof, next(f for f in new if f not in starving), same, starved)
    notes = (*_success(trial), Note("starved")) if starved else _success(trial)
    return Verdict("proven", Proof("proven", notes, trial.passes, _peak(trial), same), None, same, starved)


def fault(found: Diagnosis, trial: Trial) -> tuple[object, ...]:
    """What makes two findings one fault: its code, its bridge, its step, and the statements that struck and built."""
    name = found.bridge.name if found.bridge is not None else ""
    place = found.reused or found.primary.site
    return found.code, name, place.step or 0, *(_line(trial, site) for site in (place, *found.ways.built))


def _same_record(one: Diagnosis, other: Diagnosis) -> bool:
    """Is it one fault that raises nothing, on one line: also where the patch has changed that very line?"""
    if one.severity is Severity.ERROR or one.code != other.code or one.bridge is None or other.bridge is None:
        return False
    places = [(f.primary.site.file, f.primary.site.line) for f in (one, other)]
    return one.bridge.name == other.bridge.name and places[0] == places[1]


def kin(found: Diagnosis, trial: Trial) -> tuple[object, ...]:
    """What a fault has in common with the next one of its kind: the second state of a tuple, the step after."""
    code, name, _, struck, *_ = fault(found, trial)
    return code, re.sub(r"\d+", "N", str(name)), struck


def _line(trial: Trial, site: Site) -> str:
    """The text of a line, which stays when a patch moves it."""
    lines = trial.sources.get(site.file, "").splitlines()
    return lines[site.line - 1].strip() if site.line <= len(lines) else ""


def same_gradients(one: Trial, other: Trial) -> bool | None:
    """Are the gradients of the first step the same? None where one of them made no step."""
    first = first_difference(one, other, steps=1)
    return None if first is None else first == 0


def first_difference(one: Trial, other: Trial, steps: int | None = None) -> int | None:
    """The first optimizer step that gets other gradients; 0 where all compared are the same, None where none was."""
    pairs = list(zip(one.steps, other.steps, strict=False))[:steps]
    for number, (ours, theirs) in enumerate(pairs, 1):
        if ours.keys() != theirs.keys() or not all(_close(ours[place], theirs[place]) for place in ours):
            return number
    return 0 if pairs else None


def _close(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    if len(one) != len(other):
        return False
    scale = max((abs(x) for x in (*one, *other) if math.isfinite(x)), default=0.0)
    return all(
        abs(a - b) <= TOLERANCE * scale if math.isfinite(a) and math.isfinite(b) else str(a) == str(b)
        for a, b in zip(one, other, strict=True)
    )


def _peak(trial: Trial) -> int:
    return max(trial.sizes, default=0)


def _passes(trial: Trial) -> Fact:
    return facts.count("passes", trial.passes, "pass")


def _success(trial: Trial) -> tuple[Note, ...]:
    end = {"finished": "ran_to_end", "time": "ran_to_limit"}.get(trial.ending, "ran")
    return (Note(end, (_passes(trial),)), *_memory(trial))


def _memory(trial: Trial) -> tuple[Note, ...]:
    sizes = [size for size in trial.sizes if size]
    if not sizes:
        return ()
    growing = len(sizes) >= 4 and all(b > a for a, b in pairwise(sizes))
    kind = "memory_flat" if max(sizes) <= 1.02 * min(sizes) else "memory_grows" if growing else "memory_at_most"
    return (Note(kind, (facts.size("size", max(sizes)),)),)


def _finding(kind: str, found: Diagnosis) -> Note:
    """A finding of a trial, by its code: its headline is made where the report is."""
    return Note(kind, (Fact("finding", FactKind.CODE, found.code),))


def _failure(trial: Trial, errors: list[Diagnosis]) -> Note:
    if not errors:
        return Note("raised", (facts.verbatim("error", trial.error),))
    found = errors[0]
    site = found.reused or found.primary.site
    when = facts.step("step", site) if site.step is not None else facts.lines("line", site)
    written = facts.lines("written", found.written)
    return Note("fails", (Fact("finding", FactKind.CODE, found.code), when, written))
