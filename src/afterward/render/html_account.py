"""The account of `run --memory` as part of the page: measured bytes, line by line, at the peak."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.figures import human
from afterward.model.memory import LineBytes, Memory, PassBytes
from afterward.render.html_source import text
from afterward.render.html_table import bar_html, code_html, place_html, row_html, table_html
from afterward.render.memory import remarks
from afterward.render.paths import shown
from afterward.render.source import SourceTexts

LINES = 20


def account_html(memory: Memory | None, sources: SourceTexts) -> str:
    if memory is None or not memory.bytes:
        return ""
    when = ""
    if memory.site is not None:
        when = f" when call {memory.step} of {shown(memory.site.file)}:{memory.site.line} started"
    rows = [_line(row, memory, sources) for row in memory.lines[:LINES]]
    rest = memory.lines[LINES:]
    rows += [_sum(f"{len(rest):,} more lines", sum(row.bytes for row in rest))] if rest else []
    rows += [_sum("no line of yours", memory.unplaced)] if memory.unplaced else []
    said = "".join(
        f"<p>{text(figure)} {text(words)}.</p>" for figure, words in (*remarks(memory, "(grey) "), *_given_out(memory))
    )
    return (
        '<article class="account" aria-label="Memory, measured"><h2>Memory, measured '
        f"<small>{human(memory.bytes)} of saved values at the peak{text(when)}</small></h2>"
        f'<figure class="chart">{table_html(("line", "source", "saved", ""), rows)}</figure>'
        f"{said}<h2>Calls of backward</h2><figure "
        f'class="chart">{table_html(("line", "calls", "largest graph", "kept"), map(_passes, memory.passes))}</figure>'
        "</article>"
    )


def _given_out(memory: Memory) -> Iterator[tuple[str, str]]:
    if memory.allocator is not None:
        grown = human(max(memory.allocator.at_pass - memory.allocator.before, 0))
        yield grown, f"were given out by the allocator of {memory.allocator.device} in that forward pass"


def _line(row: LineBytes, memory: Memory, sources: SourceTexts) -> str:
    anyway, rest = row.held_anyway / memory.bytes, (row.bytes - row.held_anyway) / memory.bytes
    bar = bar_html(f"{100 * row.bytes / memory.bytes:.0f} percent", (("freed", anyway), ("alive", rest)))
    code = code_html(row.site.file, row.site.line, sources)
    return row_html(place_html(row.site.file, row.site.line), code, human(row.bytes), bar)


def _sum(words: str, size: int) -> str:
    return row_html("", text(words), human(size), "")


def _passes(one: PassBytes) -> str:
    call = "autograd.grad" if one.call == "grad" else "backward"
    kept = f"{human(one.kept)} by {one.retaining:,} of them" if one.retaining else "nothing"
    place = place_html(one.site.file, one.site.line)
    return row_html(place, f"{one.passes:,} × {call}", human(one.most), kept)
