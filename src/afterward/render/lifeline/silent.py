"""Stories of faults that raise nothing, and of a loss without a graph: made from passes, cuts and what is kept.

Which story is drawn depends on what the record holds about the places that the finding names, not on its code.
"""

from __future__ import annotations

from afterward.model.diagnosis import Diagnosis
from afterward.model.figures import human
from afterward.model.history import Cut, History, Kept, Pass, Step
from afterward.model.site import Site
from afterward.render.lifeline.sheet import Sheet
from afterward.render.lifeline.story import Event, Lane, Link, Story
from afterward.render.source import SourceTexts, shortened
from afterward.render.template import counted
from afterward.rules._built import Overwritten, overwritten
from afterward.rules._idle import Idle, idle_optimizers
from afterward.rules._kept import records
from afterward.rules.history_grows import FEW, growing_passes

CALL = 22  # letters of a call
SHOWN = 3  # passes of a site shown; more would not fit a page
HELD = 2  # steps of which a record holds the graphs, shown


def cut_story(history: History, late: Pass, sources: SourceTexts) -> Story:
    """A `backward()` on a value without a graph."""
    sheet = Sheet()
    cut = history.cuts[0] if history.cuts else None
    line = late.where.site.line if late.where is not None else None
    receiver = late.receiver or "this value"
    sheet.column("", "only", fails=True)
    event = None
    if cut is not None:
        place = sheet.lane(_lane(cut.site, sources, cut.name or shortened(cut.how, 20), role="empty"))
        whole = sheet.block(place, "fresh", "graph", facts=("what the value was computed from",))
        event = sheet.event(Event(0, "cut", cut.how, cut.site.line, (place,)))
        sheet.end(whole, event)
    same = cut is not None and cut.name == receiver
    holder = 0 if same else sheet.lane(Lane(receiver, "what backward is called on", line, role="empty"))
    ghost = sheet.block(holder, "ghost", "no graph", facts=("it has numbers, and no graph",))
    failing = sheet.event(Event(0, "late", pass_title(late, sources), line, facts=("there is no graph to go through",)))
    sheet.links.append(Link("reach", failing, ghost, misses=True))
    if cut is not None:
        sheet.say(f"Line {cut.site.line}: `{cut.how}` keeps the numbers and drops the graph.", "writes", event=event)
    sheet.say(f"After that, `{receiver}` is not connected to any parameter.", block=ghost)
    sheet.say(f"The `backward()`{_on(line)} has no graph to go through, and fails.", "fails", event=failing)
    moral = f"`{receiver}` has no graph" + (
        f": `{cut.how}` (line {cut.site.line}) dropped it" if cut is not None else ""
    )
    return sheet.story(moral)


def silent_story(history: History, found: Diagnosis, sources: SourceTexts) -> Story | None:
    """Drawn where the record holds what the finding wants changed: several findings may name one line."""
    site = found.primary.site
    name = found.bridge.name if found.bridge is not None else ""
    wanted = found.remedies[0].kind if found.remedies else ""
    kept = next((k for k in records(history) if k.name == name), None)
    if kept is not None:
        return _kept(history, kept, sources)
    idle = next((i for i in idle_optimizers(history) if i.site.same_lines(site)), None)
    if idle is not None:
        return _idle(history, idle, idle.cut, sources)
    loss = next((u for u in overwritten(history) if u.site.same_lines(site)), None)
    if loss is not None:
        return _overwritten_loss(loss, sources)
    runs = _passes_at(history, site)
    if wanted == "zero_grad" and len([run for run in runs if history.ledger.piled(run.id)]) > 1:
        return _piled(history, found, runs, sources)
    first = next((label.site for label in found.secondary if _passes_at(history, label.site)), None)
    if wanted == "remove_duplicate" and first is not None and runs:
        return _doubled(_passes_at(history, first), runs, sources)
    growing = growing_passes([run for run in runs if run.used is not None], FEW)[:SHOWN]
    if wanted == "detach_state" and growing:
        return _grows(growing, name, sources)
    if wanted == "remove_retain" and runs and all(run.retains_graph or run.creates_graph for run in runs):
        return _retained(runs, sources)
    return None


# One story each


