"""What came of one file of a check."""

from __future__ import annotations

from dataclasses import dataclass

from afterward.model.diagnosis import Diagnosis
from afterward.model.saved import Chapter

Line = tuple[str, int]  # file, line


@dataclass(frozen=True, slots=True)
class Looked:
    """What a check of one file has looked at. Another file's program may lead to what this one's did not come to."""

    loops: tuple[Line, ...] = ()  # training loops that were interpreted
    analysed: tuple[Line, ...] = ()  # calls of backward that were
    missed: tuple[tuple[str, int, str], ...] = ()  # calls of backward that were not, and why


NOTHING = Looked()


@dataclass(frozen=True, slots=True)
class Checked:
    """What came of one file."""

    file: str
    findings: tuple[Diagnosis, ...] = ()
    gaps: tuple[str, ...] = ()
    error: str | None = None
    read: tuple[str, ...] = ()  # other files that the answer depends on
    looked: Looked = NOTHING
    chapters: tuple[Chapter, ...] = ()  # the histories of the findings, of a text that is not on disk
