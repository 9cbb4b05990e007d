"""What the rules about silent faults share: passes by site, and the shape of a warning."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Bridge, Diagnosis, Label, Remedy
from afterward.model.history import History, Pass
from afterward.model.site import Site


def passes_by_site(history: History) -> Iterator[list[Pass]]:
    """The passes that somebody looked at, grouped by the statement that called them, in order."""
    groups: dict[tuple[str, int], list[Pass]] = {}
    for run in history.passes:
        if run.swept is not None and run.where is not None:
            groups.setdefault((run.where.site.file, run.where.site.line), []).append(run)
    yield from groups.values()


def site_of(run: Pass) -> Site:
    assert run.where is not None
    return run.where.site_at(run.where.innermost_turn)


def warning(
    message: str,
    site: Site,
    label: str,
    why: str,
    remedy: Remedy,
    *,
    secondary: tuple[Label, ...] = (),
    bridge: Bridge | None = None,
    nodes: int = 0,
    size: int = 0,
    built: Site | None = None,
    freed: Site | None = None,
) -> Diagnosis:
    return Diagnosis(
        message=message,
        primary=Label(site, label),
        secondary=secondary,
        why=why,
        remedies=(remedy,),
        built=built or site,
        freed=freed,
        bridge=bridge,
        nodes=nodes,
        bytes=size,
    )