def _kept(history: History, kept: Kept, sources: SourceTexts) -> Story:
    sheet = Sheet()
    runs = [run for run in _busiest(history) if not run.retains_graph] or _busiest(history)
    graph = sheet.lane(pass_lane(runs[0], sources)) if runs else None
    holder = sheet.lane(_lane(kept.site, sources, kept.name, role="kept"))
    held: list[int] = []
    passes: list[int] = []
    for last in sheet.rounds(kept.steps, HELD, "step" if runs else ""):
        run = runs[min(len(held) + 1, len(runs)) - 1] if runs else None
        if run is not None and graph is not None:
            block = sheet.block(graph, _after(run), pass_size(run), facts=pass_facts(run))
            passes.append(
                sheet.event(Event(0, "pass", pass_title(run, sources), _line(run), (graph,), facts=pass_facts(run)))
            )
            sheet.end(block, passes[-1])
        label = f"holds {kept.steps}" if last else "+ 1 graph"
        facts = (f"`{kept.name}` keeps the graph of this step reachable",)
        held.append(sheet.block(holder, "kept", label, facts=facts))
    for block in held:
        sheet.end(block, None)
    if passes:
        sheet.say("Each step builds a graph, and its `backward()` uses it.", "frees", event=passes[0])
    where = f" (line {kept.site.line})" if kept.site is not None else ""
    sheet.say(
        f"`{kept.name}` stores a tensor together with its graph{where}, so that graph stays in memory.",
        "bridge",
        block=held[0],
    )
    size = f" and {human(kept.bytes)} of saved values" if kept.bytes else ""
    sheet.say(
        f"It now holds the graphs of {counted(kept.steps, 'step')}: {counted(kept.nodes, 'node')}{size}, and grows.",
        "fails",
        block=held[-1],
    )
    moral = f"`{kept.name}` keeps the graph of every step in memory, though nothing uses them again"
    return sheet.story(moral, "the graph of every step stays in memory")


def _grows(runs: list[Pass], name: str, sources: SourceTexts) -> Story:
    sheet = Sheet()
    lane = sheet.lane(pass_lane(runs[0], sources))
    blocks, events = [], []
    for number, run in enumerate(runs):
        sheet.column(_step(run, number + 1))
        added = len((run.used or frozenset()) - (runs[number - 1].used or frozenset() if number else frozenset()))
        blocks.append(sheet.block(lane, "kept" if number + 1 < len(runs) else "fresh", counted(added, "node")))
        if number and name:
            sheet.links.append(Link("bridge", blocks[-2], blocks[-1], name))
        facts = (f"goes through {counted(len(run.used or ()), 'node')}", *_bytes(run))
        kind = "late" if run is runs[-1] else "pass"
        deed = counted(len(run.used or ()), "node")
        events.append(
            sheet.event(Event(0, kind, pass_title(run, sources), _line(run), (lane,), facts=facts, deed=deed))
        )
        oldest = next(n for n, other in enumerate(runs) if (other.used or frozenset()) & (run.used or frozenset()))
        if oldest < number:
            sheet.links.append(Link("reach", events[-1], blocks[oldest]))
    for block in blocks:
        sheet.end(block, None)
    sizes = [len(run.used or ()) for run in runs]
    sheet.say(
        f"The first of these `backward()` calls goes through {counted(sizes[0], 'node')}.",
        "frees",
        event=events[0],
    )
    sheet.say("The next step is still connected to them, so its `backward()` goes through them again.", "bridge",
               block=blocks[1])  # fmt: skip
    grown = ", ".join(f"{size:,}" for size in sizes)
    sheet.say(f"Each `backward()` goes further back than the previous one: {grown} nodes.", "fails",
               event=events[-1])  # fmt: skip
    return sheet.story("Each `backward()` goes through the graphs of all earlier steps again")


def _retained(runs: list[Pass], sources: SourceTexts) -> Story:
    sheet = Sheet()
    lane = sheet.lane(pass_lane(runs[0], sources))
    blocks, events = [], []
    for number, run in enumerate(runs[:3]):
        sheet.column(_step(run, number + 1))
        blocks.append(sheet.block(lane, "kept", pass_size(run), facts=pass_facts(run), bytes=run.bytes))
        events.append(
            sheet.event(
                Event(0, "pass", pass_title(run, sources), _line(run), (lane,), False, pass_facts(run), deed="keeps")
            )
        )
        if number:
            sheet.end(blocks[number - 1], events[number])
    sheet.end(blocks[-1], None)
    size = max(run.bytes for run in runs)
    cost = f" ({human(size)})" if size else ""
    sheet.say(f"The `backward()`{_on(_line(runs[0]))} keeps its graph (`retain_graph=True`).", "frees", event=events[0])
    sheet.say(f"So what it saved stays in memory{cost} until the next step replaces it.", "bridge", block=blocks[0])
    looked = sum(run.used is not None for run in runs)
    sheet.say(f"Nothing used it again in the {looked:,} steps that were looked at.", block=blocks[-1])
    return sheet.story(
        "The graph is kept after each `backward()`, and nothing uses it again", "kept, and never used again"
    )


