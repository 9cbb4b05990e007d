"""What the rules about silent faults share: passes by site, and the shape of a warning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from afterward.model.diagnosis import Bridge, Diagnosis, Label, Remedy, Role, Ways
from afterward.model.facts import Fact, Note
from afterward.model.history import Fed, History, Pass
from afterward.model.site import Site
from afterward.rules._report import way


def passes_by_site(history: History) -> Iterator[list[Pass]]:
    """The passes that were looked at, grouped by the statement that called them, in order."""
    groups: dict[tuple[str, int], list[Pass]] = {}
    for run in history.passes:
        if run.used is not None and run.where is not None:
            groups.setdefault((run.where.site.file, run.where.site.line), []).append(run)
    yield from groups.values()


@dataclass(frozen=True, slots=True)
class FlatPart:
    """A summand of a loss that comes from `autograd.grad` without `create_graph=True`: a value without a graph."""

    name: str
    site: Site  # where it is added
    taken: Site  # where the derivative was taken
    used: Site  # the pass over the sum
    times: int  # that it was added, in passes that were looked at
    linear: bool  # the loss is linear in it: it then changes no gradient at all


def flat_parts(history: History) -> list[FlatPart]:
    """The derivatives without a graph that were added to losses. If the loss is not linear in one, it counts as a
    constant there: taken of another forward pass than the one that is trained, it may be meant as a target."""
    found: dict[tuple[Site, str], list[Fed]] = {}
    for one in history.fed:
        early, late = history.run(one.early), history.run(one.late)
        of_one_forward = not (early.used or frozenset()).isdisjoint(late.used or ())
        if one.where is not None and late.call == "backward" and (one.linear or of_one_forward):
            found.setdefault((one.where.site, one.name), []).append(one)
    return [_flat_part(history, times) for times in found.values()]


def _flat_part(history: History, times: list[Fed]) -> FlatPart:
    first = times[0]
    places = first.where, history.run(first.early).where, history.run(first.late).where
    assert places[0] is not None
    loop = places[0].innermost_iteration
    site, taken, used = (where.site_at(loop) for where in places if where is not None)
    return FlatPart(first.name, site, taken, used, len(times), first.linear)


def left_without(history: History) -> frozenset[int]:
    """The leaves of optimizers that the steps which were looked at found without a gradient, each time."""
    produced = frozenset().union(*(leaves for _, _, leaves in history.ledger.productions))
    return frozenset(one.leaf for one in history.ledger.empty) - produced


def site_of(run: Pass) -> Site:
    assert run.where is not None
    return run.where.dated_site


def warning(
    site: Site,
    *known: Fact,
    remedy: Remedy,
    form: str = "",
    secondary: tuple[Label, ...] = (),
    bridge: Bridge | None = None,
    nodes: int = 0,
    size: int = 0,
    built: Site | None = None,
    freed: Site | None = None,
    by: Pass | None = None,
    cut: Site | None = None,
    written: Site | None = None,
    notes: tuple[Note, ...] = (),
) -> Diagnosis:
    """`by`: the pass that freed the graph, with the calls on the way to it."""
    return Diagnosis(
        Label(site, Role.FAULT),
        secondary,
        form,
        known,
        notes,
        remedies=(remedy,),
        built=built or site,
        freed=site_of(by) if by is not None else freed,
        cut=cut,
        written=written,
        bridge=bridge,
        ways=Ways(freed=way(by.where) if by is not None else ()),
        nodes=nodes,
        bytes=size,
    )
