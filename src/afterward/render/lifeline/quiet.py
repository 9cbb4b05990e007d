"""More stories of faults that raise nothing: work and gradients that nothing uses; and the plainest."""

from __future__ import annotations

from dataclasses import replace

from afterward.model.diagnosis import Diagnosis, Severity
from afterward.model.gradients import BY_HAND
from afterward.model.history import History, Leaf, Pass, Step
from afterward.model.site import Site
from afterward.render.lifeline.sheet import Sheet
from afterward.render.lifeline.silent import call_title
from afterward.render.lifeline.story import Block, Event, Lane, Link, Story
from afterward.render.lifeline.ways import ending
from afterward.render.source import SourceTexts, shortened
from afterward.render.template import counted
from afterward.render.wording import said
from afterward.rules._built import LeftOut, Unused, left_out, unused
from afterward.rules._silent import FlatPart, flat_parts

ITERATIONS = 3  # of a loop, drawn one by one


def quiet_story(history: History, found: Diagnosis, sources: SourceTexts) -> Story | None:
    """By the records that name the finding's own place; None where none does."""
    site = found.primary.site
    stepped = _stepped(history, found, sources)
    if stepped is not None:
        return stepped
    for left in left_out(history):
        if left.site.same_lines(site) or left.used.same_lines(site):
            return _left_out(left, sources)
    for flat in flat_parts(history):
        if flat.site.same_lines(site):
            return _flat(flat, sources)
    for one in unused(history):
        if one.site.same_lines(site):
            return _unused(one, history.built.nodes, sources)
    for empty in (one for one in history.ledger.empty if one.step != BY_HAND):
        step = history.step(empty.step)
        here = [one for one in (empty.cleared, _site_of(step)) if one is not None and one.same_lines(site)]
        if empty.lost and here:
            return _zeroed(step, empty.cleared, _site_of(history.run(empty.lost[-1])), sources)
    runs = [run for run in history.passes if (spot := _site_of(run)) is not None and spot.same_lines(site)]
    reached = {leaf for run in runs for leaf in run.reached}
    leaves = [leaf for leaf in history.leaves if leaf.id in reached]
    if leaves and all(leaf.unchanged for leaf in leaves):
        return _unheld(leaves, site, len(runs), sources)
    return None


_IN_A_WORD = {"made": "computed", "stored": "stored", "cut": "cut off", "fault": "fails here"}


def plain_story(found: Diagnosis, sources: SourceTexts) -> Story:
    """What every finding has: its labelled places, in the order of their lines; an error comes after what led to it."""
    sheet = Sheet()
    words = said(found)
    raised = found.severity is Severity.ERROR
    step = found.primary.site.step
    sheet.column(
        (f"step {step}" if step is not None else "the program") if raised else "", "step" if raised else "only"
    )
    sheet.columns[-1] = replace(sheet.columns[-1], fails=raised)
    roles = {id(said_of): label.role for said_of, label in zip(words.secondary, found.secondary, strict=True)}
    labels = sorted((words.primary, *words.secondary), key=lambda label: (label.site.file, label.site.line))
    for label in sorted(labels, key=lambda label: raised and label is words.primary):
        lane = sheet.lane(_lane(label.site, sources, sources.named(label.site)))
        main = label is words.primary
        role = _IN_A_WORD.get(roles.get(id(label), found.primary.role)) if raised else None
        state = "main" if main else "place"
        block = sheet.block(lane, state, role or f"line {label.site.line}", facts=(label.text,))
        text = label.text[:1].upper() + label.text[1:]
        sheet.say(f"Line {label.site.line}: {text}.", "fails" if main else "plain", block=block)
    if raised and found.bridge is not None:
        last = len(sheet.blocks) - 1
        sheet.links += [Link("bridge", n, n + 1, found.bridge.name if n + 1 == last else "") for n in range(last)]
    return sheet.story(words.headline)


