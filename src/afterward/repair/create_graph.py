"""`create_graph`: make the result of a pass part of the graph."""

from __future__ import annotations

from afterward.repair.retain_graph import with_flag
from afterward.repair.workshop import Candidates, Job


def candidates(job: Job) -> Candidates:
    yield from with_flag(job, "create_graph")
