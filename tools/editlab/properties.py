"""What must hold for a patch on a text: it still parses, nothing else changed, there and back, and once is enough."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from afterward.model.diagnosis import Bridge, Diagnosis, Label, Remedy, Ways
from afterward.model.site import Site
from afterward.repair import Edit, Patch, Workshop, candidates, unified
from afterward.repair.source import Source

TRIES = 6  # patches of one remedy that `fix` would try


def broken(source: Source, patch: Patch) -> str | None:
    """What a patch does wrong to a file; None for a good one. It must change this file and no other."""
    text, file = source.text, source.file
    if set(patch.edits) != {file}:
        return f"edits {sorted(patch.edits)}"
    after = patch.applied({file: text})[file]
    edits = sorted(patch.edits[file])
    if not outside_is_the_same(text, after, edits):
        return "something outside of the edits has changed"
    try:
        ast.parse(after)
    except (SyntaxError, ValueError, RecursionError) as error:
        return f"does not parse: {error}"
    if _ends(after) - _ends(text):
        return f"another kind of line end: {_ends(after) - _ends(text)}"
    diff = unified("m.py", text, after)
    if patched(text, diff) != after:
        return "the diff does not lead there"
    if patched(after, diff, back=True) != text:
        return "the diff does not lead back"
    return None


def outside_is_the_same(before: str, after: str, edits: list[Edit]) -> bool:
    """Cut the new text at the edits: the pieces between them are the old ones, to the byte."""
    position = place = 0
    for edit in edits:
        piece = before[position : edit.start]
        if after[place : place + len(piece)] != piece:
            return False
        place += len(piece)
        if after[place : place + len(edit.text)] != edit.text:
            return False
        place += len(edit.text)
        position = edit.end
    return after[place:] == before[position:]


def _ends(text: str) -> set[str]:
    return set(re.findall(r"\r\n|\n|\r", text))


def patched(text: str, diff: str, *, back: bool = False) -> str | None:
    """The text with a unified diff applied, strictly: each line must be where the diff says. None: it does not fit."""
    old, new, position = _lines(text), [], 0
    drop, add = ("+", "-") if back else ("-", "+")
    for line in _lines_of_diff(diff):
        head = re.match(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", line)
        if head is not None:
            start, count = (int(head[3]), head[4]) if back else (int(head[1]), head[2])
            begin = start - 1 if count != "0" else start
            new += old[position:begin]
            position = begin
            continue
        if line[0] in (" ", drop):
            if position >= len(old) or old[position] != line[1:]:
                return None
            position += 1
        if line[0] in (" ", add):
            new.append(line[1:])
    return "".join([*new, *old[position:]])


def _lines(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+$", text)


def _lines_of_diff(diff: str) -> list[str]:
    """Its lines after the two file names, a mark for a missing line end taken as that."""
    lines: list[str] = []
    for line in _lines(diff)[2:]:
        if line.startswith("\\"):
            lines[-1] = lines[-1].removesuffix("\n")
        else:
            lines.append(line)
    return lines


def repeated(source: Source, patch: Patch, found: Diagnosis, remedy: Remedy) -> str | None:
    """Asked again for the same fault where the patch is in place, does a remedy do the same once more?"""
    file = source.file
    edits = sorted(patch.edits[file])
    after = patch.applied({file: source.text})[file]
    again = Source(file, after)
    moved = _Moved(source, again, edits)
    fault = moved.diagnosis(found, remedy)
    if fault is None:
        return None
    shop = Workshop({file: after}, {file: again})
    for second, _ in zip(candidates(shop, fault, fault.remedies[0]), range(TRIES), strict=False):
        same = [one.text.strip() for one in sorted(second.edits[file])] == [one.text.strip() for one in edits]
        changes = second.applied({file: after})[file] != after
        if same and changes and moved.again(sorted(second.edits[file])):
            return f"does it twice: {second.form}"
    return None


class _Moved:
    """Where the places of a text are once edits were made."""

    def __init__(self, before: Source, after: Source, edits: list[Edit]) -> None:
        self.before, self.after, self.edits = before, after, edits
        self._starts = [0, *(m.end() for m in re.finditer(r"\r\n|\n|\r", after.text))]

    def diagnosis(self, found: Diagnosis, remedy: Remedy) -> Diagnosis | None:
        """The same fault in the new text; None where one of its passes is gone: then it is that fault no more."""
        primary = self.site(found.primary.site)
        passes = [site for site in (found.freed, found.reused) if site is not None]
        if primary is None or any(self.site(site) is None for site in passes):
            return None
        ways = Ways(
            *(tuple(s for site in way if (s := self.site(site)) is not None) for way in _ways(found)),
            self.site(found.ways.loop),
            self.site(found.ways.assigned),
        )
        bridge = found.bridge
        labels = ((self.site(label.site), label.role) for label in found.secondary)
        return replace(
            found,
            primary=Label(primary),
            secondary=tuple(Label(site, role) for site, role in labels if site is not None),
            remedies=(replace(remedy, site=self.site(remedy.site)),),
            built=self.site(found.built),
            freed=self.site(found.freed),
            reused=self.site(found.reused),
            written=self.site(found.written),
            cut=self.site(found.cut),
            bridge=Bridge(bridge.name, bridge.kind, self.site(bridge.site)) if bridge is not None else None,
            ways=ways,
        )

    def site(self, site: Site | None) -> Site | None:
        if site is None or site.end_column is None:
            return None
        start = self._offset(self.before.offset(site.line, site.column), end=False)
        stop = self._offset(self.before.offset(site.end_line, site.end_column), end=True)
        if start is None or stop is None or stop <= start:
            return None
        (line, column), (end_line, end_column) = self._place(start), self._place(stop)
        return Site(site.file, line, end_line, column, end_column, site.step)

    def again(self, edits: list[Edit]) -> bool:
        """Do these edits of the new text do the same, where the first ones have left their work?"""
        if len(edits) != len(self.edits):
            return False
        shift = 0
        for first, second in zip(self.edits, edits, strict=True):
            start = first.start + shift
            shift += len(first.text) - (first.end - first.start)
            old, then = self.before.text[first.start : first.end], self.after.text[second.start : second.end]
            if not start <= second.start <= start + len(first.text) or then not in (old, first.text):
                return False
            if not old and second.text.strip() != first.text.strip():
                return False
            if first.text in old and (second.text in then or then == first.text):
                return False  # what was taken out is gone: the next is another thing, `f(x)` of `f(f(x))`
        return True

    def _offset(self, place: int, *, end: bool) -> int | None:
        shift = 0
        for edit in self.edits:
            if edit.start == edit.end:
                if place > edit.start or (place == edit.start and not end):
                    shift += len(edit.text)
            elif place >= edit.end if not end or place != edit.end else place > edit.end:
                shift += len(edit.text) - (edit.end - edit.start)
            elif place >= edit.start and not (end and place == edit.start):
                inner = edit.text.find(self.before.text[edit.start : edit.end])
                if inner >= 0:
                    return edit.start + shift + inner + place - edit.start
                if not edit.text.strip() or edit.text.strip() == "pass":
                    return None
                return edit.start + shift + (len(edit.text) if end else 0)
            else:
                break
        return place + shift

    def _place(self, offset: int) -> tuple[int, int]:
        line = next((n for n in range(len(self._starts) - 1, -1, -1) if self._starts[n] <= offset), 0)
        return line + 1, offset - self._starts[line]


def _ways(found: Diagnosis) -> tuple[tuple[Site, ...], ...]:
    return found.ways.built, found.ways.freed, found.ways.reused, found.ways.written
