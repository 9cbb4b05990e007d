"""What came of one file of a check."""

from __future__ import annotations

from dataclasses import dataclass

from afterward.model.diagnosis import Diagnosis


@dataclass(frozen=True, slots=True)
class Checked:
    """What came of one file."""

    file: str
    findings: tuple[Diagnosis, ...] = ()
    gaps: tuple[str, ...] = ()
    error: str | None = None
    read: tuple[str, ...] = ()  # other files that the answer depends on
