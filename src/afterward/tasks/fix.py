"""Find the change that cures a program: write each remedy as a patch, run it, keep the first that is proven.

The user's files are only read here. A patch lives in memory; the import hook that places the marks serves it.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from afterward.errors import AfterwardError, ProgramNotFound, SourceUnreadable
from afterward.model import facts
from afterward.model.diagnosis import Diagnosis, Effect, Remedy, Report, Severity
from afterward.model.facts import Note
from afterward.model.names import container_of
from afterward.model.saved import SavedRun
from afterward.model.training import Carried
from afterward.tasks import proof as judging
from afterward.tasks.book import read_any, read_book
from afterward.tasks.choices import remedies_for
from afterward.tasks.cure import Cure, told_of
from afterward.tasks.files import Original, compiles
from afterward.tasks.foreseen import without_flat_derivatives
from afterward.tasks.minimal import smaller
from afterward.tasks.proof import Bench
from afterward.tasks.rank_trial import LAUNCH, OVER
from afterward.tasks.same_gradients import first_difference
from afterward.tasks.trial import Request, Trial
from afterward.tasks.trial_runner import TrialRunner

if TYPE_CHECKING:
    from afterward.repair import Patch

MARGIN = 40  # passes beyond the one that failed
DEPTH = 4  # patches that build on each other: the second state of a tuple, a flag that became needless
TRIALS = 40  # in all
PER_REMEDY = 8
SHARE = 12  # trials of one remedy and what it brings to light: the next one is to have its chance
PER_CHAIN = 6  # of those, for what one patch brings to light
GRACE = 15.0  # seconds that a trial may take to begin and to end, beside those that it trains
HANGS = 2  # trials whose ranks hang: a change may be the reason of one
PATIENCE = 100.0  # seconds for all trials together, or as many as ten runs of the program take

# What may go with a patch that has brought a fault to light which raises nothing.
_FOLLOW_UPS = ("remove_retain", "item_for_logging", "detach_state", "detach_input", "recompute_forward",
               "remove_duplicate", "zero_grad", "no_grad")  # fmt: skip

RETAIN = "retain_graph"
NOT_FINITE = "AFT510"  # what a second run can tell more of

Progress = Callable[[Remedy, float], None]


class FailsForAnotherReason(AfterwardError):
    """The program fails, and not over its graph."""


@dataclass
class Fixed:
    """What came of it: the report with patches and proofs, and the new text of each file of the chosen patch."""

    report: Report
    originals: dict[str, Original] = field(default_factory=dict)
    options: list[dict[str, str]] = field(default_factory=list)  # the proven patches, best first
    first: Trial | None = None  # the run of the program as it is
    hindered: Note | None = None  # why no more was tried

    @property
    def proven(self) -> bool:
        return bool(self.options)

    def saved(self) -> SavedRun:
        """The report with the histories of the first run, which a page is made of."""
        if self.first is None:
            return SavedRun(self.report)
        return SavedRun(self.report, tuple(self.first.chapters), self.first.sources)


@dataclass
class Fixer:
    """Runs one program until its fault is cured, or nothing is left to try."""

    runner: TrialRunner
    request: Request
    limit: float = 60.0
    progress: Progress | None = None
    proof_arguments: tuple[str, ...] | None = None
    shown: bool = True  # does the first run's own output go to the terminal?
    diagnosed: Callable[[Report], None] | None = None  # is told what was found, before anything is tried
    originals: dict[str, Original] = field(default_factory=dict)
    _books: dict[str, str] = field(default_factory=dict)  # a notebook's program, as it is
    _passed_over: set[str] = field(default_factory=set)  # kinds that need not be tried for the present fault
    _trials: int = 0
    _broken_at: int | None = None
    _allowed: int = TRIALS
    _until: float = math.inf
    _hindered: Note | None = None
    _hung: int = 0

    def fix(self) -> Fixed:
        self._open_book()
        began = time.monotonic()
        books = {file: self.originals[file].program(text) for file, text in self._books.items()}
        first = self.runner.run(replace(self.request, shown=self.shown, patched=books))
        ended = time.monotonic()
        self._until = ended + max(PATIENCE, 10 * (ended - began))
        if first.ending == "refused":
            raise ProgramNotFound(first.error)
        found = judging.to_cure(first)
        if not found:
            if first.ending == "raised" and not first.report.findings:
                raise FailsForAnotherReason(f"the program fails for another reason: {first.error}")
            if first.ending in ("died", "time"):
                raise FailsForAnotherReason("the program was killed before it could be diagnosed")
            return Fixed(first.report, first=first)
        if any(one.code == NOT_FINITE for one in found):
            first, found = self._looked_closer(first, found, books)
        self._launch_as(first)
        self._read_sources(first)
        self._broken_at = first.broken_at
        if self.diagnosed is not None:
            self.diagnosed(first.report)
        return self._cure_all(first, found)

    def _looked_closer(
        self, first: Trial, found: list[Diagnosis], books: Mapping[str, bytes]
    ) -> tuple[Trial, list[Diagnosis]]:
        """Run the program once more, with every gradient looked at, and tell what that run has shown."""
        closer = self.runner.run(replace(self.request, patched=books, finite=True))
        again = judging.to_cure(closer)
        if [one.code for one in again] != [one.code for one in found]:
            return first, found
        return replace(first, report=closer.report, chapters=first.chapters), again

    def _open_book(self) -> None:
        """A notebook runs as the program that its cells make."""
        if self.request.target.endswith(".ipynb"):
            path = os.path.abspath(os.path.join(self.request.folder, self.request.target))
            self.originals[path] = read_book(path)
            self._books[path] = self.originals[path].text

    def _launch_as(self, first: Trial) -> None:
        """A program that starts its ranks itself is tried by a command, too: one that hangs can be ended."""
        if first.ranks and not self.request.command:
            started = (sys.executable, *(["-m"] if self.request.as_module else []), self.request.target)
            self.request = replace(self.request, command=started)

    def _read_sources(self, first: Trial) -> None:
        for file in first.sources:
            try:
                self.originals[file] = read_any(file)
            except SourceUnreadable:
                continue

    def _cure_all(self, first: Trial, found: list[Diagnosis]) -> Fixed:
        """One fault after the other, each on top of the cures before it."""
        texts = {file: original.text for file, original in self.originals.items()}
        before = first
        options: list[dict[str, str]] = []
        told: dict[int, tuple[Remedy, ...]] = {}
        for fault in found:
            if options and not judging.is_there(fault, before):
                self._passed_over.update(remedy.kind for remedy in fault.remedies)
                told[id(fault)] = told_of(fault, [], [], texts, self._passed_over)
                continue
            tried = list(self._cures(before, fault, texts))
            listed = [remedy.kind for remedy in fault.remedies]
            cures = [cure for cure in tried if cure.verdict.outcome == "proven"]
            kept = any(cure.remedy.kind == RETAIN and cure.verdict.proof.same_gradients for cure in cures)
            inputs = {id(cure) for cure in cures[1:] if judging.cuts_an_input(before, cure.trial)}
            cures.sort(
                key=lambda c: (
                    id(c) not in inputs,  # nothing is computed again, and only another network's gradients go
                    kept and c.remedy.kind == "recompute_forward",  # the same gradients, at the cost of a forward pass
                    c.remedy.kind not in listed,
                )
            )
            told[id(fault)] = told_of(fault, cures, tried, texts, self._passed_over)
            if not cures:
                continue
            best = cures[0]
            texts, before = {**texts, **best.texts}, best.trial
            options = [best.texts] if options else [cure.texts for cure in cures]
        findings = tuple(replace(f, remedies=told.get(id(f), f.remedies)) for f in first.report.findings)
        return Fixed(replace(first.report, findings=findings), self.originals, options, first, self._hindered)

    # The search

    def _cures(self, base: Trial, found: Diagnosis, texts: Mapping[str, str]) -> Iterator[Cure]:
        """Every remedy with what became of it. Once one is proven, only the message's own advice is tried."""
        proven: Cure | None = None
        listed = {remedy.kind for remedy in found.remedies}
        remedies = remedies_for(found)
        if judging.is_repeated(base):
            remedies.sort(key=lambda remedy: remedy.kind != "remove_duplicate")
        self._passed_over.clear()
        bench = Bench(base, base, found, frozenset({found.code}))
        advice = next((remedy for remedy in remedies if remedy.kind == RETAIN), None)
        # The message's advice is judged as it stands: with another cure on top it would be that one's merit.
        depth = 1 if RETAIN in listed else 0
        retained: Cure | None = None
        if advice is not None and judging.in_one_step(base, found) and "create_graph" not in listed:
            # The program as it is written, had its graphs been kept: what the steps after the fault would use.
            retained = self._share(bench, advice, texts, depth)
            unfaulty = retained is not None and retained.verdict.next is None
            if retained is not None and unfaulty and judging.is_reference(base, retained.trial):
                bench = replace(bench, reference=retained.trial)
                proof = replace(retained.verdict.proof, same_gradients=True)  # those that the program asks for
                retained.verdict = replace(retained.verdict, proof=proof)
        for remedy in remedies:
            if remedy is advice:
                best = retained if retained is not None else self._share(bench, remedy, texts, depth)
            elif proven is not None and not judging.may_do_with_less(base, proven.remedy, remedy, listed):
                self._passed_over.add(remedy.kind)
                continue
            else:
                best = self._share(bench, remedy, texts, DEPTH)
            if best is None:
                continue
            if best.verdict.outcome == "proven":
                best = self._smaller(bench, best, texts)
                if remedy is advice and proven is not None:
                    best = best.compared_with(proven)
                elif proven is not None and not judging.cuts_an_input(base, best.trial):
                    continue  # it takes something out of the training that the other one keeps
                else:
                    proven = best
            yield best

    def _share(self, bench: Bench, remedy: Remedy, texts: Mapping[str, str], depth: int) -> Cure | None:
        self._allowed = min(TRIALS, self._trials + SHARE)
        return self._best(bench, remedy, texts, depth)

    def _smaller(self, bench: Bench, cure: Cure, texts: Mapping[str, str]) -> Cure:
        """A cure of several patches without what turned out to be needless: each was right for the fault it met. Where
        none of them changes a gradient, gradients do not tell which are needless."""
        left = SHARE if cure.parts > 1 and cure.remedy.effect is not Effect.SAME_GRADIENTS else 0
        smallest: Cure | None = None
        while smallest is not cure:  # until no line can be left out any more
            smallest = cure
            ways = [(file, text) for file in sorted(cure.texts) for text in smaller(texts[file], cure.texts[file])]
            for file, text in ways:
                if not left or time.monotonic() > self._until:
                    return cure
                new = {**cure.texts, file: text}
                whole_bench = replace(bench, curing=cure.curing)
                tried = self._run(whole_bench, cure.remedy, {**texts, **new})
                left -= tried is not None
                same = tried is not None and first_difference(tried.trial.training, cure.trial.training) == 0
                if tried is not None and same and tried.verdict.outcome == cure.verdict.outcome:
                    cure = replace(tried, parts=cure.parts, names=cure.names)
                    break
        return cure

    def _best(self, bench: Bench, remedy: Remedy, texts: Mapping[str, str], depth: int = DEPTH) -> Cure | None:
        """The first patch of one remedy that is proven; else the one that came furthest."""
        from afterward.repair import Workshop, candidates

        shop = Workshop(texts, tries=True, carried=partial(self._carried, bench.before, texts))
        writing = candidates(shop, bench.found, remedy)
        failed: Cure | None = None
        answer: str | None = None
        seen: list[dict[str, str]] = []
        postponed: Cure | None = None
        for _ in range(PER_REMEDY):
            try:
                patch = writing.send(answer) if answer is not None else next(writing)
                while (new := patch.applied(texts)) in seen:  # two ways to the same text
                    patch = writing.send("")
            except StopIteration:
                break
            seen.append(new)
            if self._trials >= self._allowed or time.monotonic() > self._until or self._hindered:
                break
            cure = self._try(bench, remedy, patch, texts)
            if cure is None:
                answer = ""
                continue
            if cure.verdict.outcome == "moved" and depth > 0 and _can_wait(bench, cure):
                postponed = postponed or cure  # a later patch may cut all of a state, or be enough by itself
            elif cure.verdict.outcome == "moved" and depth > 0:
                cure = self._followed(bench, cure, depth)
            if cure.verdict.outcome == "proven":
                return cure
            failed = max(failed or cure, cure, key=_rank)
            answer = f"{cure.trial.error}\n{cure.trial.refused}" if cure.trial.ending == "raised" else ""
        if postponed is not None:
            return max(self._follow(bench, postponed, depth) or postponed, failed or postponed, key=_rank)
        return failed

    def _followed(self, bench: Bench, cure: Cure, depth: int) -> Cure:
        """The patch with what it brings to light cured, too: within a part of what its remedy may cost, so that the
        next patch, which may be enough by itself, has its chance."""
        allowed, self._allowed = self._allowed, min(self._allowed, self._trials + PER_CHAIN)
        best = self._follow(bench, cure, depth)
        self._allowed = allowed
        return best or cure

    def _carried(self, run: Trial, texts: Mapping[str, str], file: str, first: int, last: int) -> tuple[Carried, ...]:
        """What the steps of a loop hand on, seen in one more run up to the fault."""
        border = run.training.border(file, first, last)
        if border is None:
            return ()
        request = replace(self._request(texts), passes=border.after, border=border)
        return self._ran(request).training.carried

    def _try(self, bench: Bench, remedy: Remedy, patch: Patch, texts: Mapping[str, str]) -> Cure | None:
        cure = self._run(bench, patch.carries_out(remedy), {**texts, **patch.applied(texts)})
        return replace(cure, edits=patch.edits) if cure is not None else None

    def _run(self, bench: Bench, remedy: Remedy, changed: Mapping[str, str]) -> Cure | None:
        """Run the program with these texts; None where they are no program."""
        new = {file: text for file, text in changed.items() if text != self.originals[file].text}
        if not new or not all(compiles(text, file) for file, text in new.items()):
            return None
        self._trials += 1
        trial = self._trial(new, remedy)
        stood_still = trial.ending == "time" and not trial.passes and not self.request.command
        if stood_still:  # as some threads do as they end: once more
            trial = self._trial(new, remedy)
        self._hindered = self._hindered or trial.hindered or self._hangs(trial)
        verdict = judging.judge(bench, remedy, trial)
        cure = Cure(remedy, new, verdict, trial, bench.curing, names=(container_of(remedy.target),))
        return without_flat_derivatives(cure, bench, changed) if remedy.kind == RETAIN else cure

    def _hangs(self, trial: Trial) -> Note | None:
        """Each trial that hangs takes all its time: after some, no more are begun."""
        self._hung += trial.ending == "time" and bool(self.request.command) and not trial.ranks
        return Note("ranks_hang", (facts.count("count", self._hung, "trial"),)) if self._hung >= HANGS else None

    def _trial(self, new: Mapping[str, str], remedy: Remedy) -> Trial:
        progress = self.progress
        return self._ran(self._request(new), None if progress is None else lambda seconds: progress(remedy, seconds))

    def _ran(self, request: Request, tick: Callable[[float], None] | None = None) -> Trial:
        launch = LAUNCH + OVER if request.command else 0.0
        return self.runner.run(request, limit=self.limit + launch + GRACE, tick=tick)

    def _request(self, texts: Mapping[str, str]) -> Request:
        """To run the program with these texts, past the point of failure."""
        new = {file: text for file, text in texts.items() if text != self.originals[file].text}
        return replace(
            self.request,
            arguments=self.proof_arguments if self.proof_arguments is not None else self.request.arguments,
            patched={file: self.originals[file].program(text) for file, text in {**self._books, **new}.items()},
            passes=self._broken_at + MARGIN if self._broken_at is not None else None,
            seconds=self.limit,
            shown=False,
        )

    def _follow(self, bench: Bench, cure: Cure, depth: int) -> Cure | None:
        """The patch has brought another fault to light: cure that one too, on top of it."""
        following = cure.verdict.next
        if following is None:
            return None
        if following.name == "history-cut" and cure.remedy.kind in ("detach_state", "detach_input"):
            return None  # the cut went too far: taking out another one would train something else
        texts = {**{file: o.text for file, o in self.originals.items()}, **cure.texts}
        remedies = remedies_for(following)
        if following.severity is not Severity.ERROR:
            remedies = [r for r in remedies if r.kind in _FOLLOW_UPS]
        wanted = [r for r in remedies if r.kind == cure.remedy.kind] + [
            r for r in remedies if r.kind != cure.remedy.kind and r.kind != "retain_graph"
        ]
        if judging.kin(following, cure.trial) == judging.kin(bench.found, bench.before):
            # As it was, a step later: another cure would cure it alone.
            wanted = [r for r in wanted if r.kind == cure.remedy.kind]
        curing = cure.curing | {following.code}
        whole_change = bench.remedy or cure.remedy
        bench = replace(bench, before=cure.trial, found=following, curing=curing, remedy=whole_change)
        for remedy in wanted[:2]:
            best = self._best(bench, remedy, texts, depth - 1)
            if best is not None and best.verdict.outcome == "proven":
                # The whole goes by the name of its first part.
                names = cure.names + (best.names if remedy.kind == cure.remedy.kind else ())
                return replace(best, remedy=cure.remedy, parts=best.parts + 1, names=tuple(dict.fromkeys(names)))
        return None


def _rank(cure: Cure) -> int:
    return judging.OUTCOMES.index(cure.verdict.outcome)


def _can_wait(bench: Bench, cure: Cure) -> bool:
    """Does the same line fail for what the patch has brought to light, by whatever name; or does nothing fail, and the
    patch itself has made a fault, which another one may not?"""
    following = cure.verdict.next
    if following is None or following.severity is not Severity.ERROR:
        return following is not None
    return judging.kin(following, cure.trial)[-1] == judging.kin(bench.found, bench.before)[-1]
