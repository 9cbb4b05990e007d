"""A change that was made in several steps, made smaller: which of its lines could be left as they were?"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

ALIKE = 0.6  # two lines are one line, changed


def smaller(before: str, after: str) -> Iterator[str]:
    """The new text with one line less of the change: a new line left out, or a changed one as it was.

    Lines that came in twice are the first to go: of what two patches have brought, the later one counts.
    """
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    changes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    came = [place for kind, _, _, c, d in changes if kind in ("insert", "replace") for place in range(c, d)]
    for number, place in enumerate(came):
        if new[place].strip() and any(new[later] == new[place] for later in came[number + 1 :]):
            yield "".join([*new[:place], *new[place + _extent(new, place) :]])
    for kind, a, b, c, d in changes:
        if kind not in ("insert", "replace"):
            continue
        taken: set[int] = set()
        for place in range(c, d):
            was = _was(new[place], old, [n for n in range(a, b) if n not in taken])
            if was is not None:
                taken.add(was)
                yield "".join([*new[:place], old[was], *new[place + 1 :]])
            elif d - c > b - a:  # else an old line would go with it, which was not taken out
                yield "".join([*new[:place], *new[place + _extent(new, place) :]])


def _was(line: str, old: list[str], places: list[int]) -> int | None:
    """The old line that a new one has come of."""
    likeness = {n: difflib.SequenceMatcher(None, old[n].strip(), line.strip()).ratio() for n in places}
    best = max(likeness, key=lambda n: likeness[n], default=None)
    return best if best is not None and likeness[best] >= ALIKE else None


def _extent(lines: list[str], place: int) -> int:
    """A head goes with what is indented below it."""
    indent = len(lines[place]) - len(lines[place].lstrip())
    if not lines[place].rstrip().endswith(":"):
        return 1
    count = 1
    while place + count < len(lines) and len(lines[place + count]) - len(lines[place + count].lstrip()) > indent:
        count += 1
    return count