def _stepped(history: History, found: Diagnosis, sources: SourceTexts) -> Story | None:
    """A pass through a forward pass whose parameters an optimizer has changed since, though nothing failed."""
    site = found.primary.site
    run = next((p for p in history.passes if p.stale and p.where is not None and p.where.site.same_lines(site)), None)
    steps = [
        s for s in history.steps if s.where is not None and s.leaves & (run.stale if run is not None else frozenset())
    ]
    between = [s for s in steps if any(s.where and s.where.site.same_lines(label.site) for label in found.secondary)]
    if run is None or not between or between[0].where is None:
        return None
    step, line = between[0], between[0].where.site.line
    names = sorted(history.leaf(leaf).name for leaf in run.stale)
    name = next((one for one in names if one), "parameters")
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    sheet = Sheet()
    sheet.column("", "only")  # the forward pass may lie in an earlier step
    graph = sheet.lane(_lane(site, sources, _receiver(site, sources)))
    written = sheet.lane(Lane(name, f"a parameter{more}", None, role="written"))
    used = sheet.block(graph, "fresh", "forward", facts=(f"computed with the values of `{name}` at that time",))
    before = sheet.block(written, "value", "as used")
    event = sheet.event(Event(0, "write", f"{step.optimizer}.step()", line, deed="changes it"))
    sheet.end(before, event)
    sheet.blocks.append(Block(written, sheet.events[event].slot, "changed", label="changed"))
    late = sheet.event(Event(0, "late", _call(site, sources), site.line, (graph,), deed="too late"))
    sheet.end(used, late)
    sheet.say(f"The forward pass computes with `{name}`{more}.", block=used)
    sheet.say(f"`{step.optimizer}.step()` on line {line} changes it.", "writes", event=event)
    mixed = bool(run.overwritten & step.leaves)  # what the graph had saved is gone, and nothing fails
    uses = "uses the new values with the old graph" if mixed else "goes through the graph of the old values"
    sheet.say(f"The `backward()` on line {site.line} {uses}.", "fails", event=late)
    fault = "old graph, new values" if mixed else "its values were changed before this backward"
    return sheet.story(f"`{step.optimizer}.step()` runs between a forward pass and its `backward()`", fault)


def _receiver(site: Site, sources: SourceTexts) -> str:
    text = sources.excerpt(site)
    return text.split(".backward(")[0] if ".backward(" in text else ""


def _left_out(left: LeftOut, sources: SourceTexts) -> Story:
    sheet = Sheet()
    sheet.column("", "only")
    part = sheet.lane(_lane(left.site, sources, left.name, "bridge"))
    other = sheet.lane(Lane(left.used_part or "the rest", "the part that has a backward", left.used.line))
    lost = sheet.block(
        part, "unused", counted(left.nodes, "node"), bytes=left.bytes, facts=("no `backward()` uses it",)
    )
    kept = sheet.block(other, "done", "used")
    used = sheet.event(Event(0, "pass", _call(left.used, sources), left.used.line, (other,)))
    sheet.end(kept, used)
    sheet.say(f"Line {left.site.line} builds the graph of `{left.name}`.", block=lost)
    sheet.say(f"The `backward()` on line {left.used.line} uses `{left.used_part or 'the rest'}`.", "frees", event=used)
    missing = counted(left.parameters, "parameter")
    sheet.say(f"Nothing uses `{left.name}`: {missing} get no gradient from it.", "fails", block=lost)
    return sheet.story(f"`{left.name}` has a graph of its own, and no `backward()` uses it", "no backward uses it")


def _flat(flat: FlatPart, sources: SourceTexts) -> Story:
    sheet = Sheet()
    sheet.column("", "only")
    part = sheet.lane(Lane(flat.name, "plain numbers", flat.taken.line, role="bridge"))
    rest = sheet.lane(_lane(flat.site, sources, _receiver(flat.used, sources) or "the loss"))
    taken = sheet.event(Event(0, "pass", "autograd.grad", flat.taken.line, (), deed="numbers only"))
    bare = sheet.block(part, "ghost", "no graph", facts=("not connected to any parameter", "no effect on training"))
    built = sheet.block(rest, "done", "its graph", facts=(f"`{flat.name}` is no part of it",))
    skips = f"skips {ending(flat.name)}"
    used = sheet.event(Event(0, "pass", _call(flat.used, sources), flat.used.line, (rest,), deed=skips))
    sheet.end(built, used)
    sheet.say(f"The `autograd.grad` on line {flat.taken.line} returns plain numbers.", "frees", event=taken)
    sheet.say(f"`{flat.name}` is computed from them, and line {flat.site.line} adds it to the loss.", block=bare)
    sheet.say(f"The `backward()` on line {flat.used.line} uses the rest: `{flat.name}` has no effect.", "fails",
               event=used)  # fmt: skip
    fault = f"{ending(flat.name)} has no effect on training"
    return sheet.story(f"`{flat.name}` is added to the loss, and has no graph", fault)


