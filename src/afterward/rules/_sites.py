"""Places and names that the rules about used-up graphs share: dated sites, bridges, facts."""

from __future__ import annotations

from dataclasses import replace

from afterward.model import facts
from afterward.model.diagnosis import Bridge
from afterward.model.facts import Fact
from afterward.model.history import Pass, Step
from afterward.model.site import Site
from afterward.rules._cause import Case, leaves_directly_under


def dated(case: Case, run: Pass) -> Site:
    """Where a pass ran, and in which step: the iteration of the report's loop, else the how-manyeth pass from there."""
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
        # What was handed on is newer than the pass; the part behind it is what the pass had used.
        where = case.reuse.culprit.where
        return where.site_at(case.loop) if where is not None else None
    if entry.where is None:
        return None
    level = case.bridge.level if case.bridge is not None else -1
    return entry.where.site_at(case.loop, level)


def freed_site(case: Case) -> Site | None:
    early = case.reuse.early
    return dated(case, early) if early is not None and early.where is not None else None


def freeing_sites(case: Case) -> tuple[Site, ...]:
    """Every pass that freed a value which the broken one needs: several may have freed a part each."""
    late, history = case.reuse.late, case.history
    needed = {number for number in case.reuse.stale if history.node(number).freed}
    early = {case.reuse.early.id} if case.reuse.early is not None else set[int]()
    freed: set[int] = set()
    for run in sorted(history.passes, key=lambda one: one.moment):
        if run.moment < late.moment and not run.retains_graph and run.used is not None:
            mine = {number for number in needed & run.used if history.node(number).moment < run.moment} - freed
            early |= {run.id} if mine else set()
            freed |= mine
    return tuple(dict.fromkeys(run.where.site for run in history.passes if run.id in early and run.where is not None))


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
    return Bridge(value.name, value.kind, value.site, value.of_parts, value.from_none, value.filled)


def known_name(case: Case) -> str:
    """The bridge's name, where it stands for the value itself."""
    found = bridge(case)
    known = found is not None and (case.bridge is not None or case.reuse.starts_in_stale)
    return found.name if found is not None and known else ""


def early_call(case: Case) -> str:
    return case.reuse.early.call if case.reuse.early is not None else "backward"


def freed_by(case: Case) -> Fact:
    """The earlier pass."""
    return facts.call("freed_by", freed_site(case), early_call(case))


def amount(case: Case) -> tuple[Fact, ...]:
    """How much was involved, in nodes and, where a look was taken, in bytes: those of all that the pass has freed."""
    count, early = len(case.reuse.stale), case.reuse.early
    whole = early.nodes if early is not None and early.bytes and early.nodes > count else None
    return (
        facts.count("nodes", count, "node"),
        facts.size("bytes", early.bytes if early is not None else 0),
        facts.count("all_nodes", whole, "node"),
    )


def update_of(step: Step) -> Fact:
    return facts.update("update", f"{step.optimizer}.step()", step.where.site if step.where is not None else None)


def bridge_name(case: Case) -> str:
    found = bridge(case)
    return found.name if found is not None else ""


def owners_of_old_part(case: Case) -> tuple[str, ...]:
    """The optimizers that hold what the old part reads."""
    return tuple(sorted(case.history.optimizers_of(leaves_directly_under(case.history, case.reuse.stale))))
