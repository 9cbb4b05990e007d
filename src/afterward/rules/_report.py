"""The shape that all reports of a used-up graph share: built, freed, reused, bridges, what retaining would do."""

from __future__ import annotations

from afterward.model import facts
from afterward.model.diagnosis import Bridge, Certainty, Diagnosis, Label, Remedy, Role, Ways
from afterward.model.facts import Fact, Note
from afterward.model.history import Pass
from afterward.model.reuse import bridges_of
from afterward.model.site import Site, Where
from afterward.rules import _sites as at
from afterward.rules._cause import Case
from afterward.rules._retaining import what_if_retained


def diagnosis(
    case: Case, *more: Fact, remedies: tuple[Remedy, ...], form: str = "", read_is_built: bool = False
) -> Diagnosis:
    """One case as a diagnosis. `read_is_built`: where one line reads and renews the value, the reading is marked."""
    built, freed, reused = at.built_site(case), at.freed_site(case), at.reused_site(case)
    found = at.bridge(case)
    return Diagnosis(
        Label(reused, Role.REUSED),
        _labels(built, freed, reused, found, read_is_built),
        form,
        (facts.code("value", at.known_name(case)), at.freed_by(case), *at.amount(case), *more),
        _notes(case),
        what_if_retained(case),
        Certainty.OBSERVED if case.reuse.certain else Certainty.INFERRED,
        remedies=remedies,
        built=built,
        freed=freed,
        reused=reused,
        bridge=found,
        other_bridges=_other_bridges(case, found),
        ways=ways(case),
        nodes=len(case.reuse.stale),
        bytes=case.reuse.early.bytes if case.reuse.early is not None else 0,
        caught=case.reuse.late.caught,
    )


def _labels(
    built: Site | None, freed: Site | None, reused: Site, found: Bridge | None, read_is_built: bool
) -> tuple[Label, ...]:
    reading = found.site if found is not None else None
    if reading is not None and built is not None and reading.same_lines(built):
        first = [Label(reading, Role.READ)] if read_is_built else [Label(built, Role.BUILT)]
    else:
        first = [Label(built, Role.BUILT)] if built is not None else []
        if reading is not None and not reading.same_lines(reused):
            first.append(Label(reading, Role.READ))
    return (*first, Label(freed, Role.FREED)) if freed is not None else tuple(first)


def _notes(case: Case) -> tuple[Note, ...]:
    notes = []
    bridge = case.bridge
    if bridge is not None and bridge.lost_cut is not None:
        cut = facts.code("cut", bridge.lost_how), facts.lines("lines", bridge.lost_cut)
        notes.append(Note("lost_cut", (*cut, facts.code("value", at.known_name(case)))))
    if not case.reuse.certain:
        notes.append(Note("inferred_free"))
    return tuple(notes)


def _other_bridges(case: Case, first: Bridge | None) -> tuple[Bridge, ...]:
    names = {first.name} if first is not None else set()
    found = []
    for value in bridges_of(case.history, case.reuse):
        if value.name not in names:
            names.add(value.name)
            found.append(Bridge(value.name, value.kind, value.site))
    return tuple(found)


def ways(case: Case) -> Ways:
    """The statements on the stack at each of the three places, for whoever has to change them."""
    early, late, entry = case.reuse.early, case.reuse.late, case.reuse.entry.node
    write = case.reuse.write
    return Ways(
        built=way(entry.where),
        freed=way(early.where if early is not None else None),
        reused=way(late.where),
        written=way(write.where if write is not None else None),
        loop=case.loop.loop if case.loop is not None else None,
        assigned=case.bridge.assigned if case.bridge is not None else None,
    )


def way(where: Where | None) -> tuple[Site, ...]:
    return tuple(level.site for level in where.levels) if where is not None else ()


def unknown(late: Pass) -> Diagnosis:
    """A pass that failed in a way of which no more is known."""
    assert late.where is not None
    site = late.where.dated_site
    value = facts.code("value", late.receiver)
    return Diagnosis(Label(site, Role.REUSED), form="unknown", facts=(value,), reused=site, caught=late.caught)
