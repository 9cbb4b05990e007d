"""The account of saved values as a table for a reader."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.figures import human
from afterward.model.memory import Allocator, LineBytes, Memory, PassBytes
from afterward.model.site import Site
from afterward.render.paths import shown
from afterward.render.source import SourceTexts
from afterward.render.text import WIDTH

SHOWN = 12  # lines of the program; the rest is summed up


def as_table(memory: Memory, width: int = WIDTH) -> str:
    """The account as text."""
    return "\n".join(line.rstrip() for line in _lines(memory, width)) + "\n"


def _lines(memory: Memory, width: int) -> Iterator[str]:
    yield f"memory: {human(memory.bytes)} of saved values at the peak"
    if memory.site is not None:
        yield f"        when call {memory.step} of {_place(memory.site)} started"
    rows = [(row.bytes, _place(row.site), _text(row)) for row in memory.lines[:SHOWN]]
    rest = memory.lines[SHOWN:]
    if rest:
        rows.append((sum(row.bytes for row in rest), f"{len(rest)} more lines", ""))
    if memory.unplaced:
        rows.append((memory.unplaced, "no line of yours", ""))
    column = max((len(place) for _, place, _ in rows), default=0)
    for size, place, text in rows:
        share = 100 * size / memory.bytes if memory.bytes else 0.0
        yield _fitted(f"{human(size):>10} {share:>4.0f} %  {place:<{column}}  {text}", width)
    yield f"{human(memory.bytes):>10}  100 %  in {memory.nodes:,} nodes"
    yield from (f"{figure:>10}  {words}" for figure, words in remarks(memory))
    yield ""
    yield "largest graph of each line that calls backward, and what `retain_graph` keeps:"
    for one in memory.passes:
        yield _fitted(f"{human(one.most):>10}  {_place(one.site)}  {_passes(one)}", width)
    if memory.allocator is not None:
        yield ""
        yield from _allocator(memory, memory.allocator)


def remarks(memory: Memory, shown: str = "") -> Iterator[tuple[str, str]]:
    """What is to be known of the figures: (a figure, what it is). `shown`: how a picture shows what is held anyway."""
    anyway = sum(row.held_anyway for row in memory.lines)
    sizes = (
        (anyway, f"{shown}in tensors that a variable also holds; they stay in memory"),
        (memory.other, "in other graphs that were in memory then"),
        (memory.parameters, "of parameters saved too; not counted: they are in memory anyway"),
    )
    yield from ((human(size), words) for size, words in sizes if size)
    if memory.packed:
        yield f"{memory.packed:,}", "saved values are kept by hooks (checkpoints, offloading); not counted"
    if memory.not_counted:
        yield f"{memory.not_counted:,}", "passes could not be counted: their graphs are too large"


def _passes(one: PassBytes) -> str:
    count = f"{one.passes:,} call{'s' if one.passes != 1 else ''}"
    if not one.retaining:
        return f"{count}; freed each time"
    some = "each" if one.retaining == one.passes else f"{one.retaining:,} of them"
    return f"{count}; {some} keeping up to {human(one.kept)}"


def _allocator(memory: Memory, figures: Allocator) -> Iterator[str]:
    grown = figures.at_pass - figures.before
    if 0 < memory.bytes <= 1.2 * grown:
        part = f"; saved values: {100 * memory.bytes / grown:.0f} %"
    else:  # `retain_graph`, or a loss that was kept
        part = ", which held a graph"
    yield f"allocator ({figures.device}): {human(grown)} more than after the last step{part}"
    yield f"{human(figures.peak):>10}  its peak in the run, with parameters, gradients, temporaries"


def _place(site: Site | None) -> str:
    return f"{shown(site.file)}:{site.line}" if site is not None else "?"


def _text(row: LineBytes) -> str:
    return SourceTexts().line(row.site.file, row.site.line).strip()


def _fitted(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."
