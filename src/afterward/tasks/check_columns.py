"""Columns as the reader counts them: in code points (`ast` counts bytes of UTF-8), and in the text as it was pasted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from afterward.model.diagnosis import Bridge, Diagnosis, Label, Remedy
from afterward.model.site import Site

Placed = TypeVar("Placed", Bridge, Label, Remedy)


def in_code_points(found: Diagnosis, texts: Mapping[str, bytes]) -> Diagnosis:
    """A finding with its columns counted as everyone else counts them."""

    def move(one: Site) -> Site:
        text = texts.get(one.file)
        return _moved(one, text) if text is not None and not text.isascii() else one

    return _placed(found, move)


def as_pasted(found: Diagnosis, moved: Sequence[int]) -> Diagnosis:
    """A finding in a fragment whose lines were moved to the left so that they parse."""

    def column(line: int, here: int | None) -> int | None:
        return here + moved[line - 1] if here is not None and 0 < line <= len(moved) else here

    def move(one: Site) -> Site:
        return replace(one, column=column(one.line, one.column) or 0, end_column=column(one.end_line, one.end_column))

    return _placed(found, move) if any(moved) else found


def _placed(found: Diagnosis, move: Callable[[Site], Site]) -> Diagnosis:
    def site(one: Site | None) -> Site | None:
        return move(one) if one is not None else None

    def part(one: Placed) -> Placed:
        moved = site(one.site)
        return replace(one, site=moved) if moved is not None and moved is not one.site else one

    return replace(
        found,
        primary=part(found.primary),
        secondary=tuple(part(one) for one in found.secondary),
        remedies=tuple(part(one) for one in found.remedies),
        bridge=part(found.bridge) if found.bridge is not None else None,
        other_bridges=tuple(part(one) for one in found.other_bridges),
        built=site(found.built),
        freed=site(found.freed),
        reused=site(found.reused),
        written=site(found.written),
        cut=site(found.cut),
    )


def _moved(site: Site, text: bytes) -> Site:
    lines = text.split(b"\n")
    column = _points(lines, site.line, site.column)
    end = _points(lines, site.end_line, site.end_column) if site.end_column is not None else None
    return replace(site, column=column, end_column=end)


def _points(lines: list[bytes], line: int, column: int) -> int:
    if not 0 < line <= len(lines):
        return column
    return len(lines[line - 1][:column].decode("utf-8", "replace"))
