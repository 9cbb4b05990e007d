"""Words and figures that the rules about used-up graphs share: dated sites, labels, remedies, the advice."""

from __future__ import annotations

from dataclasses import replace

from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Label, Remedy, Ways
from afterward.model.figures import human
from afterward.model.history import Pass, Step
from afterward.model.site import Level, Site, Where
from afterward.rules._cause import Case, Cause, leaves_directly_under

FREED = "backward through a graph that was already freed"


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
    found = bridge(case)
    return f"`{found.name}`" if found is not None else otherwise


def amount(case: Case) -> str:
    """How much was involved, in nodes and, where a look was taken, in bytes."""
    count = len(case.reuse.stale)
    text = f"{count:,} node{'s' if count != 1 else ''}"
    size = case.reuse.early.bytes if case.reuse.early is not None else 0
    return f"{text}, {human(size)}" if size else text


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


def diagnosis(
    case: Case,
    *,
    message: str = FREED,
    why: str,
    built_text: str,
    remedies: tuple[Remedy, ...],
    reused_text: str | None = None,
    notes: tuple[str, ...] = (),
) -> Diagnosis:
    """The shape that all reports of a used-up graph share: built, freed, reused, bridge, advice."""
    built, freed, reused = built_site(case), freed_site(case), reused_site(case)
    found = bridge(case)
    labels: list[Label] = []
    if built is not None:
        labels.append(Label(built, f"{built_text} ({amount(case)})"))
    if freed is not None and not freed.same_lines(reused):
        labels.append(Label(freed, "freed here" + _in_step(freed)))
    reading = found.site if found is not None else None
    if reading is not None and not (built is not None and reading.same_lines(built)) and not reading.same_lines(reused):
        labels.append(Label(reading, "comes in again here"))
    if not case.reuse.certain:
        notes = (*notes, "which pass freed it was worked out from the order of the passes, not seen")
    return Diagnosis(
        message=message,
        primary=Label(reused, reused_text or f"needs values that {freed_by(case)} freed"),
        secondary=tuple(labels),
        why=why,
        notes=(*notes, *advice(case)),
        remedies=remedies,
        built=built,
        freed=freed,
        reused=reused,
        bridge=found,
        ways=ways(case),
        nodes=len(case.reuse.stale),
        bytes=case.reuse.early.bytes if case.reuse.early is not None else 0,
        caught=case.reuse.late.caught,
    )


def ways(case: Case) -> Ways:
    """The statements on the stack at each of the three places, for whoever has to change them."""
    early, late, entry = case.reuse.early, case.reuse.late, case.reuse.entry.node
    write = case.reuse.write
    return Ways(
        built=_way(entry.where),
        freed=_way(early.where if early is not None else None),
        reused=_way(late.where),
        written=_way(write.where if write is not None else None),
        loop=case.loop.loop if case.loop is not None else None,
        assigned=case.bridge.assigned if case.bridge is not None else None,
    )


def _way(where: Where | None) -> tuple[Site, ...]:
    return tuple(level.site for level in where.levels) if where is not None else ()


def _in_step(site: Site) -> str:
    return f", in {site.step_name}" if site.step is not None and site.cell != site.file else ""


def short(file: str) -> str:
    return file.replace("\\", "/").rsplit("/", 1)[-1]


