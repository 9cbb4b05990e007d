"""`remove_retain`: take away `retain_graph=True` or `create_graph=True` that nobody needs."""

from __future__ import annotations

from afterward.repair.passes import pass_calls, without_keyword
from afterward.repair.workshop import Candidates, Job


def candidates(job: Job) -> Candidates:
    flags = [job.remedy.target] if job.remedy.target in ("retain_graph", "create_graph") else []
    for site in dict.fromkeys((job.remedy.site, job.found.freed)):
        place = job.at(site)
        if place is None:
            continue
        source, statement = place
        for call in pass_calls(statement):
            for flag in dict.fromkeys((*flags, "retain_graph", "create_graph")):
                edit = without_keyword(source, call, flag)
                if edit is not None:
                    yield job.patch(f"drop `{flag}` on line {source.range(call).start.line}", source, edit)
