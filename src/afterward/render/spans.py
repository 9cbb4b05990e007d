"""Lines made of pieces, each of a kind; a terminal gives each kind its colour."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a line and what it is."""

    text: str
    style: str = ""


Line = tuple[Span, ...]


def wrapped(prefix: str, text: str, style: str, width: int) -> Iterator[Line]:
    """A paragraph with a word before it, the rest of it indented."""
    parts = textwrap.wrap(text, width - len(prefix), break_long_words=False, break_on_hyphens=False)
    for number, part in enumerate(parts):
        yield (Span(prefix if number == 0 else " " * len(prefix), style), Span(part))
