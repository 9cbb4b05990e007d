"""A bar for work that takes long, on the error stream of a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

from afterward.model.diagnosis import Remedy
from afterward.render.remedies import short_name


def progress_bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)


@contextmanager
def trial_progress(stream: IO[str]) -> Iterator[Callable[[Remedy, float], None] | None]:
    """Says what is being tried, and for how long, on a terminal; nothing elsewhere."""
    if not stream.isatty():
        yield None
        return
    from rich.console import Console

    with Console(file=stream).status("") as status:
        status.stop()

        def trying(remedy: Remedy, seconds: float) -> None:
            status.update(f"trying: {short_name(remedy)} ({seconds:.0f} s)")
            status.start()

        yield trying
