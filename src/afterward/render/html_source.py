"""The labelled source and the words of a finding, as HTML. Whatever the reader's file holds is text here."""

from __future__ import annotations

import io
import itertools
import keyword
import re
import textwrap
import tokenize
from collections.abc import Iterator
from functools import lru_cache
from html import escape

from afterward.model.diagnosis import Diagnosis, Remedy
from afterward.render.paths import shown
from afterward.render.proofs import proof_text
from afterward.render.source import SourceTexts, visible
from afterward.render.template import capital
from afterward.render.wording import Labelled, help_text, said

CONTEXT = 1  # lines shown around a labelled one
BETWEEN = 3  # lines shown between those of a change

_EFFECTS = {
    "same_gradients": "same gradients",
    "cuts_gradients": "cuts gradients",
    "changes_gradients": "changes gradients",
    "sketch": "a sketch",
}


def text(words: str) -> str:
    return escape(visible(words))


def prose(words: str) -> str:
    """Words in which `code` is set as code."""
    parts = text(words).split("`")
    if len(parts) % 2 == 0:  # an odd backtick is a backtick
        return text(words)
    return "".join(f"<code>{part}</code>" if number % 2 else part for number, part in enumerate(parts))


# Source


def source_html(found: Diagnosis, sources: SourceTexts) -> str:
    words = said(found)
    labels = [(label, label is words.primary) for label in (words.primary, *words.secondary)]
    files = list(dict.fromkeys(label.site.file for label, _ in labels))
    return "".join(_file_html(file, [pair for pair in labels if pair[0].site.file == file], sources) for file in files)


def _file_html(file: str, labels: list[tuple[Labelled, bool]], sources: SourceTexts) -> str:
    by_line: dict[int, list[tuple[Labelled, bool]]] = {}
    for label, primary in labels:
        by_line.setdefault(label.site.line, []).append((label, primary))
    wanted = sorted({n for line in by_line for n in range(max(line - CONTEXT, 1), line + CONTEXT + 1)})
    count = len(sources.lines(file))
    rows = []
    previous: int | None = None
    for number in wanted:
        if number > count and number not in by_line:
            continue
        if previous is not None and number > previous + 1:
            rows.append('<li class="skip" aria-hidden="true"></li>')
        rows.append(_line_html(file, number, by_line.get(number, []), sources))
        previous = number
    return f'<figure class="source"><figcaption>{text(shown(file))}</figcaption><ol>{"".join(rows)}</ol></figure>'


def _line_html(file: str, number: int, labels: list[tuple[Labelled, bool]], sources: SourceTexts) -> str:
    line = sources.line(file, number).rstrip()
    spans = [_span(label, line) for label, _ in labels]
    marks = [(start, end, primary) for (start, end), (_, primary) in zip(spans, labels, strict=True)]
    code = _marked(line, _colours(sources.text(file)).get(number, ()), marks)
    under = "".join(
        f'<p class="label {"primary" if primary else "secondary"}"><span class="lead">{text(line[:start])}</span>'
        f"<span>{prose(label.text)}</span></p>"
        for (label, primary), (start, _) in sorted(zip(labels, spans, strict=True), key=lambda pair: pair[1])
    )
    classes = "marked" if labels else "around"
    return f'<li class="{classes}" data-line="{number}"><code>{code or " "}</code>{under}</li>'


def _span(label: Labelled, line: str) -> tuple[int, int]:
    site = label.site
    end = site.end_column if site.end_line == site.line and site.end_column is not None else len(line)
    start = min(max(site.column, 0), len(line))
    return start, max(min(end, len(line)), start)


def _marked(line: str, colours: tuple[tuple[int, int, str], ...], marks: list[tuple[int, int, bool]]) -> str:
    """The line with its tokens coloured and its labelled spans underlined."""
    cuts = {0, len(line)}
    for start, end, _ in (*colours, *marks):
        cuts |= {min(start, len(line)), min(end, len(line))}
    order = sorted(cuts)
    shown = []
    for start, end in itertools.pairwise(order):
        classes = [kind for first, last, kind in colours if first <= start and end <= last][:1]
        classes += ["primary" if p else "secondary" for first, last, p in marks if first <= start and end <= last][:1]
        piece = text(line[start:end])
        shown.append(f'<span class="{" ".join(classes)}">{piece}</span>' if classes else piece)
    return "".join(shown)


