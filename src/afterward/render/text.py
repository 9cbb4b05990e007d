"""The report as a person reads it: source, labels, then why, notes and help. Plain, or coloured for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from afterward.model.diagnosis import Diagnosis, Report
from afterward.model.site import Site
from afterward.render.counter import step_of
from afterward.render.paths import shown
from afterward.render.remedies import helps
from afterward.render.source import SourceTexts
from afterward.render.spans import Line, Span, wrapped
from afterward.render.wording import Labelled, Said, said

WIDTH = 80
LONGEST = 60  # characters of a label that are kept on one line, though it then begins further left
_DOTS = "..."
_SOURCES = SourceTexts()


def as_text(found: Diagnosis, width: int = WIDTH) -> str:
    """Plain text."""
    return plain(lines_of(found, width))


def as_texts(report: Report) -> str:
    return "\n".join(as_text(found) for found in report.findings)


def plain(lines: Iterable[Line]) -> str:
    return "\n".join("".join(span.text for span in line).rstrip() for line in lines) + "\n"


def lines_of(found: Diagnosis, width: int = WIDTH) -> Iterator[Line]:
    yield from diagnosis_lines(found, width)
    yield from helps(found, width)


def diagnosis_lines(found: Diagnosis, width: int = WIDTH) -> Iterator[Line]:
    """What is wrong and why."""
    words = said(found)
    yield from source_lines(found, words, width)
    if words.why:
        yield ()
        yield from wrapped("", words.why, "", width)
        yield ()
    for note in words.notes:
        yield from wrapped("note: ", note, "note", width)


def source_lines(found: Diagnosis, words: Said, width: int = WIDTH) -> Iterator[Line]:
    """The headline, and the source with its labels."""
    yield _headline(found, words)
    gutter = _gutter(found)
    site = found.primary.site
    arrow = f"{shown(site.file)}:{site.line}:{site.column + 1}{step_of(site, _SOURCES.text)}"
    yield (Span(" " * gutter + "--> ", "frame"), Span(arrow))
    others = [label.site.file for label in found.secondary]
    is_cell = not Path(site.file).suffix  # cells are read in the order in which they ran: built, freed, used
    files = list(dict.fromkeys([*others, site.file] if is_cell else [site.file, *others]))
    for number, file in enumerate(files):
        if file != site.file or number:
            labels = (*found.secondary, found.primary)
            first = min(label.site.line for label in labels if label.site.file == file)
            yield (Span(" " * gutter + "::: ", "frame"), Span(f"{shown(file)}:{first}"))
        yield from _excerpt(words, file, gutter, width, found.severity.value)


def _headline(found: Diagnosis, words: Said) -> Line:
    caught = " (caught by the program)" if found.caught else ""
    return (
        Span(f"{found.severity.value}[{found.code}]", found.severity.value),
        Span(f": {words.headline}{caught}", "headline"),
    )


def _gutter(found: Diagnosis) -> int:
    last = max(label.site.line for label in (found.primary, *found.secondary))
    return len(str(last)) + 1


def _excerpt(words: Said, file: str, gutter: int, width: int, severity: str) -> Iterator[Line]:
    """The labelled lines of one file, in order; a gap between them is shown as dots."""
    labels = [(label, severity if label is words.primary else "") for label in (*words.secondary, words.primary)]
    by_line: dict[int, list[tuple[Labelled, str]]] = {}
    for label, primary in labels:
        if label.site.file == file:
            by_line.setdefault(label.site.line, []).append((label, primary))
    previous: int | None = None
    for line in sorted(by_line):
        if previous is not None and line > previous + 1:
            yield (Span("." * min(gutter, 3), "frame"),)
        text = _SOURCES.line(file, line)
        window = _fitted(text, width - gutter - 3, [label.site for label, _ in by_line[line]])
        yield (Span(f"{line:>{gutter - 1}} | ".rjust(gutter + 2), "frame"), Span(window.shown))
        for label, primary in sorted(by_line[line], key=lambda pair: pair[0].site.column):
            yield from _marker(label, primary, text, window, gutter, width)
        previous = line


def _marker(label: Labelled, primary: str, text: str, window: _Window, gutter: int, width: int) -> Iterator[Line]:
    start, end = window.place(label.site.column), window.place(_end(label.site, text))
    length = max(end - start, 1)
    style = primary or "secondary"
    mark = ("^" if primary else "-") * length
    frame = Span(" " * gutter + "| ", "frame")
    room = width - gutter - 2 - start - length - 1
    if len(label.text) <= room:
        yield (frame, Span(" " * start), Span(f"{mark} {label.text}", style))
        return
    yield (frame, Span(" " * start), Span(mark, style))
    indent = min(start, max(width - gutter - 2 - min(len(label.text), LONGEST), 0))
    for part in textwrap.wrap(label.text, max(width - gutter - 2 - indent, 20)):
        yield (frame, Span(" " * indent), Span(part, style))


@dataclass(frozen=True, slots=True)
class _Window:
    """The part of a line that is shown: from column `first` to `last`, with dots for the rest."""

    shown: str
    first: int
    last: int

    def place(self, column: int) -> int:
        """Where a column of the line is on the screen."""
        return min(max(column, self.first), self.last) - self.first + (len(_DOTS) if self.first else 0)


def _end(site: Site, text: str) -> int:
    return site.end_column if site.end_line == site.line and site.end_column is not None else len(text.rstrip())


def _fitted(text: str, room: int, labelled: list[Site]) -> _Window:
    """The line, shortened if it does not fit. What is labelled is shown, even if the line then begins with dots."""
    text = text.rstrip().replace("\t", " ")
    if len(text) <= room:
        return _Window(text, 0, len(text))
    inner = room - 2 * len(_DOTS)
    hidden = [site for site in labelled if site.column > room - len(_DOTS) - min(_end(site, text) - site.column, 20)]
    first = max(max((min(_end(site, text), site.column + inner) for site in hidden), default=0) - inner, 0)
    last = min(first + inner, len(text)) if first else room - len(_DOTS)
    return _Window((_DOTS if first else "") + text[first:last] + (_DOTS if last < len(text) else ""), first, last)


def forget_sources() -> None:
    """Read the sources again when they are next shown: in a long session files change."""
    _SOURCES.forget()
