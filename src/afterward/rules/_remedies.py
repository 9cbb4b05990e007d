"""Remedies for used-up graphs: each says what to change, and what that does to the gradients."""

from __future__ import annotations

from afterward.model.diagnosis import Effect, Remedy
from afterward.model.history import Write
from afterward.model.site import Level, Site
from afterward.rules import _speech as say
from afterward.rules._cause import Case
from afterward.rules._retaining import outcome


def detach_state(case: Case) -> Remedy:
    name = say.name_of(case, "the state")
    return Remedy(
        "detach_state",
        Effect.CUTS_GRADIENTS,
        f"detach {name} as the step begins; gradients then stop at the step boundary",
        case.bridge.site if case.bridge is not None else None,
        say.bridge_name(case),
    )


def detach_kept(case: Case) -> Remedy:
    name = say.name_of(case)
    return Remedy(
        "detach_state",
        Effect.CUTS_GRADIENTS,
        f"store {name} detached; what it was computed from then gets no gradient through it",
        say.built_site(case),
        say.bridge_name(case),
    )


def detach_input(case: Case, *, in_early: bool = False) -> Remedy:
    name = say.name_of(case)
    where = say.freed_by(case) if in_early else "this pass"
    return Remedy(
        "detach_input",
        Effect.CUTS_GRADIENTS,
        f"detach {name} where it enters the loss of {where}: it is data there; "
        "what it was computed from then gets no gradient from that loss",
        case.bridge.site if case.bridge is not None else None,
        say.bridge_name(case),
    )


def recompute_forward(case: Case) -> Remedy:
    built = say.built_site(case)
    name = say.name_of(case)
    return Remedy(
        "recompute_forward",
        Effect.CHANGES_GRADIENTS,
        f"compute {name} anew for each pass (run {_lines_behind(case, built)} again before each backward); "
        "costs one forward pass each time, gradients are those of the present parameters",
        built,
        say.bridge_name(case),
    )


def _lines_behind(case: Case, built: Site | None) -> str:
    """The lines that made the freed part, where its value got its name: running only the last of them is not enough."""
    entry = case.reuse.entry.node
    if built is None or entry.where is None:
        return "the forward pass"
    levels = [_making_levels(case, entry.where.levels[case.bridge.level if case.bridge is not None else -1].call)]
    if None in levels[0]:  # some of it was made before that call, by what it was given
        levels.append(_making_levels(case, None))
    made: dict[tuple[str, int], int] = {}
    for level in levels[-1]:
        if level is not None:
            spot = (level.site.file, level.site.line)
            made[spot] = min(made.get(spot, level.moment), level.moment)
    if not made:
        made[built.file, built.line] = 0
    spots = sorted(made, key=lambda spot: made[spot])
    here = say.reused_site(case).file
    if any(file != here for file, _ in spots):
        return _listed([f"line {line} of {say.short(file)}" for file, line in spots], "the lines from {} to {}")
    return _listed([str(line) for _, line in spots], "{} to {}", "line ", "lines ")


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


def _listed(parts: list[str], span: str, one: str = "", several: str = "") -> str:
    if len(parts) == 1:
        return one + parts[0]
    if len(parts) == 2:
        return several + " and ".join(parts)
    return several + span.format(parts[0], parts[-1])


def restore_input(case: Case, statement: str) -> Remedy:
    return Remedy(
        "recompute_forward",
        Effect.CHANGES_GRADIENTS,
        f"put the input back as each step begins: `{statement}`; the step then starts from it again",
        case.bridge.site if case.bridge is not None else None,
        say.bridge_name(case),
        statement,
    )


def combine_losses(case: Case) -> Remedy:
    return Remedy(
        "combine_losses",
        Effect.SAME_GRADIENTS,
        "add the losses and call backward once on the sum; the gradients are the same, and nothing is kept",
        say.freed_site(case),
        say.bridge_name(case),
    )


def retain_graph(case: Case, start: str = "or ") -> Remedy:
    site = say.freed_site(case)
    line = f" on line {site.line}" if site is not None else ""
    return Remedy(
        "retain_graph",
        Effect.SAME_GRADIENTS,
        f"{start}pass `retain_graph=True`{line}; {outcome(case)}, and the graph stays in memory until the next pass",
        site,
    )


def create_graph(case: Case) -> Remedy:
    site = say.freed_site(case)
    line = f" on line {site.line}" if site is not None else ""
    return Remedy(
        "create_graph",
        Effect.CHANGES_GRADIENTS,
        f"pass `create_graph=True`{line}: its result is part of the later loss; "
        "the graph is kept, and second-order gradients flow",
        site,
    )


def remove_duplicate(case: Case, title: str) -> Remedy:
    return Remedy("remove_duplicate", Effect.CHANGES_GRADIENTS, title, say.reused_site(case), say.bridge_name(case))


def reorder_step(case: Case, what: str) -> Remedy:
    return Remedy(
        "reorder_step",
        Effect.CHANGES_GRADIENTS,
        f"move {what} behind the last backward that still needs these values; "
        "the gradients are then those of one set of parameters",
    )


def out_of_place(case: Case, target: str) -> Remedy:
    """Write somewhere else, or save something else than what is written to."""
    write = case.reuse.write
    how = write.how if isinstance(write, Write) else ""
    title = f"make a new tensor instead of writing into {target} (drop the trailing `_`, write `x = x + y`)"
    rest = ", or clone it before the write; costs one copy"
    if how == "inplace=True":
        title, rest = "take `inplace=True` out of the module that is called there", f", or hand it a clone of {target}"
    elif how:
        title, rest = f"compute with a clone of {target}", ", or call the module that writes to it first"
    site = write.where.site_at(case.loop) if write is not None and write.where is not None else None
    name = write.target if isinstance(write, Write) else ""
    return Remedy("out_of_place", Effect.SAME_GRADIENTS, title + rest, site, name)
