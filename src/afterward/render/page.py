"""Shows a rule's page on a terminal."""

from __future__ import annotations

from typing import IO


def show_page(page: str, stream: IO[str]) -> None:
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(file=stream, width=min(Console().width, 100))
    console.print(Markdown(page))
