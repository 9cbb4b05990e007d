"""What could not be seen of a run. It stands apart: a program that never loads torch needs nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from afterward.model.site import Site


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that the observer could not see. Rules stay silent across it."""

    what: str
    site: Site | None = None
