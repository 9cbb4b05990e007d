"""Words that the rules about used-up graphs share: dated sites, names, amounts."""

from __future__ import annotations

from dataclasses import replace

from afterward.model.diagnosis import Bridge
from afterward.model.figures import human
from afterward.model.history import Pass, Step
from afterward.model.site import Site
from afterward.rules._cause import Case, leaves_directly_under


def dated(case: Case, run: Pass) -> Site:
    """Where a pass ran, and in which step: the turn of the report's loop, else the how-manyeth pass from there."""
    assert run.where is not None
    part = case.reuse.passes_part
    if part is not None and part.how == "calls":
        same = [p for p in case.history.passes if p.where is not None and p.where.site.same_lines(run.where.site)]
        number = next((i for i, p in enumerate(same, 1) if p.id == run.id), None)
        return replace(run.where.site, step=number)
    return run.where.site_at(case.loop)


def built_site(case: Case) -> Site | None:
    """The statement that made the part: where its value was given the bridge's name, else the innermost one."""
    entry = case.reuse.entry.node
    if entry.id not in case.reuse.stale and case.reuse.write is None:
        # What was handed on is newer than the pass; the part behind it is what the pass had swept.
        where = case.reuse.culprit.where
        return where.site_at(case.loop) if where is not None else None
    if entry.where is None:
        return None
    level = case.bridge.level if case.bridge is not None else -1
    return entry.where.site_at(case.loop, level)


def freed_site(case: Case) -> Site | None:
    early = case.reuse.early
    return dated(case, early) if early is not None and early.where is not None else None


def reused_site(case: Case) -> Site:
    """The innermost line of the program in the traceback."""
    if case.reuse.late.read_in is not None:
        return case.reuse.late.read_in.site_at(case.loop)
    return dated(case, case.reuse.late)


def bridge(case: Case) -> Bridge | None:
    value = case.bridge
    if value is None:
        receiver = case.reuse.late.receiver
        return Bridge(receiver, "expression") if receiver else None
    return Bridge(value.name, value.kind, value.site)


def name_of(case: Case, otherwise: str = "the value") -> str:
    """The bridge; what the pass was called on is a name for it only where the pass starts in the old part."""
    found = bridge(case)
    known = found is not None and (case.bridge is not None or case.reuse.starts_in_stale)
    return f"`{found.name}`" if found is not None and known else otherwise


def known_name(case: Case) -> str:
    """The bridge's name, where it stands for the value itself."""
    found = bridge(case)
    known = found is not None and (case.bridge is not None or case.reuse.starts_in_stale)
    return found.name if found is not None and known else ""


def early_call(case: Case) -> str:
    return case.reuse.early.call if case.reuse.early is not None else "backward"


def amount(case: Case) -> str:
    """How much was involved, in nodes and, where a look was taken, in bytes: those of all that the pass has freed."""
    count, early = len(case.reuse.stale), case.reuse.early
    text = f"{count:,} node{'s' if count != 1 else ''}"
    if early is None or not early.bytes:
        return text
    if early.nodes > count:
        return f"{count:,} of {early.nodes:,} nodes, {human(early.bytes)} in all"
    return f"{text}, {human(early.bytes)}"


def freed_by(case: Case) -> str:
    """`step 1's backward`, or the earlier pass by its line."""
    site = freed_site(case)
    early = case.reuse.early
    if site is None or early is None:
        return "an earlier pass"
    call = "autograd.grad" if early.call == "grad" else "backward"
    late = reused_site(case)
    if site.step is not None and site.step != late.step:
        return f"{site.step_name}'s {call}"
    return f"the {call} on line {site.line}" + (f" of {short(site.file)}" if site.file != late.file else "")


def in_step(site: Site) -> str:
    return f", in {site.step_name}" if site.step is not None and site.cell != site.file else ""


def short(file: str) -> str:
    return file.replace("\\", "/").rsplit("/", 1)[-1]


def step_words(step: Step, late: Pass) -> str:
    if step.where is None:
        return f"`{step.optimizer}.step()`"
    site = step.where.site
    elsewhere = late.where is not None and late.where.site.file != site.file
    return f"`{step.optimizer}.step()` (line {site.line}{f' of {short(site.file)}' if elsewhere else ''})"


def bridge_name(case: Case) -> str:
    found = bridge(case)
    return found.name if found is not None else ""


def owners_of_old_part(case: Case) -> tuple[str, ...]:
    """The optimizers that hold what the old part reads."""
    return tuple(sorted(case.history.optimizers_of(leaves_directly_under(case.history, case.reuse.stale))))
