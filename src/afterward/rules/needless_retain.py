"""AFT303: `retain_graph=True` or `create_graph=True` that no later backward uses."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model import facts
from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Remedy, Severity
from afterward.model.facts import Fact
from afterward.model.history import History, Pass
from afterward.model.site import Site
from afterward.model.words import Words
from afterward.rules._built import graph_is_used, left_out
from afterward.rules._often import AGAIN
from afterward.rules._registry import rule
from afterward.rules._silent import flat_parts, passes_by_site, site_of, warning


@rule("AFT303", Severity.WARNING, breaks=3)
def needless_retain(history: History) -> Iterator[Diagnosis]:
    """A graph is kept with `retain_graph=True`, or made with `create_graph=True`, and no later `backward()` uses it."""
    if _some_not_looked_at(history):
        return
    # AFT407: it should keep more, not less
    wanting = {(part.taken.file, part.taken.line) for part in flat_parts(history)}
    # AFT304: the loss that it is kept for is there, and forgotten
    wanting |= {(part.kept_by.file, part.kept_by.line) for part in left_out(history) if part.kept_by is not None}
    for runs in passes_by_site(history):
        site = site_of(runs[0])
        if (site.file, site.line) in wanting:
            continue
        kept = [run for run in runs if (run.retains_graph or run.creates_graph) and not run.by_library]
        if len(kept) != len(runs) or not kept or len({run.creates_graph for run in kept}) > 1:
            continue
        judged = [used for run in kept if (used := _used(history, run, runs)) is not None]
        if len(judged) >= AGAIN and not any(judged):
            yield _diagnose(kept)


def is_needed(history: History, place: Site) -> bool:
    """Does a run speak against a finding at a place: does a later pass of it use what was kept there? Fewer passes than
    the rule asks for say nothing."""
    here = [run for runs in passes_by_site(history) for run in runs if site_of(runs[0]).same_lines(place)]
    if _some_not_looked_at(history) or not all(run.retains_graph or run.creates_graph for run in here):
        return True
    return any(_used(history, run, here) for run in here)


def _some_not_looked_at(history: History) -> bool:
    """Is there a place whose passes could not be looked at? Any of them may have walked a kept graph."""
    places: dict[tuple[str, int], bool] = {}
    for run in history.passes:
        if run.where is not None:
            key = (run.where.site.file, run.where.site.line)
            places[key] = places.get(key, False) or run.used is not None
    return not all(places.values())


def _used(history: History, run: Pass, runs: list[Pass]) -> bool | None:
    """Did a pass after this one use the kept graph, or the one it made? None: not known."""
    after = [other for other in runs if other.moment > run.moment]
    if not after or after[0].window != run.window:
        return None
    if run.creates_graph and not run.created:
        return None
    return graph_is_used(history, run)


def _diagnose(kept: list[Pass]) -> Diagnosis:
    site = site_of(kept[0])
    word = "create_graph" if kept[0].creates_graph else "retain_graph"
    size = max(run.bytes for run in kept)
    nodes = max(len(run.used or ()) for run in kept)
    made = max((run.created[1] - run.created[0] for run in kept if len(run.created) == 2), default=0)
    flag = facts.code("flag", f"{word}=True")
    return warning(
        site,
        flag,
        facts.count("nodes", nodes, "node"),
        facts.size("bytes", size),
        facts.count("made", made or None, "more node"),
        facts.count("times", len(kept), "call"),
        *_held(kept),
        remedy=Remedy("remove_retain", Effect.SAME_GRADIENTS, "", site, word, facts=(flag,)),
        bridge=Bridge(word, "expression"),
        nodes=nodes,
        size=size,
        freed=site,
    )


def _held(kept: list[Pass]) -> tuple[Fact, ...]:
    """Whether the loss, and so the graph, was still there at the end."""
    still = sum(run.still_held for run in kept)
    return (facts.count("still_held", still or None),)


WORDS = Words(
    fault="a graph is kept that no later `backward()` uses",
    headline="{flag} keeps a graph that no later `backward()` uses",
    why="<In the {times} that were looked at, nothing used><!times:Nothing uses> the kept graph again. Keeping "
    "it holds the saved values until the loss is overwritten or dropped; without {flag} they are freed at once."
    "<?still_held: Here it was still held when the run ended.>",
    labels={
        "fault": "keeps <{nodes}><!nodes:a graph>< ({bytes})> that no later `backward()` [used|uses]<, and "
        "builds {made}>",
    },
)
