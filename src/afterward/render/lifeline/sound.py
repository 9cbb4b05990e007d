"""The story of a run in which nothing went wrong: each pass uses a graph of its own, built when the last was over."""

from __future__ import annotations

import itertools

from afterward.model.clock import node_moment
from afterward.model.history import History, Pass
from afterward.render.lifeline.sheet import Sheet
from afterward.render.lifeline.silent import pass_facts, pass_lane, pass_size, pass_title, step_of_pass
from afterward.render.lifeline.story import Event, Story
from afterward.render.source import SourceTexts
from afterward.render.template import counted

STEPS, PASSES = 3, 4


def sound_story(history: History, sources: SourceTexts) -> Story | None:
    """From the first passes, where they were looked at; None where it is not as plain as that."""
    runs = [run for run in history.passes if run.used and run.where is not None and run.error is None][:PASSES]
    if len(runs) < 2 or any(run.retains_graph or run.creates_graph for run in runs) or not _in_iteration(runs):
        return None
    sheet = Sheet()
    lanes: dict[tuple[str, int], int] = {}
    shown: list[tuple[int, int, Pass]] = []
    for title, group in itertools.groupby(runs, step_of_pass):
        if len(sheet.columns) == STEPS:
            break
        sheet.column(title, "step" if title else "only")
        for run in group:
            assert run.where is not None
            site = run.where.site
            lane = lanes.setdefault((site.file, site.line), len(lanes))
            if lane == len(sheet.lanes):
                sheet.lane(pass_lane(run, sources))
            block = sheet.block(lane, "done", pass_size(run), facts=pass_facts(run))
            event = Event(0, "pass", pass_title(run, sources), site.line, (lane,), facts=pass_facts(run), deed="frees")
            used = sheet.event(event)
            sheet.end(block, used)
            shown.append((block, used, run))
    _say(sheet, shown)
    return sheet.story("Each `backward()` uses a graph of its own and frees it")


def _say(sheet: Sheet, shown: list[tuple[int, int, Pass]]) -> None:
    (_, used, first), (built, _, second) = shown[:2]
    size = counted(len(first.used or ()), "node")
    sheet.say(f"The first `backward()` uses the {size} of its forward pass and frees them.", event=used)
    fresh = counted(len(second.used or ()), "node")
    sheet.say(f"The next forward pass builds {fresh} again.", "frees", block=built)
    last = shown[-1][1]
    sheet.say("No two of them share a node, so each `backward()` has the graph that it needs.", "frees", event=last)


def _in_iteration(runs: list[Pass]) -> bool:
    """Was each graph built when the pass before it was over? Then they have nothing in common, either."""
    return all(node_moment(min(run.used or (0,))) > before.moment for before, run in itertools.pairwise(runs))
