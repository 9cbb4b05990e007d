"""A diagnosis as a notebook shows it: HTML where the front end can, text everywhere else.

Source text is data: everything is escaped. Colours come from the front end's theme where it names them, else they are
of a middle tone that reads on light and on dark; styles are inline, for a stored notebook that is not trusted loses
style sheets.
"""

from __future__ import annotations

import base64
import itertools
import re
from html import escape
from typing import IO, Any

from afterward.model.diagnosis import Diagnosis
from afterward.render.spans import Line
from afterward.render.terminal import show
from afterward.render.text import as_text, source_lines
from afterward.render.wording import said

Findings = tuple[Diagnosis, ...]

WIDTH = 80
_RED = "var(--jp-error-color1, var(--vscode-errorForeground, #d64550))"
_AMBER = "var(--jp-warn-color1, #b7791f)"
_BLUE = "var(--jp-info-color1, #2f81c7)"
_STYLES = {
    "error": f"color:{_RED};font-weight:bold",
    "warning": f"color:{_AMBER};font-weight:bold",
    "info": f"color:{_BLUE};font-weight:bold",
    "headline": "font-weight:bold",
    "frame": "opacity:.55",
    "secondary": f"color:{_BLUE}",
    "note": "font-weight:bold",
    "help": "color:var(--jp-success-color1, #2e8b57);font-weight:bold",
}
_BOX = (
    "margin:.4em 0;padding:.6em .9em;border-left:4px solid {edge};background:rgba(127,127,127,.09);color:inherit;"
    "overflow-x:auto"
)
_MONO = "var(--jp-code-font-family,ui-monospace,SFMono-Regular,Menlo,Consolas,monospace)"
_PRE = (
    "margin:0;padding:0;border:0;background:transparent;color:inherit;white-space:pre;line-height:1.35;font-size:13px;"
    f"font-family:{_MONO}"
)
_TEXT = f"font-family:{_MONO};font-size:13px;white-space:pre-wrap"
_CODE = f"font-family:{_MONO};font-size:12.5px;background:rgba(127,127,127,.15);color:inherit;padding:0 .25em"
_SENTENCE = "margin-top:.5em;max-width:52em;line-height:1.45;font-size:13.5px;font-family:inherit;white-space:normal;"
_WORD = "display:inline-block;width:3.2em;margin-left:-3.2em"
_HANGING = "padding-left:3.2em;"
_PICTURE = (
    "display:block;max-width:100%;min-width:680px;height:auto;margin-top:.8em;border-radius:8px"  # as wide as a cell
)


class Shown:
    """What is displayed under a cell: findings, or one line that says there are none, and what was not seen."""

    def __init__(
        self, findings: Findings, closing: str = "", gaps: tuple[str, ...] = (), pictures: tuple[str, ...] = ()
    ) -> None:
        self.findings = findings
        self.closing = closing
        self.gaps = gaps
        self.pictures = pictures  # of the findings, one after the other, as SVG; may be empty

    def _repr_html_(self) -> str:
        drawn = itertools.chain(self.pictures, itertools.repeat(""))
        boxes = [_finding_html(found, svg) for found, svg in zip(self.findings, drawn, strict=False)]
        if self._last_words():
            boxes.append(_box("currentColor", f'<div style="{_TEXT}">{escape(self._last_words())}</div>'))
        return "".join(boxes)

    def __repr__(self) -> str:
        texts = [as_text(found) for found in self.findings]
        if self._last_words():
            texts.append(self._last_words())
        return "\n".join(texts).rstrip("\n")

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))

    def print_coloured(self, stream: IO[str]) -> None:
        for found in self.findings:
            show(found, stream)
        if self._last_words():
            print(self._last_words(), file=stream)

    def _last_words(self) -> str:
        gaps = [f"afterward: not seen: {gap}" for gap in self.gaps]
        return "\n".join([*([self.closing] if self.closing else []), *gaps])


def _finding_html(found: Diagnosis, svg: str = "") -> str:
    """The source and its labels line by line; the sentences as text that fits itself to the front end's width."""
    edge = {"error": _RED, "warning": _AMBER}.get(found.severity.value, _BLUE)
    text = said(found)
    sentences = [_sentence("", text.why)] if text.why else []
    sentences += [_sentence("note", note) for note in text.notes]
    for number, (remedy, title) in enumerate(zip(found.remedies, text.helps, strict=True)):
        sentences.append(_sentence("help", ("" if number == 0 else "or ") + title))
        if remedy.patch:
            sentences.append(f'<pre style="{_PRE};margin:.3em 0 .3em 3.6em">{escape(remedy.patch)}</pre>')
    headline, *excerpt = [_line_html(line) for line in source_lines(found, text, WIDTH)]
    shown = "\n".join(excerpt).rstrip("\n")
    words = f'<div style="{_TEXT}">{headline}</div><pre style="{_PRE}">{shown}</pre>{"".join(sentences)}'
    return _box(edge, words + (_picture_html(svg) if svg else ""))


def _picture_html(svg: str) -> str:
    """A picture of its own: its style reaches nothing else, and a front end that strips styles keeps it."""
    data = base64.b64encode(svg.encode("utf-8")).decode("ascii")
    title = re.search(r"<title>([^<]*)</title>", svg)
    alt = title[1].replace('"', "&quot;") if title else ""
    return f'<img alt="{alt}" style="{_PICTURE}" src="data:image/svg+xml;base64,{data}">'


def _sentence(word: str, text: str) -> str:
    """A note, a help or why it happened. What stands between backticks is code."""
    parts = escape(text).split("`")
    shown = "".join(f'<code style="{_CODE}">{part}</code>' if n % 2 else part for n, part in enumerate(parts))
    label = f'<span style="{_STYLES[word]};{_WORD}">{word}:</span>' if word else ""
    return f'<div style="{_SENTENCE}{_HANGING if word else ""}">{label}{shown}</div>'


def _line_html(line: Line) -> str:
    spans = []
    for span in line:
        style = _STYLES.get(span.style)
        text = escape(span.text)
        spans.append(f'<span style="{style}">{text}</span>' if style and text else text)
    return "".join(spans)


def _box(edge: str, content: str) -> str:
    return f'<div style="{_BOX.format(edge=edge)}">{content}</div>'
