"""`create_graph`: make the result of a pass part of the graph."""

from __future__ import annotations

from afterward.repair.retain_graph import freeing_sites, with_flag
from afterward.repair.workshop import Candidates, Job


def candidates(job: Job) -> Candidates:
    """The pass whose result is trained through: the one that freed, where the remedy does not name another."""
    named, freed = job.remedy.site, job.found.freed
    if named is None or (freed is not None and named.same_lines(freed)):
        yield from with_flag(job, "create_graph", *freeing_sites(job))
    else:
        yield from with_flag(job, "create_graph", named)