def advice(case: Case) -> tuple[str, ...]:
    """What PyTorch's own advice, `retain_graph=True`, would do in this very program."""
    prefix = "`retain_graph=True` "
    failing = _fails_next(case)
    if failing is not None:
        return (prefix + failing,)
    if case.cause is Cause.STATE_CARRIED_OVER:
        return (prefix + "would send gradients through every earlier step again, and keep all their graphs",)
    if case.cause is Cause.LOSS_ACCUMULATED:
        return (prefix + "would count the loss of every earlier step again in each pass",)
    if case.cause is Cause.SWEPT_TWICE:
        return (prefix + "would run, and add the same gradients a second time",)
    if case.cause is Cause.SAVED_READ_AFTER_FREE and case.reuse.late.nested_in is not None:
        return (prefix + f"outside does not reach the pass inside {case.reuse.late.nested_in}",)
    if case.cause is Cause.OUTPUT_NOT_DETACHED:
        return (prefix + "would run, and give each network the gradients of the other's loss too",)
    if case.cause is Cause.COMPILED_GRAPH_SHARED:
        refused = "but is refused where the compiler has given the region's buffers away (donated buffers)"
        return (prefix + f"would let the gradients of both passes add up, {refused}",)
    if case.old_leaves_stepped:
        return (prefix + "would run, on values computed before the optimizer's step",)
    if case.stepped_between:
        return (prefix + f"would run: no step has changed what {name_of(case)} was computed from; {_price(case)}",)
    if zeroed_between(case):
        return (prefix + f"would run, but what the first pass added to `.grad` was zeroed since; {_price(case)}",)
    if case.reuse.early is not None and (case.reuse.early.id, case.reuse.late.id) in case.history.links:
        return (prefix + "would run, and train nothing through what `autograd.grad` returned: it has no graph",)
    size = case.reuse.early.bytes if case.reuse.early is not None else 0
    cost = f", keeping {human(size)} until then" if size else ""
    where = f" on line {case.reuse.early.where.site.line}" if case.reuse.early and case.reuse.early.where else ""
    return (prefix + f"{where.strip()} would be right here: {_outcome(case)}{cost}".lstrip(),)


def _price(case: Case) -> str:
    size = case.reuse.early.bytes if case.reuse.early is not None else 0
    return f"it keeps {human(size)}, and each pass walks that part again" if size else "each pass walks that part again"


def zeroed_between(case: Case) -> bool:
    """Were the gradients of the earlier pass gone when the later one began? Only where a look has shown it."""
    early, late = case.reuse.early, case.reuse.late
    if early is None or early.call != "backward" or late.call != "backward" or late.optimizers is None:
        return False
    shared = early.reached & late.reached
    return bool(shared) and not shared & late.filled


def _outcome(case: Case) -> str:
    if case.reuse.early is not None and case.reuse.early.call == "grad":
        return "the first pass leaves `.grad` alone"
    return "the gradients of both passes add up"


def _fails_next(case: Case) -> str | None:
    """Would the retained graph be spoilt? A step since has changed a parameter that the old part had saved."""
    early, late = case.reuse.early, case.reuse.late
    if early is None:
        return None
    steps = case.history.steps_between(early.moment, late.moment)
    spoilt = _spoilt(case, sorted(case.reuse.stale, reverse=True), steps)
    if spoilt is not None:
        return f"would fail here too: {spoilt[0]} was changed by {step_words(spoilt[1], late)} since, in place"
    spoilt = _spoilt(case, sorted(_carried_on(case), reverse=True), steps)
    now = reused_site(case).step
    if spoilt is not None and now is not None:
        name, step = spoilt
        return f"would fail in step {now + 1}: this step saves {name}, and {step_words(step, late)} changes it in place"
    return None


def _spoilt(case: Case, numbers: list[int], steps: tuple[Step, ...]) -> tuple[str, Step] | None:
    """A parameter that these nodes have saved and one of these steps holds."""
    for step in steps:
        for number in numbers:
            for saved in case.history.node(number).saved:
                if saved.leaf is not None and saved.leaf in step.leaves and not saved.elsewhere:
                    name = case.history.leaf(saved.leaf).name
                    return (f"`{name}`" if name else "a parameter that it saved"), step
    return None


def _carried_on(case: Case) -> frozenset[int]:
    """The nodes of this step that the next one would walk: those behind the state as this step has renewed it."""
    where = case.reuse.entry.node.where
    if case.cause is not Cause.STATE_CARRIED_OVER or where is None:
        return frozenset()
    fresh = case.reuse.fresh
    renewed = [n for n in fresh if (w := case.history.node(n).where) is not None and w.site.same_lines(where.site)]
    return case.history.reached(renewed, within=frozenset(fresh))