def _unused(unused: Unused, recorded: int, sources: SourceTexts) -> Story:
    sheet = Sheet()
    lane = sheet.lane(_lane(unused.site, sources, sources.named(unused.site) or "this line", "bridge"))
    each = unused.nodes // max(unused.times, 1)
    rounds = sheet.rounds(unused.times, ITERATIONS, "time")
    blocks = [sheet.block(lane, "unused", counted(each, "node") if each else "a graph") for _ in rounds]
    sheet.say(f"Line {unused.site.line} builds a graph each time it runs.", block=blocks[0])
    sheet.say(f"Nothing uses it: {counted(unused.nodes, 'node')} of {recorded:,} recorded.", "fails",
               block=blocks[-1])  # fmt: skip
    return sheet.story(
        f"Line {unused.site.line} builds graphs that no `backward()` ever uses", "never used by a backward"
    )


def _site_of(event: Step | Pass) -> Site | None:
    return event.where.site if event.where is not None else None


def _zeroed(stepped: Step, cleared: Site | None, produced: Site | None, sources: SourceTexts) -> Story:
    sheet = Sheet()
    sheet.column("", "only")
    lane = sheet.lane(Lane("gradients", f"of {stepped.optimizer}", None, role="bridge"))
    call = _call(produced, sources) if produced is not None else "backward()"
    used = sheet.event(Event(0, "pass", call, produced.line if produced is not None else None, (lane,)))
    made = sheet.block(lane, "grad", "gradient")
    line = cleared.line if cleared is not None else None
    wiped = sheet.event(Event(0, "write", "zeroed", line))
    sheet.end(made, wiped)
    sheet.block(lane, "ghost", "zero")
    site = _site_of(stepped)
    step = sheet.event(Event(0, "step", f"{stepped.optimizer}.step()", site.line if site is not None else None))
    on = f" on line {produced.line}" if produced is not None else ""
    sheet.say(f"The `backward()`{on} fills the gradients.", "frees", event=used)
    sheet.say(f"{f'Line {line} clears' if line is not None else 'Something clears'} them before the step.", "writes",
               event=wiped)  # fmt: skip
    sheet.say(f"`{stepped.optimizer}.step()` has no gradients to use.", "fails", event=step)
    return sheet.story(f"`{stepped.optimizer}.step()` runs after its gradients were cleared", "cleared before the step")


def _unheld(leaves: list[Leaf], site: Site, passes: int, sources: SourceTexts) -> Story:
    sheet = Sheet()
    sheet.column("", "only")
    name = next(iter(sorted(leaf.name for leaf in leaves if leaf.name)), "parameters")
    lane = sheet.lane(Lane(name, counted(len(leaves), "parameter"), None, role="bridge"))
    used = sheet.event(Event(0, "pass", _call(site, sources), site.line, (lane,)))
    sheet.block(lane, "grad", "gradient")
    unstepped = sheet.block(lane, "ghost", "no step")
    sheet.say(f"The `backward()` on line {site.line} gives these parameters gradients.", "frees", event=used)
    sheet.say(f"No optimizer holds them: nothing changed them in {passes:,} steps.", "fails", block=unstepped)
    return sheet.story(f"`{name}` gets gradients, but no optimizer holds it", "no optimizer uses them")


def _lane(site: Site, sources: SourceTexts, name: str, role: str = "value") -> Lane:
    return Lane(name or shortened(sources.excerpt(site), 20), sources.excerpt(site), site.line, site.file, role)


def _call(site: Site, sources: SourceTexts) -> str:
    return call_title(sources.excerpt(site).split("#")[0].strip())
