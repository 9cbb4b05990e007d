"""The story of a batch that goes through a network row by row (AFT306)."""

from __future__ import annotations

from afterward.model.diagnosis import Diagnosis
from afterward.model.history import History, Pass, Rows
from afterward.render.lifeline.sheet import Sheet
from afterward.render.lifeline.silent import call_title
from afterward.render.lifeline.story import Event, Lane, Story
from afterward.render.source import SourceTexts

FIRST = 2  # iterations drawn, beside the last


def rows_story(history: History, found: Diagnosis, sources: SourceTexts) -> Story | None:
    """Drawn where a batch is the cure, and the record holds who took the rows."""
    if not found.remedies or found.remedies[0].kind != "batch_samples":
        return None
    taken = ((run, run.rows) for run in history.passes if run.rows is not None)
    return next((_drawn(found, run, rows, sources) for run, rows in taken if rows.site == found.remedies[0].site), None)


def _drawn(found: Diagnosis, run: Pass, rows: Rows, sources: SourceTexts) -> Story:
    """The iterations as columns: in each one row, and its own `backward()` where it has one."""
    times = next(int(fact.number or 0) for fact in found.facts if fact.name == "times")
    together = len(rows.at) > 1  # one backward after all of them
    sheet = Sheet()
    lane = sheet.lane(
        Lane(rows.name or "the rows", sources.excerpt(rows.site), rows.site.line, rows.site.file, "bridge")
    )
    blocks, events = [], []
    for number in (*range(1, FIRST + 1), times):
        if number == times:
            sheet.column(f"{times - FIRST - 1:,} more", "gap")
        sheet.column(f"iteration {number:,}")
        blocks.append(sheet.block(lane, "main", "1 row", facts=(f"one of {rows.of:,} rows that lie in one tensor",)))
        if not together:
            events.append(sheet.event(_backward(found, run, lane, sources)))
            sheet.end(blocks[-1], events[-1])
    if together:
        sheet.column("after the loop", "after")
        events.append(sheet.event(_backward(found, run, lane, sources)))
        for block in blocks:
            sheet.end(block, events[0])
    sheet.say(f"Line {rows.site.line} takes 1 of {rows.of:,} rows, though the model takes them all.", "bridge",
               block=blocks[0])  # fmt: skip
    sheet.say(f"So the forward pass runs {times:,} times, once for each row.", "fails", block=blocks[-1])
    each = "goes through the graphs of all of them" if together else "runs as often"
    sheet.say(f"The `backward()` on line {_line(found, run)} {each}.", "frees", event=events[-1])
    moral = f"{times:,} iterations with 1 row each, where one call of the model takes many rows"
    return sheet.story(moral, f"one row at a time: {times:,} forward passes")


def _backward(found: Diagnosis, run: Pass, lane: int, sources: SourceTexts) -> Event:
    text = sources.excerpt(found.freed).split("#")[0].strip() if found.freed is not None else ""
    return Event(0, "pass", call_title(text), _line(found, run), (lane,))


def _line(found: Diagnosis, run: Pass) -> int | None:
    if found.freed is not None:
        return found.freed.line
    return run.where.site.line if run.where is not None else None
