"""`retain_graph`: keep the graph of the pass that frees it."""

from __future__ import annotations

from afterward.model.site import Site
from afterward.repair.edits import Edit
from afterward.repair.passes import pass_calls, with_keyword
from afterward.repair.workshop import Candidates, Job


def candidates(job: Job) -> Candidates:
    yield from _on_all(job)
    yield from with_flag(job, "retain_graph", *freeing_sites(job))


def _on_all(job: Job) -> Candidates:
    """Where several passes have freed a part each, the flag on all of them."""
    sites = [site for fact in job.remedy.facts if fact.name == "lines" for site in fact.sites]
    edits: dict[str, list[Edit]] = {}
    for source, statement in filter(None, map(job.at, sites)):
        made = (with_keyword(source, call, "retain_graph") for call in pass_calls(statement))
        edits.setdefault(source.file, []).extend(edit for edit in made if edit is not None)
    if len(sites) > 1 and sum(map(len, edits.values())) == len(sites):
        ", ".join(str(site.line) for site in sites)
        yield job.patches(edits)


def freeing_sites(job: Job) -> tuple[Site | None, ...]:
    """The pass that freed: the statement itself, or a caller that hands it on."""
    return job.found.freed, *reversed(job.found.ways.freed)


def with_flag(job: Job, flag: str, *sites: Site | None) -> Candidates:
    """Give the flag to the passes of these statements."""
    for source, statement in job.places(sites):
        for call in pass_calls(statement):
            edit = with_keyword(source, call, flag)
            if edit is not None:
                yield job.patch(source, edit)