@lru_cache(maxsize=32)
def _colours(source: str) -> dict[int, tuple[tuple[int, int, str], ...]]:
    """(first column, last column, kind) of the tokens of each line; nothing where it is no Python."""
    found: dict[int, list[tuple[int, int, str]]] = {}
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            kind = _kind(token)
            if kind:
                for number in range(token.start[0], token.end[0] + 1):
                    first = token.start[1] if number == token.start[0] else 0
                    last = token.end[1] if number == token.end[0] else 1 << 30
                    found.setdefault(number, []).append((first, last, kind))
    except (tokenize.TokenError, SyntaxError, ValueError):
        pass
    return {number: tuple(spans) for number, spans in found.items()}


def _kind(token: tokenize.TokenInfo) -> str:
    if token.type == tokenize.COMMENT:
        return "c"
    if token.type == tokenize.STRING or "STRING" in tokenize.tok_name[token.type]:
        return "s"
    if token.type == tokenize.NUMBER:
        return "n"
    return "k" if token.type == tokenize.NAME and keyword.iskeyword(token.string) else ""


# Words


def answer_html(found: Diagnosis) -> str:
    """The cause, and beside it the change that is recommended: what a reader wants before anything else."""
    words = said(found)
    why = words.why or capital(words.primary.text) + "."
    change = ""
    if found.remedies:
        best, title = found.remedies[0], words.helps[0]
        diff = diff_html(_changed_lines(best.patch)) if best.patch else ""
        change = f'<div class="change"><h2>Change</h2><p>{prose(capital(title))}.</p>{diff}</div>'
    cause = f'<div><h2>Cause</h2><p class="why">{prose(why)}</p></div>'
    return f'<section class="answer" aria-label="Cause and change">{cause}{change}</section>'


def _changed_lines(patch: str) -> str:
    """What a diff takes out and puts in, and the lines that show where: those between, else those beside it."""
    lines: list[str] = []
    for hunk in re.split(r"^@@.*\n", patch, flags=re.MULTILINE)[1:]:
        every = [line for line in hunk.splitlines() if line[:1] in "+- " and not line.startswith(("+++ ", "--- "))]
        changed = [number for number, line in enumerate(every) if line[0] != " "]
        beside = len({every[number][0] for number in changed}) == 1  # nothing shows where it was, or goes
        span = range(max(changed[0] - beside, 0), min(changed[-1] + 1 + beside, len(every)))
        lines += _shortened([every[number] for number in span])
    cut = textwrap.dedent("\n".join(line[1:] for line in lines)).splitlines()
    return "\n".join(line[0] + " " + rest for line, rest in zip(lines, cut, strict=True))


def _shortened(lines: list[str]) -> Iterator[str]:
    """The lines of a hunk; of a long stretch between two changes only where it ends."""
    for changed, group in itertools.groupby(lines, key=lambda line: line[0] != " "):
        stretch = list(group)
        if changed or len(stretch) <= BETWEEN:
            yield from stretch
        else:
            last = next((line for line in reversed(stretch) if line.strip()), stretch[-1])
            yield from (" " * (len(last) - len(last.lstrip())) + "...", last)


def notes_html(found: Diagnosis) -> str:
    return "".join(f'<p class="note"><b>note</b> {prose(note)}</p>' for note in said(found).notes)


def remedies_html(found: Diagnosis) -> str:
    """Every change, with its effect and what became of it; a single one that was not tried stands above already."""
    if not found.remedies:
        return ""
    items = "".join(_remedy_html(found, remedy, number) for number, remedy in enumerate(found.remedies))
    return f'<section class="remedies" aria-label="What to do"><h2>What to do</h2><ol>{items}</ol></section>'


def _remedy_html(found: Diagnosis, remedy: Remedy, number: int) -> str:
    title = help_text(found, remedy)
    first = " best" if number == 0 else ""
    effect = _EFFECTS.get(remedy.effect.value, remedy.effect.value)
    shown = [f'<li class="remedy{first}"><p>{prose(capital(title))} ']
    shown.append(f'<span class="effect {remedy.effect.value}">{effect}</span></p>')
    if remedy.patch:
        shown.append(diff_html(remedy.patch))
    if remedy.proof is not None:
        status = remedy.proof.status.replace("_", " ")
        words = prose(proof_text(remedy.proof, found.primary.site))
        shown.append(f'<p class="proof {text(remedy.proof.status)}"><b>{text(status)}</b> {words}</p>')
    return "".join(shown) + "</li>"


def diff_html(patch: str) -> str:
    return '<pre class="diff" tabindex="0">' + "".join(_diff_lines(patch)) + "</pre>"


def _diff_lines(patch: str) -> Iterator[str]:
    for line in re.split(r"\r\n|\n|\r", patch.rstrip("\n")):
        kind = {"+": "add", "-": "del", "@": "hunk"}.get(line[:1], "same")
        kind = "file" if line.startswith(("+++", "---")) else kind
        yield f'<span class="{kind}">{text(line)}\n</span>'
