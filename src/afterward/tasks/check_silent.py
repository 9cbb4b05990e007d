"""Faults that raise nothing, predicted from source: where every run shows them and nothing unseen undoes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from afterward.interpret import Part, Quiet
from afterward.model.diagnosis import Diagnosis, Severity
from afterward.model.history import History
from afterward.model.methods import PASSES
from afterward.model.site import Site
from afterward.rules import diagnose
from afterward.rules._often import AGAIN, SEVERAL
from afterward.rules.needless_retain import is_needed

_OF_STEPS = "AFT4"  # rules about gradients look at several updates
_ZERO = frozenset({"zero_grad", "grad", "zero_"})
# Words in code that no run came to, beside passes, that a finding does not stand up to.
_UNDOES = {
    "AFT302": frozenset({"detach", "detach_", "no_grad"}),
    "AFT402": _ZERO,
    "AFT403": _ZERO,
    "AFT404": frozenset({"requires_grad_", "requires_grad"}),
    "AFT410": frozenset({"step"}),
}


def silent_findings(outcome: Part) -> list[Diagnosis]:
    """What the rules say about the runs of one program, as far as all runs agree."""
    if not outcome.silent or outcome.findings:
        return []
    # A run in which every pass is known, if there is one: what begins at something unknown may be anything.
    first = next((run for run in outcome.silent if not run.blind), outcome.silent[0])
    others = [run for run in outcome.silent if run is not first]
    if first.history is None:
        return []
    found = list(said_of(first.history) if outcome.said is None else outcome.said)
    for run in others:
        if found and run.history is not None and not run.blind and _steps(run.history) >= AGAIN:
            there = {one.key for one in diagnose(run.history)}
            found = [one for one in found if one.key in there or not _contradicts(run, one)]
    if not found:
        return []
    unseen = outcome.not_run()
    words = {one.code: PASSES | _UNDOES.get(one.code, frozenset()) for one in found}
    return [one for one in found if not unseen.can_undo(_way_to(one, first.history), words[one.code])]


def said_of(history: History) -> tuple[Diagnosis, ...]:
    """What the rules about silent faults say of a run in which no pass failed."""
    return tuple(one for one in diagnose(history) if one.severity is not Severity.ERROR)


def _contradicts(run: Quiet, found: Diagnosis) -> bool:
    """Did a run that does not show a fault come by its place? One whose budget was used up must have come to its pass
    as often as the rules ask for."""
    if not _came_by(found, run.ran):
        return False
    if run.history is None:
        return False
    if found.code == "AFT303":
        return is_needed(run.history, found.primary.site)
    if found.code.startswith(_OF_STEPS) and len(run.history.steps) < AGAIN:
        return False
    sites = [one.where.site for one in run.history.passes if one.where is not None]
    times = sum(found.freed is not None and one.same_lines(found.freed) for one in sites)
    return not (run.cut_short and (times or _steps(run.history)) < SEVERAL)


def _steps(history: History) -> int:
    """How often the pass was run that was run most often while one loop lasted: one step shows nothing about the next,
    and a loop that is left at once (`if done: break`) nothing about one that goes on."""
    iterations = [(one.where.site, one.where.innermost_iteration) for one in history.passes if one.where is not None]
    return max(
        Counter((site, iteration.entry if iteration is not None else 0) for site, iteration in iterations).values(),
        default=0,
    )


def _way_to(found: Diagnosis, history: History) -> set[Site]:
    """The places of a finding, and the calls that led to the passes among them."""
    sites = {found.primary.site, *(one.site for one in found.secondary)}
    sites |= {one for one in (found.built, found.freed, found.reused, found.written, found.cut) if one is not None}
    stacks = [*(one.where for one in history.passes), *(one.where for one in history.steps)]
    return sites | {
        level.site for where in stacks if where is not None and where.site in sites for level in where.levels
    }


def _came_by(found: Diagnosis, ran: Iterable[tuple[str, int, int]]) -> bool:
    site = found.primary.site
    return (site.file, site.line, site.column) in ran
