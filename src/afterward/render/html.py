"""The report as one page: no network, no files beside it, nothing in it but text, pictures and one known script."""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from typing import Any

import afterward
from afterward.model.diagnosis import Diagnosis, Report
from afterward.model.history import History
from afterward.model.saved import SavedRun
from afterward.render.counter import step_of
from afterward.render.html_account import account_html
from afterward.render.html_graph import graph_data
from afterward.render.html_memory import memory_html, watched_html
from afterward.render.html_source import answer_html, notes_html, prose, remedies_html, source_html, text
from afterward.render.html_time import time_html
from afterward.render.lifeline import sound_picture, story_of
from afterward.render.lifeline.draw import as_svg, legend_of
from afterward.render.lifeline.story import Block, Event, Story
from afterward.render.paths import shown
from afterward.render.source import SourceTexts, shortened, visible, without_ticks
from afterward.render.template import capital, counted
from afterward.render.wording import headline

MOST = 50  # findings in one page


def as_html(run: SavedRun) -> str:
    """The whole page."""
    sources = SourceTexts(run.sources)
    articles, data = [], []
    distinct = _distinct(run.report.findings)
    shown = list(distinct)[:MOST]
    histories = [run.history_of(number) for number in shown]
    for place, number in enumerate(shown):
        last = place + 1 == len(shown) or histories[place + 1] is not histories[place]  # they may share a history
        found = run.report.findings[number]
        article, about = _article(place, found, histories[place], sources, times=distinct[number], with_memory=last)
        articles.append(article)
        data.append(about)
    body = "".join(articles) or _nothing(run, sources)
    style, script = asset("page.css") + asset("lifeline.css"), asset("page.js")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(style, script)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f'<meta name="generator" content="afterward {afterward.__version__}">\n'
        f"<title>{text(_title(run.report))}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f'<a class="skip-link" href="#finding-1">To the first finding</a>\n{_header(run.report)}'
        f"<main>{_contents(run.report, sources)}{body}{account_html(run.report.memory, sources)}</main>\n"
        f"{_footer(run.report)}"
        f'<script type="application/json" id="afterward-data">{_json({"findings": data})}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def _distinct(findings: Sequence[Diagnosis]) -> dict[int, int]:
    """The numbers of the findings that differ, and how often each was made: a loop may catch an error many times."""
    first: dict[object, int] = {}
    times: dict[int, int] = {}
    for number, found in enumerate(findings):
        site = found.primary.site
        key = (found.code, headline(found), site.file, site.line, found.caught)
        number = first.setdefault(key if found.caught else number, number)
        times[number] = times.get(number, 0) + 1
    return times


