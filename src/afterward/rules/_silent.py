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


def several(names: tuple[str, ...], shown: int = 2) -> str:
    """`a`, `b` and 3 more."""
    known = [f"`{name}`" for name in names if name]
    text = ", ".join(known[:shown])
    return f"{text} and {len(known) - shown} more" if len(known) > shown else text


def duration(seconds: float) -> str:
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} us"
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"


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
    cut: Site | None = None,
    notes: tuple[str, ...] = (),
) -> Diagnosis:
    return Diagnosis(
        message=message,
        primary=Label(site, label),
        secondary=secondary,
        why=why,
        remedies=(remedy,),
        built=built or site,
        freed=freed,
        cut=cut,
        notes=notes,
        bridge=bridge,
        nodes=nodes,
        bytes=size,
    )
