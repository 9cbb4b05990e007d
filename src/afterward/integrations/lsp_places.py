"""Places as the Language Server Protocol counts them: lines from 0, columns in the units that the client asked for."""

from __future__ import annotations

from lsprotocol import types

from afterward.model.site import Site
from afterward.tasks.editor import Change


class Lines:
    """A text, and the units in which columns are counted: UTF-16 unless the client can do better."""

    def __init__(self, text: str, encoding: str) -> None:
        self.text = text
        self.lines = text.splitlines(keepends=True)
        self.encoding = encoding

    def range_of(self, site: Site) -> types.Range:
        """A site's span; one without an end goes to the end of its line."""
        last = self._bare(site.end_line - 1)
        end = site.end_column if site.end_column is not None else len(last)
        return types.Range(self.position(site.line - 1, site.column), self.position(site.end_line - 1, end))

    def position(self, line: int, column: int) -> types.Position:
        """A line from 0 and a column in code points, for the client."""
        return types.Position(max(line, 0), self._units(self._bare(line)[:column]))

    def end_of(self, line: int) -> types.Position:
        return self.position(line, len(self._bare(line)))

    def of_change(self, change: Change) -> types.TextEdit:
        place = types.Range(self._at(change.start), self._at(change.end))
        return types.TextEdit(place, change.text)

    def _at(self, offset: int) -> types.Position:
        line = self.text.count("\n", 0, offset)
        start = self.text.rfind("\n", 0, offset) + 1
        return types.Position(line, self._units(self.text[start:offset]))

    def _bare(self, line: int) -> str:
        return self.lines[line].rstrip("\r\n") if 0 <= line < len(self.lines) else ""

    def _units(self, text: str) -> int:
        if self.encoding == types.PositionEncodingKind.Utf8:
            return len(text.encode("utf-8", "surrogatepass"))
        if self.encoding == types.PositionEncodingKind.Utf32:
            return len(text)
        return len(text.encode("utf-16-le", "surrogatepass")) // 2


def overlap(one: types.Range, other: types.Range) -> bool:
    def key(position: types.Position) -> tuple[int, int]:
        return position.line, position.character

    return key(one.start) <= key(other.end) and key(other.start) <= key(one.end)
