"""Faults that raise nothing, predicted from source: told where every run shows them and nothing unseen undoes them."""

from __future__ import annotations

from collections.abc import Iterable

from afterward.interpret import Outcome
from afterward.model.diagnosis import Diagnosis, Severity

_PASS = frozenset({"backward", "grad", "manual_backward"})
_ZERO = frozenset({"zero_grad", "grad", "zero_"})
# Words in code that no run came to, beside passes, that a finding does not stand up to.
_UNDOES = {
    "AFT302": frozenset({"detach", "detach_", "no_grad"}),
    "AFT402": _ZERO,
    "AFT403": _ZERO,
    "AFT404": frozenset({"requires_grad_", "requires_grad"}),
}


def silent_findings(outcome: Outcome) -> list[Diagnosis]:
    """What the rules say about the runs of one program, as far as all runs agree."""
    if not outcome.silent or outcome.findings:
        return []
    first, *others = outcome.silent
    found = [one for one in _diagnose(first.history) if one.severity is not Severity.ERROR]
    for run in others:
        if found:
            there = {_key(one) for one in _diagnose(run.history)}
            found = [one for one in found if _key(one) in there or not _came_by(one, run.ran)]
    if not found:
        return []
    unseen = outcome.not_run()
    return [one for one in found if not unseen & (_PASS | _UNDOES.get(one.code, frozenset()))]


def _diagnose(history: object) -> tuple[Diagnosis, ...]:
    from afterward.rules import diagnose

    return diagnose(history)  # type: ignore[arg-type]


def _key(found: Diagnosis) -> tuple[str, str, int]:
    return found.code, found.primary.site.file, found.primary.site.line


def _came_by(found: Diagnosis, ran: Iterable[tuple[str, int, int]]) -> bool:
    site = found.primary.site
    return (site.file, site.line, site.column) in ran
