"""What a trial proves: judged against the run that failed, and told in one line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from afterward.model import facts
from afterward.model.diagnosis import Diagnosis, Effect, Proof, Remedy, Severity
from afterward.model.facts import Fact, FactKind, Note
from afterward.model.site import Site
from afterward.model.training import PassTaken, StepTaken
from afterward.tasks import law
from afterward.tasks.ledger import Ledger
from afterward.tasks.line_map import LineMap
from afterward.tasks.obligations import Comparison
from afterward.tasks.ranks_alike import missing_ranks, on_all, part_ways, same_rank
from afterward.tasks.same_gradients import first_difference
from afterward.tasks.trial import Trial

LAW_OF_GRADIENTS = (
    "AFT402",
    "AFT403",
    "AFT405",
    "AFT408",
    "AFT409",
    "AFT410",
)  # faults of when a gradient is produced, used and cleared
STEPS_WITHOUT = ("AFT404",)  # faults of steps that find no gradient
CUT_OFF = ("AFT401", "AFT404")  # faults of graphs that are cut: what is kept may be wanted where they are whole
LEFT_OUT = ("AFT304",)  # faults of losses that no pass uses: the others count as they did
MADE_ONCE = ("forward-outside-loop", "history-cached")
CREATES = "create_graph"  # what AFT303 names where the graph of the gradients is kept for nothing
CUTS = ("detach_state", "detach_input")
ABOUT_STEPS = ("reorder_step", "move_step", "zero_grad")
TOLD = 2  # changes that are named

_LOUD = (Severity.ERROR, Severity.WARNING)


OUTCOMES = ("failed", "moved", "changed", "not_proven", "proven")  # how good it may be: what was stopped may be right


@dataclass(frozen=True)
class Verdict:
    """`outcome` is "proven", "moved" (another fault shows now), "changed" (it runs, and trains otherwise), "failed" or
    "not_proven" (not enough was seen)."""

    outcome: str
    proof: Proof
    next: Diagnosis | None = None  # the fault to go on with


@dataclass(frozen=True)
class Bench:
    """What a trial is held against."""

    base: Trial  # the run that shows the fault to be cured, before any patch for it
    before: Trial  # the run before this patch: the base, or one with a patch that brought the present fault to light
    found: Diagnosis
    curing: frozenset[str]  # codes of the faults that the patch is meant to cure: none of them may come back
    reference: Trial | None = None  # a run whose first step after the fault is known to be right
    remedy: Remedy | None = None  # what the whole change is for, where this patch only goes with it

    def cures(self, codes: tuple[str, ...]) -> bool:
        """Is one of these faults among those that the whole change is for?"""
        return not {self.found.code, *self.curing}.isdisjoint(codes)


def on_rank(bench: Bench, one: Trial) -> Bench:
    """The bench for what one rank has shown in a trial."""
    reference = same_rank(bench.reference, one) if bench.reference is not None else None
    return replace(bench, base=same_rank(bench.base, one), before=same_rank(bench.before, one), reference=reference)


def loud(trial: Trial, code: str = "") -> list[Diagnosis]:
    """The findings that matter, the error that ended the program first; and those of a code that is looked for."""
    found = [f for f in trial.report.findings if (f.severity in _LOUD or f.code == code) and not f.caught]
    return sorted(found, key=lambda f: f.severity is not Severity.ERROR)


def to_cure(trial: Trial) -> list[Diagnosis]:
    """The findings that matter; where there are none, what costs memory and work for nothing."""
    return loud(trial) or [f for f in trial.report.findings if not f.caught]


def judge(bench: Bench, remedy: Remedy, trial: Trial) -> Verdict:
    """Has the patch cured this fault, and does the program train as it should: on each of its ranks?"""
    if not bench.base.ranks or trial.hindered is not None:
        return _judge_process(bench, remedy, trial)
    verdicts = [_judge_process(on_rank(bench, one), remedy, one) for one in trial.ranks]
    verdict = min(verdicts, key=lambda each: OUTCOMES.index(each.outcome), default=None)
    if verdict is not None and verdict.outcome != "proven":
        return verdict
    missing = missing_ranks(bench.base, trial)
    if verdict is None or missing:
        return Verdict("not_proven", Proof("not_proven", (Note("ranks_missing", (facts.verbatim("ranks", missing),)),)))
    apart = next(part_ways(bench.base, trial, bench.found.code), None)
    if apart is not None:
        return Verdict("changed", replace(verdict.proof, status="failed", notes=(apart,)))
    return replace(verdict, proof=replace(verdict.proof, notes=(*verdict.proof.notes, on_all(trial))))


def _judge_process(bench: Bench, remedy: Remedy, trial: Trial) -> Verdict:
    found = loud(trial, bench.found.code)
    errors = [f for f in found if f.severity is Severity.ERROR]
    old = fault(bench.found, bench.before)

    def proof(status: str, *notes: Note, same: bool | None = None) -> Proof:
        return Proof(status, notes, trial.passes, max(trial.sizes, default=0), same)

    if trial.hindered is not None:
        return Verdict("not_proven", proof("not_proven", trial.hindered))
    if trial.ending in ("raised", "died"):
        moved = errors[0] if errors and fault(errors[0], trial) != old else None
        return Verdict("moved" if moved is not None else "failed", proof("failed", _failure(errors)), moved)
    if any(fault(f, trial) == old or _same_record(f, bench.found) for f in found):
        return Verdict("failed", proof("failed", _finding("still", bench.found)))
    if _trains_nothing(bench.base, trial):
        return Verdict("proven", proof("proven", Note("ran_untrained")))
    if not trial.passes or (trial.ending == "time" and trial.passes <= (bench.base.broken_at or 0)):
        return Verdict("not_proven", proof("not_proven", Note("stopped_early", (_passes(trial),))))
    gap = trial.training.gap or bench.base.training.gap
    if gap:
        return Verdict("not_proven", proof("not_proven", Note("not_followed", (facts.verbatim("error", gap),))))
    new = list(_to_go_on_with(bench, found, trial))
    same = same_gradients(bench, trial)
    cut = next((f for f in found if f.code in CUT_OFF), None)
    if cut is not None and bench.found.bridge is not None and bench.found.bridge.name == CREATES:
        return Verdict("changed", proof("failed", _finding("may_need_graph", cut), same=same))
    changed = list(dict.fromkeys(changes(bench, remedy, trial)))
    if changed:
        return Verdict("changed", proof("failed", *changed[:TOLD], same=same))
    if new:
        return Verdict("moved", proof("failed", _finding("then", new[0]), same=same), new[0])
    return Verdict("proven", proof("proven", *_success(trial), same=same))


def _trains_nothing(base: Trial, trial: Trial) -> bool:
    """Does the program end well without any backward pass, and was the fault not in one: a script that evaluates?"""
    return not base.passes and base.broken_at is None and not trial.passes and trial.ending == "finished"


def _to_go_on_with(bench: Bench, found: list[Diagnosis], trial: Trial) -> Iterator[Diagnosis]:
    """Faults that the patch has brought to light; and where it is for the ledger of gradients, what is still wrong in
    that ledger: steps, clears and passes are right together or not at all."""
    of_ledger = LAW_OF_GRADIENTS if bench.cures(LAW_OF_GRADIENTS) else ()
    known = {f.code for f in (*bench.base.report.findings, *bench.before.report.findings)} - bench.curing
    # another one of the same kind is looked at by itself
    there = {fault(f, bench.before) for f in loud(bench.before, bench.found.code)}
    for each in found:
        if each.code in of_ledger or (each.code not in known and fault(each, trial) not in there):
            yield each


def changes(bench: Bench, remedy: Remedy, trial: Trial) -> Iterator[Note]:
    """Every obligation that the patch fails."""
    remedy = bench.remedy or remedy
    compared = Comparison(bench.base, trial, _cuts_first(bench, remedy))
    yield from law.statements(compared)
    yield from compared.counted_once()
    yield from compared.current()
    yield from compared.memory()
    if bench.cures(CUT_OFF):
        yield from law.all_zero(compared)
    if bench.base.broken_at is not None:
        yield from compared.updates()
        yield from compared.values()
        yield from compared.later_steps()
        yield from law.made_again(compared)
        yield from compared.reach()
        if remedy.kind in CUTS:
            yield from compared.terms()
            if bench.found.name in MADE_ONCE:
                yield from law.first_as_the_others(compared, bench.found)
        if remedy.kind == "remove_detach":
            yield from compared.thawed()
        yield from compared.scaled()
        yield from compared.strangers()
        if remedy.kind not in ABOUT_STEPS:  # a step that was missing may use what nothing used
            yield from compared.stays_cleared()
        if bench.reference is not None:
            yield from compared.against(bench.reference)
        if remedy.kind in ABOUT_STEPS:  # others leave the order of passes, clears and steps as the program has it
            yield from law.forbidden(compared, curing=False)
        return
    if bench.base.ending == trial.ending == "finished":
        yield from law.counts(compared)
    if remedy.effect is Effect.SAME_GRADIENTS:
        yield from compared.updates()
        return
    yield from law.forbidden(compared, curing=bench.cures(LAW_OF_GRADIENTS))
    if bench.cures(LAW_OF_GRADIENTS):
        yield from compared.strangers()
    if bench.cures(STEPS_WITHOUT):
        yield from law.without_gradient(compared)
        yield from law.kept_gradients(compared)
    if bench.found.code in LEFT_OUT:
        yield from law.same_factors(compared)
    yield from law.same_pairs(compared)


def _cuts_first(bench: Bench, remedy: Remedy) -> bool:
    """Does a cut take something out of the very first step: what was built before it, once and for all?"""
    found = bench.found
    outside = found.built is not None and found.built.step is None and found.reused is not None
    return remedy.kind in CUTS and outside and found.reused is not None and found.reused.step is not None


def in_one_step(base: Trial, found: Diagnosis) -> bool:
    """Was the graph freed and needed again within one step of training: in one iteration, or with no update between?"""
    if not found.code.startswith("AFT1") or found.freed is None or found.reused is None:
        return False
    return found.freed.step == found.reused.step or not _steps_before_the_fault(base)


def _steps_before_the_fault(base: Trial) -> bool:
    """Has an optimizer stepped between the failing pass and the one before it?"""
    since = False
    for happening in base.training.happenings:
        if isinstance(happening, PassTaken) and happening.failed:
            return since
        since = isinstance(happening, StepTaken) or (since and not isinstance(happening, PassTaken))
    return True


def is_repeated(base: Trial) -> bool:
    """Was `backward()` called on one loss by two statements?"""
    return bool(Ledger(base.training, LineMap(base.sources, base.sources)).repeated())


def may_do_with_less(base: Trial, proven: Remedy, remedy: Remedy, listed: set[str]) -> bool:
    """Something is computed again for a loss that leads to more than one optimizer's parameters, to some that none
    holds, say: a cut may be enough."""
    holders = {number: optimizer for optimizer, held in base.training.holds.items() for number in held}
    failed = (taken for taken in base.training.happenings if isinstance(taken, PassTaken) and taken.failed)
    several = any(len({holders.get(number) for number in taken.reached}) > 1 for taken in failed)
    return proven.kind == "recompute_forward" and remedy.kind in CUTS and remedy.kind in listed and several


def cuts_an_input(base: Trial, trial: Trial) -> bool:
    return Comparison(base, trial).cuts_an_input()


def is_reference(base: Trial, retained: Trial) -> bool:
    """Does a run that kept every graph show what the steps after the fault are to use?

    It does if what it does is lawful: no loss is counted twice, and none comes into another network's step.
    """
    if retained.training.gap or missing_ranks(base, retained) or any(part_ways(base, retained, "")):
        return False
    ledger = Ledger(retained.training, LineMap(base.sources, retained.sources))
    ledger.shared = ledger.makers_of_several()
    compared = Comparison(base, retained)
    strangers = any(compared.strangers()) or any(compared.current())
    return not strangers and not ledger.counted_twice() and not ledger.used_twice() and not ledger.foreign()


def fault(found: Diagnosis, trial: Trial) -> tuple[object, ...]:
    """What makes two findings one fault: its code, its bridge, its step, and the statements that struck and built."""
    place = found.reused or found.primary.site
    return found.code, _bridge(found), place.step or 0, *(_line(trial, site) for site in (place, *found.ways.built))


def _bridge(found: Diagnosis) -> str:
    return found.bridge.name if found.bridge is not None else ""


def is_there(found: Diagnosis, trial: Trial) -> bool:
    """Does a trial still show a fault of the first run? Faults of the gradient ledger go together."""
    alike = (f for f in loud(trial) if (f.code, _bridge(f)) == (found.code, _bridge(found)))
    return found.code not in LAW_OF_GRADIENTS or next(alike, None) is not None


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


def same_gradients(bench: Bench, trial: Trial) -> bool | None:
    """Are the gradients those of the run before, as far as it came, or of the one that is known to be right?"""
    for one in (bench.base, bench.reference):
        differs = first_difference(one.training, trial.training) if one is not None else None
        if differs is not None:
            return differs == 0
    return None


def _passes(trial: Trial) -> Fact:
    return facts.count("passes", trial.passes, "pass")


def _success(trial: Trial) -> tuple[Note, ...]:
    end = {"finished": "ran_to_end", "time": "ran_to_limit"}.get(trial.ending, "ran")
    return (Note(end, (_passes(trial),)), *_memory(trial))


def _memory(trial: Trial) -> tuple[Note, ...]:
    sizes = [size for size in trial.sizes if size]
    if not sizes:
        return ()
    kind = "memory_flat" if max(sizes) <= 1.02 * min(sizes) else "memory_at_most"
    return (Note(kind, (facts.size("size", max(sizes)),)),)


def _finding(kind: str, found: Diagnosis) -> Note:
    """A finding of a trial, by its code: its headline is made where the report is."""
    return Note(kind, (Fact("finding", FactKind.CODE, found.code),))


def _failure(errors: list[Diagnosis]) -> Note:
    """What stopped a trial. An exception of an attempt that was written wrongly is nothing to a reader."""
    if not errors:
        return Note("cannot_run")
    found = errors[0]
    site = found.reused or found.primary.site
    when = facts.step("step", site) if site.step is not None else facts.lines("line", site)
    written = facts.lines("written", found.written)
    return Note("fails", (Fact("finding", FactKind.CODE, found.code), when, written))
