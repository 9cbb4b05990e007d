"""`retain_graph`: keep the graph of the pass that frees it."""

from __future__ import annotations

from afterward.model.site import Site
from afterward.repair.passes import pass_calls, with_keyword
from afterward.repair.workshop import Candidates, Job


def candidates(job: Job) -> Candidates:
    yield from with_flag(job, "retain_graph", *freeing_sites(job))


def freeing_sites(job: Job) -> tuple[Site | None, ...]:
    """The pass that freed: the statement itself, or a caller that hands it on."""
    return job.found.freed, *reversed(job.found.ways.freed)


def with_flag(job: Job, flag: str, *sites: Site | None) -> Candidates:
    """Give the flag to the passes of these statements."""
    for site in dict.fromkeys(sites):
        place = job.at(site)
        if place is None:
            continue
        source, statement = place
        for call in pass_calls(statement):
            edit = with_keyword(source, call, flag)
            if edit is not None:
                line = source.range(call).start.line
                yield job.patch(f"`{flag}=True` on line {line}", source, edit)
