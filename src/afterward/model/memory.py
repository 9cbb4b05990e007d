"""The account of what a graph makes the program hold: bytes of saved values, line by line, at the peak."""

from __future__ import annotations

from dataclasses import dataclass

from afterward.model.site import Site


@dataclass(frozen=True, slots=True)
class LineBytes:
    """What the nodes made by one statement have saved; a storage counts for the first node that saved it."""

    site: Site
    bytes: int
    storages: int
    held_anyway: int = 0  # of these bytes, those in a tensor that a variable of the program names too


@dataclass(frozen=True, slots=True)
class PassBytes:
    """The passes of one line: what they found saved."""

    site: Site
    call: str
    passes: int
    retaining: int  # of these, how many kept it with `retain_graph=True` or `create_graph=True`
    most: int  # bytes of saved values that one of them found
    kept: int  # bytes that a retaining one kept at most


@dataclass(frozen=True, slots=True)
class Allocator:
    """The GPU allocator's own figures, gradients taken out."""

    device: str
    before: int  # bytes allocated after the optimizer step before the pass
    at_pass: int  # bytes allocated as the pass began
    peak: int  # the highest figure of the whole run


@dataclass(frozen=True, slots=True)
class Memory:
    """Saved values at the peak: as the pass began that found most of them alive."""

    bytes: int
    nodes: int
    site: Site | None
    step: int | None  # the how-manyeth pass of its line that was
    lines: tuple[LineBytes, ...] = ()  # largest first
    unplaced: int = 0  # bytes whose statement is not known
    other: int = 0  # of `bytes`, those that depend on other graphs which were alive then
    parameters: int = 0  # bytes of parameters that the graph saved too; not counted, they are there anyway
    packed: int = 0  # saved values that a hook keeps elsewhere (checkpointing, offloading); not counted
    passes: tuple[PassBytes, ...] = ()
    allocator: Allocator | None = None
    not_counted: int = 0  # passes whose graph was too large to be walked