@lru_cache(maxsize=8)
def asset(name: str) -> str:
    """A built file of the page. It goes into the page as it is, so that its sum in the policy holds."""
    return resources.files("afterward.render").joinpath(f"assets/{name}").read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Nothing is loaded from anywhere, and no script runs but ours, whatever the page's texts contain."""
    return (
        f"default-src 'none'; style-src '{_sum(style)}'; script-src '{_sum(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _sum(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode("utf-8")).digest()).decode("ascii")


def _json(data: Any) -> str:
    """JSON in which no character can end the element that holds it."""
    plain = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return plain.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


# The frame


def _title(report: Report) -> str:
    program = shown(report.argv[0]) if report.argv else "a program"
    if not report.findings:
        return f"afterward: {program}"
    first = report.findings[0]
    return f"{first.code} {headline(first)} ({program})"


def _header(report: Report) -> str:
    ran = [f"torch {report.torch}" if report.torch else "", f"exit {report.exit}" if report.exit is not None else ""]
    return (
        f'<header><span class="brand">afterward</span><span class="program">{text(" ".join(report.argv))}</span>'
        f'<span class="ran">{text(" · ".join(part for part in ran if part))}</span>'
        '<button type="button" data-theme-button hidden aria-pressed="false">Light / dark</button></header>\n'
    )


def _contents(report: Report, sources: SourceTexts) -> str:
    if len(report.findings) < 2:
        return ""
    items = "".join(
        f'<li><a href="#finding-{number}">{text(found.code)} {prose(headline(found))}</a> '
        f"<small>{_place(found, sources)}</small></li>"
        for number, found in enumerate((report.findings[n] for n in list(_distinct(report.findings))[:MOST]), 1)
    )
    return f'<nav class="findings" aria-label="Findings"><ol>{items}</ol></nav>'


def _footer(report: Report) -> str:
    gaps = ""
    if report.gaps:
        items = "".join(f"<li>{text(gap)}</li>" for gap in report.gaps)
        gaps = f"<p>Not seen:</p><ul>{items}</ul>"
    summary = f"<p>{text(report.summary)}</p>" if report.summary and report.findings else ""
    return f"<footer>{summary}{gaps}<p><small>afterward {afterward.__version__}</small></p></footer>\n"


def _place(found: Diagnosis, sources: SourceTexts) -> str:
    site = found.primary.site
    return text(f"{shown(site.file)}:{site.line}:{site.column + 1}") + prose(step_of(site, sources.text))


def _nothing(run: SavedRun, sources: SourceTexts) -> str:
    """The page of a run in which nothing is wrong, or in which there was nothing to see."""
    if not any(chapter.history.passes for chapter in run.chapters):
        return (
            '<article id="finding-1"><h1 class="info">No backward pass was seen</h1>'
            '<p class="why">There was no graph to follow, so nothing is said about this run.</p></article>'
        )
    watched = "".join(watched_html(chapter.history, sources) for chapter in run.chapters)
    costs = "".join(
        time_html(chapter.history, sources) + memory_html(chapter.history, sources) for chapter in run.chapters
    )
    summary = f"<p>{text(capital(run.report.summary))}.</p>" if run.report.summary else ""
    story = sound_picture(run)
    drawn = _picture(story, 0) if story is not None else ""
    return (
        '<article id="finding-1"><h1 class="info">No problems found</h1>'
        f'<p class="fine">\u2713 Every backward pass had the graph it needed.</p>{summary}'
        f"{watched}{drawn}{costs}</article>"
    )


# One finding


def _article(
    number: int,
    found: Diagnosis,
    history: History | None,
    sources: SourceTexts,
    *,
    times: int,
    with_memory: bool,
) -> tuple[str, dict[str, Any]]:
    story = story_of(history, found, sources) if history is not None else None
    graph = graph_data(history, sources) if history is not None else None
    caught = f" (caught by the program{f', {times:,} times' if times > 1 else ''})" if found.caught else ""
    parts = [
        f'<article id="finding-{number + 1}" class="{found.severity.value}" tabindex="-1">'
        f'<h1 class="{found.severity.value}"><span class="code">{text(found.code)}</span>'
        f"{prose(capital(headline(found)))}{caught}</h1>"
        f'<p class="at">{_place(found, sources)}</p>',
        answer_html(found),
        _picture(story, number) if story is not None else "",
        f'<section aria-label="In the source"><h2>In the source</h2>{source_html(found, sources)}{notes_html(found)}'
        "</section>",
        remedies_html(found),
        _graph_place(graph) if graph is not None else "",
        memory_html(history, sources) if history is not None and with_memory else "",
        "</article>",
    ]
    about: dict[str, Any] = {"graph": graph}
    if story is not None and history is not None:
        about["story"] = _story_data(story, history, sources)
    return "".join(parts), about


def _picture(story: Story, number: int) -> str:
    drawn = as_svg(story, name=f"life{number + 1}", alone=False)
    beats = "".join(
        f'<li data-beat="{place}"><span class="number {beat.tone}" aria-hidden="true">{place}</span>'
        f"<span>{prose(beat.text)}</span></li>"
        for place, beat in enumerate(story.beats, 1)
    )
    keys = "".join(f'<span><i class="{state}"></i>{words}</span>' for state, words in legend_of(story))
    return (
        '<section class="life" aria-label="Life line">'
        '<p class="swipe" aria-hidden="true">it goes on to the right \u2192</p>'
        f'<figure class="stage">{drawn}</figure><p class="keys">{keys}</p>'
        f'<ol class="beats">{beats}</ol>'
        '<div class="time" data-time hidden><button type="button">Play</button>'
        '<input type="range" min="0" value="0" step="1" aria-label="Time"><output></output>'
        '<small class="asks">Keys: Tab to the picture, ← → through time, Enter for the lines</small></div>'
        '<div class="detail" data-detail hidden aria-live="polite"></div></section>'
    )


def _graph_place(graph: dict[str, Any]) -> str:
    states = {box["state"] for box in graph["boxes"]}
    keys = ['<span><i class="fresh"></i>in memory</span>'] if "fresh" in states else []
    keys += ['<span><i class="dead"></i>freed by an earlier backward</span>'] if states & {"dead", "used"} else []
    keys += ['<span><i class="spoilt"></i>overwritten</span>'] if "spoilt" in states else []
    keys += (
        ['<span><i class="bridge"></i>link to the old graph</span>'] if any(edge[3] for edge in graph["edges"]) else []
    )
    boxes = len(graph["boxes"])
    folded = f"{counted(graph['total'], 'node')} in {boxes} {'box' if boxes == 1 else 'boxes'}"
    return (
        f'<section class="graph-place" data-graph hidden aria-label="The graph"><h2>The graph, line by line '
        f'<small>{folded}<span class="asks">; open a line to see its nodes</span></small></h2>'
        f'<div class="graph-bar" data-graph-bar><div class="keys">{"".join(keys)}</div></div>'
        '<div class="canvas" data-canvas></div></section>'
    )


# What the script knows about the life line


def _story_data(story: Story, history: History, sources: SourceTexts) -> dict[str, Any]:
    moments = [""] * story.slots
    for block in story.blocks:
        moments[block.slot] = " ".join(part for part in (block.step, story.lanes[block.lane].name) if part)
    for event in story.events:
        moments[event.slot] = event.title
    return {
        "slots": story.slots,
        "moments": [visible(moment) for moment in moments],
        "blocks": [_block_data(story, block, history, sources) for block in story.blocks],
        "events": [_event_data(event) for event in story.events],
        "beats": [{"block": beat.block, "event": beat.event} for beat in story.beats],
    }


def _block_data(story: Story, block: Block, history: History, sources: SourceTexts) -> dict[str, Any]:
    lane = story.lanes[block.lane]
    counts: Counter[tuple[str, int]] = Counter()
    for number in block.nodes:
        where = history.node(number).where
        if where is not None:
            counts[where.site.file, where.site.line] += 1
    lines = [
        [line, visible(shortened(sources.line(file, line).strip(), 90)), counts[file, line]]
        for file, line in sorted(counts)[:40]
    ]
    title = lane.name + (f", {block.step}" if block.step else "")
    facts = [visible(without_ticks(fact)) for fact in block.facts]
    return {"title": visible(title), "facts": facts, "lines": lines, "step": block.step}


def _event_data(event: Event) -> dict[str, Any]:
    where = f", line {event.line}" if event.line is not None else ""
    return {"title": visible(event.title + where), "facts": [visible(without_ticks(fact)) for fact in event.facts]}
