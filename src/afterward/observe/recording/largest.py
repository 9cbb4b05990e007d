"""Of the passes that were looked at, the one whose graph had saved most, line by line: the look has read it anyway."""

from __future__ import annotations

from afterward.model.memory import LineBytes
from afterward.observe.failure.walk import Shown
from afterward.observe.provenance.sources import Sources
from afterward.observe.recording.recorder import Recorder
from afterward.observe.replay.executing import Executing


class Largest:
    """Bytes of saved values by the number of the statement that made the node which saved them first."""

    def __init__(self) -> None:
        self.bytes = 0
        self._saved: dict[int, list[int]] = {}

    def look(self, recorder: Recorder, shown: Shown) -> None:
        if shown.bytes <= self.bytes:
            return
        self.bytes, self._saved = shown.bytes, {}
        statement_of = Executing(recorder)
        for order, size in shown.storages:
            statement = statement_of(order)
            if statement is not None:
                self._saved.setdefault(statement, []).append(size)

    def lines(self, sources: Sources) -> tuple[LineBytes, ...]:
        """Largest first."""
        table = sources.statements.table
        found = [LineBytes(sources.site(table[one]), sum(sizes), len(sizes)) for one, sizes in self._saved.items()]
        return tuple(sorted(found, key=lambda row: (-row.bytes, row.site.file, row.site.line)))
