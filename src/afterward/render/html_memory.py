"""Memory, as far as the record shows it: saved values as each pass began, and by the line that made them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from afterward.model.figures import human, percent
from afterward.model.history import History, Pass
from afterward.model.reuse import find_reuse
from afterward.render.html_source import prose, text
from afterward.render.html_table import bar_html, code_html, place_html, row_html, table_html
from afterward.render.lifeline.timing import old_part
from afterward.render.sizes import saved_sizes
from afterward.render.source import SourceTexts
from afterward.render.template import counted
from afterward.rules._kept import records

PASSES = 60
LABELLED = 14  # as many have a label each
LINES = 12
WATCHED = ("line", "call", "times", "nodes", "saved values", "its graph")
WIDTH, HEIGHT, LEFT, FLOOR, ROOF = 960, 190, 70, 150, 18


def memory_html(history: History, sources: SourceTexts) -> str:
    parts = [held(history), over_time(history), by_line(history, sources) or largest(history, sources)]
    if not any(parts):
        return ""
    return f'<section class="memory" aria-label="Memory"><h2>Memory</h2>{"".join(parts)}</section>'


def watched_html(history: History, sources: SourceTexts) -> str:
    """What was watched: each line that calls backward, how often, what its graph had, what became of it."""
    calls: dict[tuple[str, int], list[Pass]] = {}
    for run in history.passes:
        if run.where is not None:
            calls.setdefault((run.where.site.file, run.where.site.line), []).append(run)
    forgotten = _in_all(history.passes) - len(history.passes)
    rows = "".join(
        _watched(file, line, runs, forgotten, len(calls), sources) for (file, line), runs in sorted(calls.items())
    )
    heads = "".join(f"<th>{head}</th>" for head in WATCHED)
    return f'<table class="facts"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>' if rows else ""


def _in_all(passes: Sequence[Pass]) -> int:
    """How many passes there were, those that are forgotten too."""
    counts = {call: max(run.count for run in passes if run.call == call) for call in {run.call for run in passes}}
    return max(sum(counts.values()), len(passes))


def _watched(file: str, line: int, runs: list[Pass], forgotten: int, lines: int, sources: SourceTexts) -> str:
    # Which line the passes of a long run were of that are forgotten is not known, unless there is but one.
    times = f"{len(runs) + forgotten:,}" if lines == 1 else f"{len(runs):,}{' or more' if forgotten else ''}"
    nodes = max(run.nodes or len(run.used or ()) for run in runs)
    size = max(run.bytes for run in runs)
    kept = sum(run.retains_graph for run in runs)
    fate = "freed each time" if not kept else "kept each time" if kept == len(runs) else f"kept {kept:,} times"
    facts = (times, f"{nodes:,}" if nodes else "", human(size) if size else "", fate)
    cells = "".join(f'<td data-head="{head}">{text(fact)}</td>' for head, fact in zip(WATCHED[2:], facts, strict=True))
    return f"<tr><td>{place_html(file, line)}</td><td>{code_html(file, line, sources, 60)}</td>{cells}</tr>"


# What a record holds


def held(history: History) -> str:
    """A record that keeps every step's graph: what it holds rises from step to step."""
    kept = max(records(history), key=lambda one: one.nodes, default=None)
    if kept is None:
        return ""
    each = f"{kept.nodes // max(kept.steps, 1):,} more in each step"
    size = f", {human(kept.bytes)} of saved values" if kept.bytes else ""
    words = f"`{kept.name}` holds {counted(kept.nodes, 'node')}{size} after {counted(kept.steps, 'step')}: {each}."
    scale = "".join(
        f'<path class="grid" d="M{LEFT} {_y(part, 1):.1f}H{WIDTH - 10}"/>'
        f'<text class="scale" x="{LEFT - 8}" y="{_y(part, 1) + 4:.1f}">{int(part * kept.nodes):,}</text>'
        for part in (0.0, 0.5, 1.0)
    )
    end = WIDTH - 20
    ends = ((LEFT, 1), (end - 20, kept.steps))
    marks = "".join(f'<text x="{x}" y="{FLOOR + 18}">step {step:,}</text>' for x, step in ends)
    return (
        f'<figure class="chart"><figcaption>{prose(words)} '
        "<small>Counted at the end; the line between is drawn straight.</small></figcaption>"
        f'<svg class="memory-time" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{text(words)}">{scale}'
        f'<g class="tooth kept"><path d="M{LEFT} {FLOOR}L{end} {ROOF}V{FLOOR}z"/>'
        f'<circle cx="{end}" cy="{ROOF}" r="3.5"/>{marks}</g></svg></figure>'
    )


# Over time