def step_words(step: Step, late: Pass) -> str:
    if step.where is None:
        return f"`{step.optimizer}.step()`"
    site = step.where.site
    elsewhere = late.where is not None and late.where.site.file != site.file
    return f"`{step.optimizer}.step()` (line {site.line}{f' of {short(site.file)}' if elsewhere else ''})"


# Remedies, best first. Each says what to do and what it does to the gradients.


def detach_state(case: Case) -> Remedy:
    name = name_of(case, "the state")
    return Remedy(
        "detach_state",
        Effect.CUTS_GRADIENTS,
        f"detach {name} as the step begins; gradients then stop at the step boundary",
        case.bridge.site if case.bridge is not None else None,
        bridge_name(case),
    )


def detach_kept(case: Case) -> Remedy:
    name = name_of(case)
    return Remedy(
        "detach_state",
        Effect.CUTS_GRADIENTS,
        f"store {name} detached; what it was computed from then gets no gradient through it",
        built_site(case),
        bridge_name(case),
    )


def detach_input(case: Case, *, in_early: bool = False) -> Remedy:
    name = name_of(case)
    where = freed_by(case) if in_early else "this pass"
    return Remedy(
        "detach_input",
        Effect.CUTS_GRADIENTS,
        f"detach {name} where it enters the loss of {where}: it is data there; "
        "what it was computed from then gets no gradient from that loss",
        case.bridge.site if case.bridge is not None else None,
        bridge_name(case),
    )


def recompute_forward(case: Case) -> Remedy:
    built = built_site(case)
    name = name_of(case)
    return Remedy(
        "recompute_forward",
        Effect.CHANGES_GRADIENTS,
        f"compute {name} anew for each pass (run {_lines_behind(case, built)} again before each backward); "
        "costs one forward pass each time, gradients are those of the present parameters",
        built,
        bridge_name(case),
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
    here = reused_site(case).file
    if any(file != here for file, _ in spots):
        return _listed([f"line {line} of {short(file)}" for file, line in spots], "the lines from {} to {}")
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
        bridge_name(case),
        statement,
    )


def combine_losses(case: Case) -> Remedy:
    return Remedy(
        "combine_losses",
        Effect.SAME_GRADIENTS,
        "add the losses and call backward once on the sum; the gradients are the same, and nothing is kept",
        freed_site(case),
        bridge_name(case),
    )


def retain_graph(case: Case, start: str = "or ") -> Remedy:
    site = freed_site(case)
    line = f" on line {site.line}" if site is not None else ""
    return Remedy(
        "retain_graph",
        Effect.SAME_GRADIENTS,
        f"{start}pass `retain_graph=True`{line}; {_outcome(case)}, and the graph stays in memory until the next pass",
        site,
    )


def create_graph(case: Case) -> Remedy:
    site = freed_site(case)
    line = f" on line {site.line}" if site is not None else ""
    return Remedy(
        "create_graph",
        Effect.CHANGES_GRADIENTS,
        f"pass `create_graph=True`{line}: its result is part of the later loss; "
        "the graph is kept, and second-order gradients flow",
        site,
    )


def remove_duplicate(case: Case, title: str) -> Remedy:
    return Remedy("remove_duplicate", Effect.CHANGES_GRADIENTS, title, reused_site(case), bridge_name(case))


def reorder_step(case: Case, what: str) -> Remedy:
    return Remedy(
        "reorder_step",
        Effect.CHANGES_GRADIENTS,
        f"move {what} behind the last backward that still needs these values; "
        "the gradients are then those of one set of parameters",
    )


def bridge_name(case: Case) -> str:
    found = bridge(case)
    return found.name if found is not None else ""


def optimizers_under_old_part(case: Case) -> str:
    names = sorted(case.history.optimizers_of(leaves_directly_under(case.history, case.reuse.stale)))
    return " and ".join(f"`{name}`" for name in names)
