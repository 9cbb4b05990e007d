"""Which line of the program as it was a line of the patched program is."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from afterward.model.training import Line

ALIKE = 0.5  # two lines are one line, changed


class LineMap:
    """Lines of patched files as lines of the files as they were. A line that came in new has none."""

    def __init__(self, before: Mapping[str, str], after: Mapping[str, str]) -> None:
        self._before, self._after = before, after
        self._maps: dict[str, dict[int, int]] = {}

    def back(self, line: Line | None) -> Line | None:
        """The line as it was."""
        if line is None or self._before.get(line.file) == self._after.get(line.file):
            return line
        was = self._of(line.file).get(line.line)
        return Line(line.file, was) if was is not None else None

    def unchanged(self, line: Line | None) -> Line | None:
        """The line as it was, if the patch has left its text as it was."""
        was = self.back(line)
        if was is None or line is None:
            return None
        return was if text_of(self._before, was) == text_of(self._after, line) else None

    def gone(self, file: str) -> set[int]:
        """The lines of a file that the patched program has no more."""
        if file not in self._after or self._before.get(file) == self._after[file]:
            return set()
        count = len(self._before.get(file, "").splitlines())
        return set(range(1, count + 1)) - set(self._of(file).values())

    def _of(self, file: str) -> dict[int, int]:
        if file not in self._maps:
            self._maps[file] = _matched(self._before.get(file, "").splitlines(), self._after[file].splitlines())
        return self._maps[file]


def text_of(sources: Mapping[str, str], line: Line) -> str:
    """What a line says, without its indentation."""
    lines = sources.get(line.file, "").splitlines()
    return lines[line.line - 1].strip() if 0 < line.line <= len(lines) else ""


def _matched(old: list[str], new: list[str]) -> dict[int, int]:
    found: dict[int, int] = {}
    blocks: list[tuple[list[int], list[int]]] = []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            found.update({c + n + 1: a + n + 1 for n in range(b - a)})
        else:
            blocks.append((list(range(a, b)), list(range(c, d))))

    def match(gone: list[int], came: list[int], exact: bool) -> None:
        for place in list(came):
            like = {n: _likeness(old[n], new[place], exact) for n in gone}
            best = max(like, key=lambda n: (like[n], -abs(n - place)), default=None)
            if best is not None and like[best] >= ALIKE and place + 1 not in found:
                found[place + 1] = best + 1
                gone.remove(best)
                came.remove(place)

    def everywhere() -> tuple[list[int], list[int]]:
        left = {n for gone, _ in blocks for n in gone} - {was - 1 for was in found.values()}
        return sorted(left), [n for _, came in blocks for n in came if n + 1 not in found]

    match(*everywhere(), exact=True)  # a line that only moved
    taken = set(found.values())
    for gone, came in blocks:  # one that was changed where it stands
        match([n for n in gone if n + 1 not in taken], [n for n in came if n + 1 not in found], exact=False)
    match(*everywhere(), exact=False)  # one that was moved and changed
    return found


def _likeness(old: str, new: str, exact: bool) -> float:
    old, new = old.strip(), new.strip()
    if not old or not new:
        return 0.0
    return float(old == new) if exact else difflib.SequenceMatcher(None, old, new).ratio()
