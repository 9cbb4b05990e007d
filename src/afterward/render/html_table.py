"""Tables of the page that go by lines of the program: a place, its source, a figure, and a bar of its parts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from afterward.render.html_source import text
from afterward.render.lifeline.ways import ending
from afterward.render.paths import shown
from afterward.render.source import SourceTexts, shortened

WIDE = 200  # a bar that is full
CODE = 70  # letters of a line


def place_html(file: str, line: int) -> str:
    """A file by the end of its name, which says more than its beginning."""
    whole = shown(file)
    return f'<span title="{text(whole)}">{text(ending(whole, 36))}:{line}</span>'


def code_html(file: str, line: int, sources: SourceTexts, room: int = CODE) -> str:
    return f"<code>{text(shortened(sources.line(file, line).strip(), room))}</code>"


def bar_html(label: str, parts: Sequence[tuple[str, float]]) -> str:
    """Parts of a bar, by their class, one after the other: each a share of the whole."""
    drawn, begins = "", 0.0
    for kind, share in parts:
        drawn += f'<rect class="{kind}" x="{begins:.1f}" width="{WIDE * share:.1f}" height="12"/>'
        begins += WIDE * share
    return (
        f'<svg class="bar" viewBox="0 0 {WIDE} 12" preserveAspectRatio="xMinYMid" role="img" aria-label="{label}">'
        f"{drawn}</svg>"
    )


def row_html(*cells: str) -> str:
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def table_html(heads: Sequence[str], rows: Iterable[str]) -> str:
    columns = "".join(f'<th scope="col">{head}</th>' for head in heads)
    return f'<table class="by-line"><thead><tr>{columns}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