def over_time(history: History) -> str:
    """A tooth per pass: what the graph had saved when the pass began, and whether it was freed then."""
    looked = [run for run in history.passes if run.bytes > 0]
    if not looked:
        return ""
    shown = looked if len(looked) <= PASSES else [looked[n * len(looked) // PASSES] for n in range(PASSES)]
    peak = max(run.bytes for run in shown)
    room = (WIDTH - LEFT - 20) / len(shown)
    lines = len({run.where.site.line for run in shown if run.where is not None})
    labels = 0 if len(shown) > LABELLED else 2 if lines > 1 else 1
    teeth = "".join(_tooth(run, LEFT + n * room, room, peak, labels) for n, run in enumerate(shown))
    scale = "".join(
        f'<path class="grid" d="M{LEFT} {_y(part * peak, peak):.1f}H{WIDTH - 10}"/>'
        f'<text class="scale" x="{LEFT - 8}" y="{_y(part * peak, peak) + 4:.1f}">{human(int(part * peak))}</text>'
        for part in (0.0, 0.5, 1.0)
    )
    count = f"{len(looked):,} of {_in_all(history.passes):,} passes were looked at"
    kept = any(run.retains_graph for run in shown)
    words = "Measured as each `backward()` starts (the dots); " + (
        "a dashed tooth is a graph that it kept. " if kept else "it then frees them. "
    )
    return (
        f'<figure class="chart"><figcaption>Saved values over time. {prose(words)}<small>{count}.</small></figcaption>'
        f'<svg class="memory-time" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="Saved values as each pass began, at most {human(peak)}">{scale}{teeth}</svg>'
        f"{_as_table(shown)}</figure>"
    )


def _as_table(shown: list[Pass]) -> str:
    """The same for those who cannot point at a tooth."""
    rows = (row_html(*map(text, _facts(run))) for run in shown)
    table = table_html(("call", "line", "saved values", "what the pass did"), rows)
    return f'<details class="as-table"><summary>The same as a table</summary>{table}</details>'


def _facts(run: Pass) -> tuple[str, str, str, str]:
    """The number and the line of a pass, what it found, and what became of that."""
    did = "failed" if run.error is not None else "kept it" if run.retains_graph else "freed it"
    line = f"line {run.where.site.line}" if run.where is not None else ""
    return (f"call {run.count or run.id + 1:,}", line, human(run.bytes), did)


def _y(size: float, peak: int) -> float:
    return FLOOR - (FLOOR - ROOF) * size / max(peak, 1)


def _tooth(run: Pass, x: float, room: float, peak: int, labels: int) -> str:
    top, end = _y(run.bytes, peak), x + room * 0.86
    kind = "late" if run.error is not None else "kept" if run.retains_graph else "freed"
    step, line, size, did = _facts(run)
    words = [*(part for part in (step, line) if part), f"{size} of saved values", f"the pass {did}"]
    label = "".join(
        f'<text x="{end:.1f}" y="{FLOOR + 18 + 13 * row}">{part}</text>'
        for row, part in enumerate([part for part in (step, line) if part][:labels])
    )
    return (
        f'<g class="tooth {kind}"><title>{text("; ".join(words))}</title>'
        f'<path d="M{x:.1f} {FLOOR}L{end:.1f} {top:.1f}V{FLOOR}z"/><circle cx="{end:.1f}" cy="{top:.1f}" r="3.5"/>'
        f"{label}</g>"
    )


# By line


@dataclass
class _Line:
    alive: int = 0
    freed: int = 0

    @property
    def total(self) -> int:
        return self.alive + self.freed


def by_line(history: History, sources: SourceTexts) -> str:
    words, note = "Which lines made the values that this graph saved.", "Estimated from the shapes; inputs and "
    lines = _lines(history)
    return _table(lines, words, f"{note}parameters are not counted.", sources) if lines else ""


def _table(lines: dict[tuple[str, int], _Line], words: str, note: str, sources: SourceTexts) -> str:
    order = sorted(lines, key=lambda key: lines[key].total, reverse=True)
    most, whole = lines[order[0]].total, sum(line.total for line in lines.values())
    rows = (_row(key, lines[key], most, whole, sources) for key in order[:LINES])
    rest = sum(lines[key].total for key in order[LINES:])
    more = f"<p><small>and {percent(rest, whole)} on {len(order) - LINES:,} more lines</small></p>" if rest else ""
    table = table_html(("line", "source", "share", ""), rows)
    return f'<figure class="chart"><figcaption>{words} <small>{note}</small></figcaption>{table}{more}</figure>'


def _row(key: tuple[str, int], line: _Line, most: int, whole: int, sources: SourceTexts) -> str:
    label = f"{100 * line.freed / whole:.0f} % freed, {100 * line.alive / whole:.0f} % in memory"
    bar = bar_html(label, (("freed", line.freed / most), ("alive", line.alive / most)))
    return row_html(place_html(*key), code_html(*key, sources), f"{100 * line.total / whole:.0f} %", bar)


def largest(history: History, sources: SourceTexts) -> str:
    """The same of a run that did not fail: measured when a pass was looked at."""
    lines: dict[tuple[str, int], _Line] = {}
    for row in history.largest:
        lines.setdefault((row.site.file, row.site.line), _Line()).alive += row.bytes
    size = human(sum(line.total for line in lines.values()))
    words = f"Which lines made the {size} that the largest graph had saved."
    return _table(lines, words, "Measured; parameters are not counted.", sources) if lines else ""


def _lines(history: History) -> dict[tuple[str, int], _Line]:
    """Values that some operation had saved, each counted once, at the line that made it."""
    late = next(history.broken_passes(), None)
    reuse = find_reuse(history, late) if late is not None else None
    stale = old_part(history, reuse) if reuse is not None and reuse.write is None else frozenset()
    lines: dict[tuple[str, int], _Line] = {}
    for number, size in saved_sizes(history).items():
        where = history.node(number).where
        if where is not None:
            line = lines.setdefault((where.site.file, where.site.line), _Line())
            if number in stale:
                line.freed += size
            else:
                line.alive += size
    return lines
