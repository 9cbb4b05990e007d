"""The shape that all reports of a used-up graph share: built, freed, reused, bridge, advice."""

from __future__ import annotations

from afterward.model.diagnosis import Diagnosis, Label, Remedy, Ways
from afterward.model.site import Site, Where
from afterward.rules import _speech as say
from afterward.rules._cause import Case
from afterward.rules._retaining import advice

FREED = "backward through a graph that was already freed"


def diagnosis(
    case: Case,
    *,
    message: str = FREED,
    why: str,
    built_text: str,
    remedies: tuple[Remedy, ...],
    reused_text: str | None = None,
    notes: tuple[str, ...] = (),
) -> Diagnosis:
    """The shape that all reports of a used-up graph share: built, freed, reused, bridge, advice."""
    built, freed, reused = say.built_site(case), say.freed_site(case), say.reused_site(case)
    found = say.bridge(case)
    labels: list[Label] = []
    if built is not None:
        labels.append(Label(built, f"{built_text} ({say.amount(case)})"))
    if freed is not None and not freed.same_lines(reused):
        labels.append(Label(freed, "freed here" + say.in_step(freed)))
    reading = found.site if found is not None else None
    if reading is not None and not (built is not None and reading.same_lines(built)) and not reading.same_lines(reused):
        labels.append(Label(reading, "comes in again here"))
    if case.bridge is not None and case.bridge.lost_cut is not None:
        what = f"`{case.bridge.lost_how}` on line {case.bridge.lost_cut.line}"
        notes = (*notes, f"{what} gives out a detached copy that nobody keeps: {say.name_of(case)} stays as it was")
    if not case.reuse.certain:
        notes = (*notes, "which pass freed it was worked out from the order of the passes, not seen")
    return Diagnosis(
        message=message,
        primary=Label(reused, reused_text or f"needs values that {say.freed_by(case)} freed"),
        secondary=tuple(labels),
        why=why[:1].upper() + why[1:],
        notes=(*notes, *advice(case)),
        remedies=remedies,
        built=built,
        freed=freed,
        reused=reused,
        bridge=found,
        ways=ways(case),
        nodes=len(case.reuse.stale),
        bytes=case.reuse.early.bytes if case.reuse.early is not None else 0,
        caught=case.reuse.late.caught,
    )


def ways(case: Case) -> Ways:
    """The statements on the stack at each of the three places, for whoever has to change them."""
    early, late, entry = case.reuse.early, case.reuse.late, case.reuse.entry.node
    write = case.reuse.write
    return Ways(
        built=_way(entry.where),
        freed=_way(early.where if early is not None else None),
        reused=_way(late.where),
        written=_way(write.where if write is not None else None),
        loop=case.loop.loop if case.loop is not None else None,
        assigned=case.bridge.assigned if case.bridge is not None else None,
    )


def _way(where: Where | None) -> tuple[Site, ...]:
    return tuple(level.site for level in where.levels) if where is not None else ()
