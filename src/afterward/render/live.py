"""A live view of a watched run: a few lines at the bottom of a terminal, plain lines elsewhere.

On a terminal the lines below are taken out of what scrolls, so whatever the program prints goes on above them as it
would without us; nothing of the program's own output is touched or held back.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import IO

from afterward.model.diagnosis import Diagnosis
from afterward.model.figures import human
from afterward.model.progress import Progress
from afterward.render.paths import shown
from afterward.render.source import shortened
from afterward.render.template import counted
from afterward.render.wording import headline, said

ROWS = 7  # of the view
SMALLEST = (2 * ROWS, 40)  # terminal, rows and columns, that has room for it
PAUSE = 5.0  # seconds between two plain lines, at least
_BARS, _PLAIN_BARS = "▁▂▃▄▅▆▇█", "_.-=+*#@"
_STYLES = {"error": "\x1b[1;31m", "warning": "\x1b[1;33m", "info": "\x1b[1;36m"}


class LiveView:
    """Shows reports on a stream until it is closed."""

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream
        self._size: tuple[int, int] | None = None  # rows and columns that the view was set up for
        self._printed: set[tuple[str, str, int]] = set()
        self._last = time.monotonic()
        encoding = (getattr(stream, "encoding", None) or "ascii").lower()
        self._bars = _BARS if "utf" in encoding else _PLAIN_BARS

    def show(self, progress: Progress) -> None:
        size = self._terminal()
        if size is None:
            self._show_plain(progress)
            return
        if size != self._size:
            self._set_up(size)
        rows, columns = size
        drawn = [f"\x1b[{rows - ROWS + 1 + n};1H\x1b[2K{line}" for n, line in enumerate(self._lines(progress, columns))]
        self._write("\x1b7" + "".join(drawn) + "\x1b8")

    def close(self, progress: Progress | None) -> None:
        """Give the terminal back as it was, or say in one plain line what came of the run."""
        if self._size is not None:
            rows, _ = self._size
            self._size = None
            cleared = "".join(f"\x1b[{rows - n};1H\x1b[2K" for n in range(ROWS))
            self._write("\x1b7\x1b[r" + cleared + "\x1b8")
        elif progress is not None:
            print(f"afterward: {_counts(progress)}{_sizes(progress)}", file=self.stream, flush=True)

    # On a terminal

    def _terminal(self) -> tuple[int, int] | None:
        try:
            if not self.stream.isatty() or os.environ.get("TERM", "dumb") == "dumb":
                return None
            columns, rows = os.get_terminal_size(self.stream.fileno())
        except (OSError, ValueError):
            return None
        return (rows, columns) if rows >= SMALLEST[0] and columns >= SMALLEST[1] else None

    def _set_up(self, size: tuple[int, int]) -> None:
        """Let only the rows above the view scroll. The cursor stays where the program has it, or moves up with it."""
        rows, _ = size
        self._size = size
        room = "\n" * ROWS + f"\x1b[{ROWS}A"
        # To set what scrolls moves the cursor home, so it is saved before and put back after.
        self._write(f"\x1b7\x1b[r\x1b8{room}\x1b7\x1b[1;{rows - ROWS}r\x1b8")

    def _lines(self, progress: Progress, columns: int) -> list[str]:
        colour = not os.environ.get("NO_COLOR")
        width = max(min(columns - 58, 60), 8)
        title = f"-- afterward {_counts(progress)} "
        lines = [title[:columns].ljust(columns, "-")]
        lines.append(
            self._spark("one step's graph", progress.nodes, width, lambda size: counted(size, "node"))[:columns]
        )
        lines.append(self._spark("its saved values", progress.bytes, width, human)[:columns])
        room = ROWS - len(lines)
        shown = list(progress.findings)[: room if len(progress.findings) <= room else room - 1]
        for found in shown:
            text = self._fitting(_one_line(found), columns)
            style = _STYLES.get(found.severity.value, "") if colour else ""
            lines.append(f"{style}{text[: len(found.severity.value)]}\x1b[0m{text[len(found.severity.value) :]}")
            if 2 * len(progress.findings) <= room:  # then there is room for its figures
                lines.append(self._fitting(f"  {said(found).primary.text}", columns))
        if len(progress.findings) > len(shown):
            lines.append(f"and {len(progress.findings) - len(shown)} more"[:columns])
        if not progress.findings:
            lines.append("no problems so far")
        return lines + [""] * (ROWS - len(lines))

    def _fitting(self, text: str, columns: int) -> str:
        return shortened(text, columns) if self._bars == _BARS else text[:columns]

    def _spark(self, name: str, sizes: Sequence[int], width: int, word: object) -> str:
        assert callable(word)
        if not sizes:
            return f"{name}  no graph looked at yet"
        recent = list(sizes)[-width:]
        low, high = min(recent), max(recent)
        steps = len(self._bars) - 1
        bars = "".join(self._bars[(size - low) * steps // (high - low) if high > low else 0] for size in recent)
        return f"{name}  {bars.ljust(width)}  now {word(recent[-1])}, at most {word(max(sizes))}"

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()

    # Elsewhere

    def _show_plain(self, progress: Progress) -> None:
        for found in progress.findings:
            key = (found.code, found.primary.site.file, found.primary.site.line)
            if key not in self._printed:
                self._printed.add(key)
                print(f"afterward: so far: {_one_line(found)}", file=self.stream, flush=True)
        now = time.monotonic()
        if now - self._last >= max(PAUSE, progress.seconds / 10):
            self._last = now
            print(f"afterward: {_counts(progress)}{_sizes(progress)}", file=self.stream, flush=True)


def _counts(progress: Progress) -> str:
    minutes, seconds = divmod(int(progress.seconds), 60)
    passes, steps = counted(progress.passes, "backward pass"), counted(progress.steps, "optimizer step")
    return f"{minutes}:{seconds:02d}, {passes}, {steps}"


def _sizes(progress: Progress) -> str:
    if not progress.nodes:
        return ""
    now = f"{counted(progress.nodes[-1], 'node')}, {human(progress.bytes[-1])}"
    return f"; one step's graph: {now} (at most {human(max(progress.bytes))})"


def _one_line(found: Diagnosis) -> str:
    site = found.primary.site
    return f"{found.severity.value} {found.code} {shown(site.file)}:{site.line}: {headline(found)}"