def _overwritten_loss(loss: Overwritten, sources: SourceTexts) -> Story:
    sheet = Sheet()
    lane = sheet.lane(_lane(loss.site, sources, loss.name, role="bridge"))
    rounds = sheet.rounds(loss.times, SHOWN, "iteration")
    blocks = [sheet.block(lane, "fresh" if last else "unused", loss.name[:12]) for last in rounds]
    sheet.column("after the loop", "after")
    text = shortened(sources.excerpt(loss.used), 18)
    used = sheet.event(Event(0, "pass", text, loss.used.line, (lane,)))
    sheet.end(blocks[-1], used)
    sheet.say(f"Line {loss.site.line} builds a graph and gives `{loss.name}` a new value in each iteration.",
               block=blocks[0])  # fmt: skip
    dropped = counted(loss.times - 1, "graph")
    sheet.say(f"The next iteration overwrites it: {dropped} of {loss.times} dropped unused.", "fails",
               block=blocks[max(len(blocks) - 2, 0)])  # fmt: skip
    sheet.say(f"The `backward()` on line {loss.used.line} uses only the last one.", "frees", event=used)
    moral = f"Of {loss.times} values of `{loss.name}`, only the last one is used by a `backward()`"
    return sheet.story(moral, f"{loss.times - 1} of {loss.times} losses have no effect on training")


def _piled(history: History, found: Diagnosis, runs: list[Pass], sources: SourceTexts) -> Story:
    sheet = Sheet()
    name = found.bridge.name if found.bridge is not None else "grad"
    lane = sheet.lane(Lane(name, "what backward adds to", None, role="bridge"))
    blocks, events, steps = [], [], []
    start = next((n for n, run in enumerate(runs) if history.ledger.piled(run.id)), 1)
    shown = runs[max(start - 1, 0) : max(start - 1, 0) + 2]
    for number, run in enumerate(shown):
        sheet.column(_step(run, number + 1))
        events.append(sheet.event(Event(0, "pass", pass_title(run, sources), _line(run), (lane,))))
        old = "of this step" if number == 0 else "+ old ones"
        facts = ("the gradient of this step" + ("" if number == 0 else ", added to what was there"),)
        blocks.append(sheet.block(lane, "grad" if number == 0 else "piled", old, facts=facts))
        step = _step_between(history, run, runs)
        if step is not None:
            steps.append(sheet.event(Event(0, "step", f"{step.optimizer}.step()", _line(step), muted=True)))
    for block in blocks:
        sheet.end(block, None)
    sheet.say(
        f"The `backward()`{_on(_line(shown[0]))} adds this step's gradient to `{name}`.", "frees", event=events[0]
    )
    used = f"`{sheet.events[steps[0]].title}`" if steps else "An update"
    sheet.say(f"{used} uses it, and nothing clears it.", "bridge", event=steps[0] if steps else None)
    sheet.say("The next `backward()` adds to the old gradient: each update uses the sum of all steps so far.", "fails",
               block=blocks[-1])  # fmt: skip
    moral = f"`{name}` is never cleared, so every update repeats the gradients of all earlier steps"
    return sheet.story(moral, "old gradients are used again")


def _doubled(first: list[Pass], second: list[Pass], sources: SourceTexts) -> Story:
    sheet = Sheet()
    lane = sheet.lane(Lane("grad", "what backward adds to", None, role="bridge"))
    events, blocks = [], []
    for number, (one, two) in enumerate(list(zip(first, second, strict=False))[:1]):
        sheet.column(_step(two, number + 1))
        events.append(
            sheet.event(Event(0, "pass", pass_title(one, sources), _line(one), (lane,), not one.retains_graph))
        )
        blocks.append(sheet.block(lane, "grad", "counted 1×"))
        events.append(sheet.event(Event(0, "late", pass_title(two, sources), _line(two), (lane,))))
        blocks.append(sheet.block(lane, "piled", "counted 2×"))
        sheet.end(blocks[-2], events[-1])
    sheet.say(f"Line {_line(first[0])} adds the gradients of its loss.", "frees", event=events[0])
    sheet.say(f"Line {_line(second[0])} adds the gradients of the same loss again.", "fails", event=events[1])
    sheet.say("Nothing was cleared in between, so that part of the gradient counts twice.", "bridge", block=blocks[1])
    return sheet.story("The same loss is counted twice in one gradient", "the same loss counts twice")


