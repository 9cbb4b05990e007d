"""How a watched run stands at a moment: what a live view is made of."""

from __future__ import annotations

from dataclasses import dataclass

from afterward.model.diagnosis import Diagnosis


@dataclass(frozen=True, slots=True)
class Progress:
    """Counts so far, and the size of the graph at the passes that were looked at for it, oldest first."""

    seconds: float
    steps: int
    passes: int
    nodes: tuple[int, ...] = ()
    bytes: tuple[int, ...] = ()
    findings: tuple[Diagnosis, ...] = ()  # what would be said if the run ended now
