"""Remedies for used-up graphs: each says what to change, and what that does to the gradients."""

from __future__ import annotations

from afterward.model import facts
from afterward.model.diagnosis import Bridge, Effect, Form, Remedy
from afterward.model.facts import Fact
from afterward.model.history import Write
from afterward.model.shapes import TENSOR, cut_lines, likely_shape
from afterward.model.site import Level, Site
from afterward.rules import _sites as at
from afterward.rules._cause import Case
from afterward.rules._retaining import add_up, gradients_of


def detach_state(case: Case) -> Remedy:
    name = at.known_name(case)
    own = case.bridge.own_reset if case.bridge is not None else ""
    cuts = not own or own.rpartition(".")[2].startswith("detach")  # else the values too are those of the beginning
    return Remedy(
        "detach_state",
        Effect.CUTS_GRADIENTS if cuts else Effect.CHANGES_GRADIENTS,
        "own_reset" if own else Form.STEP_START if name else "",
        case.bridge.site if case.bridge is not None else None,
        name,
        own,
        facts=(
            facts.code("target", name),
            facts.code("code", own or (detaching(at.bridge(case), name) if name else "")),
        ),
    )


def detaching(bridge: Bridge | None, name: str) -> str:
    """The statement that detaches a value, in the form that fits what holds it: `state` of `state[0]` is a tuple."""
    assert bridge is not None
    whole = name[: name.rindex("[")] if name.endswith("]") and not bridge.of_parts else name
    shape = likely_shape(name[len(whole) :], bridge)
    if shape.kind == "dict" and bridge.filled <= 1:  # beside this one it holds something else
        whole, shape = name, TENSOR
    (code,) = cut_lines(whole, shape)
    return f"if {whole} is not None: {code}" if bridge.from_none else code


def detach_kept(case: Case) -> Remedy:
    return Remedy(
        "detach_state", Effect.CUTS_GRADIENTS, Form.STORED, at.built_site(case), at.bridge_name(case), facts=_it(case)
    )


def detach_input(case: Case, form: str = Form.READ_LATE, *more: Fact) -> Remedy:
    early = facts.call("early", at.freed_site(case), at.early_call(case))
    return Remedy(
        "detach_input",
        Effect.CUTS_GRADIENTS,
        form,
        case.bridge.site if case.bridge is not None else None,
        at.bridge_name(case),
        facts=(*_it(case), early, *more),
    )


def _it(case: Case) -> tuple[Fact, ...]:
    """The value by its name, where the bridge is one."""
    name = at.known_name(case)
    return (facts.code("target", name),) if name else ()


def recompute_forward(case: Case) -> Remedy:
    built = at.built_site(case)
    return Remedy(
        "recompute_forward",
        Effect.CHANGES_GRADIENTS,
        "",
        built,
        at.bridge_name(case),
        facts=(*_it(case), facts.lines("lines", *_lines_behind(case, built))),
    )


def _lines_behind(case: Case, built: Site | None) -> list[Site]:
    """The lines that made the freed part, where its value got its name: running only the last of them is not enough."""
    entry = case.reuse.entry.node
    if built is None or entry.where is None:
        return []
    levels = [_making_levels(case, entry.where.levels[case.bridge.level if case.bridge is not None else -1].call)]
    if None in levels[0]:  # some of it was made before that call, by what it was given
        levels.append(_making_levels(case, None))
    made: dict[tuple[str, int], Level] = {}
    for level in levels[-1]:
        if level is not None:
            spot = (level.site.file, level.site.line)
            made[spot] = min(made.get(spot, level), level, key=lambda one: one.moment)
    return [level.site for level in sorted(made.values(), key=lambda one: one.moment)] or [built]


def _making_levels(case: Case, call: int | None) -> list[Level | None]:
    """Of each freed node, the level of its making in a call; without a call, the outermost that is over by now."""
    late = case.reuse.late.where
    running = {(level.call, level.moment) for level in late.levels} if late is not None else set()
    found: list[Level | None] = []
    for number in case.reuse.stale:
        where = case.history.node(number).where
        levels = where.levels if where is not None else ()
        wanted = [one for one in levels if (one.call == call if call is not None else _is_over(one, running))]
        if levels:
            found.append(wanted[0] if wanted else None)
    return found


def _is_over(level: Level, running: set[tuple[int, int]]) -> bool:
    return (level.call, level.moment) not in running


def restore_input(case: Case, statement: str) -> Remedy:
    return Remedy(
        "recompute_forward",
        Effect.CHANGES_GRADIENTS,
        "restore",
        case.bridge.site if case.bridge is not None else None,
        at.bridge_name(case),
        statement,
        (facts.code("code", statement),),
    )


def combine_losses(case: Case) -> Remedy:
    effect = Effect.SAME_GRADIENTS if add_up(case) else Effect.CHANGES_GRADIENTS
    return Remedy("combine_losses", effect, "", at.freed_site(case), at.bridge_name(case))


def retain_graph(case: Case, form: str = "") -> Remedy:
    return Remedy(
        "retain_graph",
        Effect.SAME_GRADIENTS,
        form or gradients_of(case),
        at.freed_site(case),
        facts=(facts.lines("lines", *at.freeing_sites(case)),),
    )


def create_graph(case: Case) -> Remedy:
    site = at.freed_site(case)
    return Remedy("create_graph", Effect.CHANGES_GRADIENTS, "", site, facts=(facts.lines("lines", site),))


def remove_duplicate(case: Case, form: str) -> Remedy:
    """Without the surplus backward: the later one, unless the form says that it is the earlier one."""
    site = at.freed_site(case) if form in _EARLIER else at.reused_site(case)
    early = facts.call("early", at.freed_site(case), at.early_call(case))
    late = facts.lines("late", at.reused_site(case))
    return Remedy(
        "remove_duplicate", Effect.CHANGES_GRADIENTS, form, site, at.bridge_name(case), facts=(*_it(case), early, late)
    )


_EARLIER = ("earlier", "earlier_grad", "librarys")


def reorder_step(what: Fact) -> Remedy:
    """Later: an optimizer's step, or another write."""
    return Remedy("reorder_step", Effect.CHANGES_GRADIENTS, "" if what.name == "update" else "write", facts=(what,))


def out_of_place(case: Case) -> Remedy:
    """Write somewhere else, or save something else than what is written to."""
    write = case.reuse.write
    how = write.how if isinstance(write, Write) else ""
    form = "inplace_flag" if how == "inplace=True" else "clone" if how else ""
    site = write.where.site_at(case.loop) if write is not None and write.where is not None else None
    name = write.target if isinstance(write, Write) else ""
    return Remedy("out_of_place", Effect.SAME_GRADIENTS, form, site, name)