def _idle(history: History, idle: Idle, cut: Cut | None, sources: SourceTexts) -> Story:
    sheet = Sheet()
    runs = _busiest(history)[:1]
    graph = sheet.lane(pass_lane(runs[0], sources)) if runs else None
    held = sheet.lane(Lane(idle.optimizer, f"holds {counted(idle.parameters, 'parameter')}", None, role="empty"))
    ghosts, steps = [], []
    for number in range(max(len(runs), 1)):
        sheet.column(_step(runs[number], number + 1) if runs else "")
        if runs and graph is not None:
            block = sheet.block(graph, _after(runs[number]), pass_size(runs[number]), facts=pass_facts(runs[number]))
            frees = not runs[number].retains_graph
            event = sheet.event(
                Event(0, "pass", pass_title(runs[number], sources), _line(runs[number]), (graph,), frees)
            )
            sheet.end(block, event)
        ghosts.append(sheet.block(held, "ghost", "no gradient", facts=("no `backward()` has reached them",)))
        steps.append(sheet.event(Event(0, "step", f"{idle.optimizer}.step()", idle.site.line)))
    where = f" `{cut.how}` on line {cut.site.line} disconnects them." if cut is not None else ""
    sheet.say(
        f"No `backward()` reaches {counted(idle.parameters, 'parameter')} of `{idle.optimizer}`.{where}",
        block=ghosts[0],
    )
    sheet.say(
        f"`{idle.optimizer}.step()` has run {idle.steps:,} times and changed none of them.", "fails", event=steps[-1]
    )
    return sheet.story(f"`{idle.optimizer}` holds parameters that no `backward()` reaches", "steps without gradients")


# Words and figures


def _passes_at(history: History, site: Site) -> list[Pass]:
    return [run for run in history.passes if run.where is not None and run.where.site.same_lines(site)]


def _busiest(history: History) -> list[Pass]:
    groups: dict[tuple[str, int], list[Pass]] = {}
    for run in history.passes:
        if run.where is not None:
            groups.setdefault((run.where.site.file, run.where.site.line), []).append(run)
    return max(groups.values(), key=len, default=[])


def _lane(site: Site | None, sources: SourceTexts, name: str, role: str) -> Lane:
    if site is None:
        return Lane(name, role=role)
    return Lane(name, sources.excerpt(site), site.line, site.file, role)


def pass_lane(run: Pass, sources: SourceTexts) -> Lane:
    assert run.where is not None
    site = run.where.site
    text = sources.excerpt(site)
    name = shortened(text.split(".backward(")[0], 22) if ".backward(" in text else "the graph"
    return Lane(name, text, site.line, site.file)


def pass_title(run: Pass, sources: SourceTexts) -> str:
    text = sources.excerpt(run.where.site).split("#")[0].strip() if run.where is not None else ""
    return call_title(text, "autograd.grad()" if run.call == "grad" else "backward()")


def call_title(text: str, otherwise: str = "backward()") -> str:
    """A call without its arguments, where that is short enough for a picture."""
    short = text.split(".backward(")[0] + ".backward()" if ".backward(" in text else ""
    return short if 0 < len(short) <= CALL and "=" not in short else otherwise


def _after(run: Pass) -> str:
    """What a pass leaves of its graph."""
    return "kept" if run.retains_graph else "done"


def pass_size(run: Pass) -> str:
    return counted(len(run.used), "node") if run.used else "a graph"


def _bytes(run: Pass) -> tuple[str, ...]:
    return (f"{human(run.bytes)} of saved values",) if run.bytes else ()


def pass_facts(run: Pass) -> tuple[str, ...]:
    used = (f"goes through {counted(len(run.used), 'node')}",) if run.used else ()
    kept = ("the graph is kept (retain_graph)",) if run.retains_graph else ("what it saved is freed",)
    return (*used, *_bytes(run), *kept)


def step_of_pass(run: Pass) -> str:
    iteration = run.where.innermost_iteration if run.where is not None else None
    return (iteration.cell or f"step {iteration.number}") if iteration is not None else ""


def _step(run: Pass, number: int) -> str:
    return step_of_pass(run) or f"step {number}"


def _step_between(history: History, run: Pass, runs: list[Pass]) -> Step | None:
    later = [other.moment for other in runs if other.moment > run.moment]
    until = min(later, default=run.moment + (1 << 62))
    return next(iter(history.steps_between(run.moment, until)), None)


def _line(event: Pass | Step) -> int | None:
    return event.where.site.line if event.where is not None else None


def _on(line: int | None) -> str:
    return f" on line {line}" if line is not None else ""
