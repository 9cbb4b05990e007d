"""A bar for work that takes long, on the error stream of a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any


def progress_bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)


@contextmanager
def trial_progress(stream: IO[str]) -> Iterator[Callable[[str, float], None] | None]:
    """Says which patch is being tried, and for how long, on a terminal; nothing elsewhere."""
    if not stream.isatty():
        yield None
        return
    from rich.console import Console

    with Console(file=stream).status("") as status:
        status.stop()

        def trying(what: str, seconds: float) -> None:
            status.update(f"trying: {what} ({seconds:.0f} s)")
            status.start()

        yield trying
