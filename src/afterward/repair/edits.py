"""A change to a text: spans and what takes their place. Nothing outside a span changes by a byte."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice

from afterward.model.diagnosis import Effect, Remedy
from afterward.model.facts import Fact

_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Characters from `start` up to `end` give way to `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Patch:
    """One remedy written out: the edits of each file. A patch that goes another way than the remedy says has a form of
    its own, its facts, and its effect where that is another one."""

    kind: str
    edits: Mapping[str, tuple[Edit, ...]]
    form: str = ""
    facts: tuple[Fact, ...] = ()
    effect: Effect | None = None

    def carries_out(self, remedy: Remedy) -> Remedy:
        """The remedy in the form in which this patch writes it."""
        known = {fact.name: fact for fact in (*remedy.facts, *self.facts)}
        form, effect = self.form or remedy.form, self.effect or remedy.effect
        return replace(remedy, form=form, effect=effect, facts=tuple(known.values()))

    def applied(self, texts: Mapping[str, str]) -> dict[str, str]:
        """The new text of each file that changes."""
        return {file: apply(texts[file], edits) for file, edits in self.edits.items()}


def apply(text: str, edits: Iterable[Edit]) -> str:
    """The text with all edits made. Edits that overlap are a mistake of ours."""
    result, position = [], 0
    for edit in sorted(edits):
        if edit.start < position:
            raise ValueError("two edits overlap")
        result += [text[position : edit.start], edit.text]
        position = edit.end
    return "".join(result) + text[position:]


def in_place(text: str, edits: Iterable[Edit]) -> bool:
    """Does the text have already all that these edits would add to it? Made a second time, they would say it twice."""
    return all(_in_place(text, edit) for edit in edits)


def _in_place(text: str, edit: Edit) -> bool:
    old, new = text[edit.start : edit.end], edit.text
    if not old:
        return _lines_stand_at(text, edit.start, new)
    place = new.find(old)
    if place < 0 or new == old:
        return new == old
    head, tail = new[:place], new[place + len(old) :]
    if text.endswith(head, 0, edit.start) and text.startswith(tail, edit.end):
        return True
    return len(old) > len(head) + len(tail) and old.startswith(head) and old.endswith(tail)


def _lines_stand_at(text: str, place: int, lines: str) -> bool:
    """Do these whole lines end, or begin, at a place? What stands behind their code makes them no others."""
    if not lines.strip() or not (lines[0] in "\r\n" or lines[-1] in "\r\n"):
        return False  # a piece of a line
    wanted = _code(lines.strip("\r\n"))
    if not any(wanted):
        return False
    above, below = text[:place].rstrip("\r\n"), text[place:].lstrip("\r\n")
    return _code(_last_lines(above, len(wanted))) == wanted or _code(_first_lines(below, len(wanted))) == wanted


def _last_lines(text: str, count: int) -> str:
    ends = [match.end() for match in _LINE_END.finditer(text)]
    return text[ends[-count] :] if count <= len(ends) else text


def _first_lines(text: str, count: int) -> str:
    end = next(islice(_LINE_END.finditer(text), count - 1, None), None)
    return text[: end.start()] if end is not None else text


def _code(lines: str) -> list[str]:
    """Lines without the blanks and the comment at their end; a quote behind a `#` may mean that it is in a string."""
    return [re.sub(r"""\s*(#[^'"]*)?$""", "", line) for line in _LINE_END.split(lines)]


def unified(name: str, before: str, after: str, edits: Iterable[Edit] = (), context: int = 3) -> str:
    """The change as `git apply` and `patch` read it. Lines are split at newlines alone, as they do.

    A line that moves past another looks in the texts as if either of them had moved: `edits` say which one did.
    """
    old, new = _lines(before), _lines(after)
    moved = sorted(edits)
    if apply(before, moved) == after:
        _mark(old, [(edit.start, edit.end) for edit in moved if not edit.text], _TAKEN)
        _mark(new, _arrived(moved), _PUT)
    shown = []
    for line in difflib.unified_diff(old, new, f"a/{name}", f"b/{name}", n=context):
        line = line.replace(_TAKEN, "", 1).replace(_PUT, "", 1)
        shown.append(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n")
    return "".join(shown)


_TAKEN, _PUT = "\0taken ", "\0put "  # no line of a program begins so: what is marked is like no other line


def _arrived(edits: Iterable[Edit]) -> list[tuple[int, int]]:
    """Where, in the new text, lie the characters that only came in."""
    shift, spans = 0, []
    for edit in edits:
        if edit.start == edit.end:
            spans.append((edit.start + shift, edit.start + shift + len(edit.text)))
        shift += len(edit.text) - (edit.end - edit.start)
    return spans


def _mark(lines: list[str], spans: list[tuple[int, int]], mark: str) -> None:
    """Mark the lines that lie wholly in one of the spans."""
    start = 0
    for number, line in enumerate(lines):
        end = start + len(line)
        if any(first <= start and end <= last for first, last in spans):
            lines[number] = mark + line
        start = end


def _lines(text: str) -> list[str]:
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
