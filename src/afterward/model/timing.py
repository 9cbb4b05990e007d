"""How long statements took: what the tape's own clock has shown of the beginning of a run."""

from __future__ import annotations

from dataclasses import dataclass

from afterward.model.site import Site


@dataclass(frozen=True, slots=True)
class Timing:
    """The executions of one statement but its first, which also warms up. What it calls in the program's own files
    is counted there, not here."""

    site: Site
    executions: int
    nanoseconds: int  # of all of these together, each counted as long as the median: a busy machine interrupts some
    nodes: int = 0  # that they built
    passes: int = 0  # that they called, as far as these are on record
    steps: int = 0  # of optimizers, that they made, likewise
    fetches: Site | None = None  # the loop whose next item was fetched in the same time, as after a body's last line
    forward: int = 0  # of the nanoseconds: building the graph of the pass that the same statement called
