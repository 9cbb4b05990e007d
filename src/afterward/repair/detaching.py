"""How a value of unknown shape is detached: trials tell what it is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from afterward.model.diagnosis import Bridge
from afterward.model.shapes import TENSOR, Shape, cut_lines, detached
from afterward.repair.names import fresh
from afterward.repair.source import Source, Statement
from afterward.repair.workshop import Workshop

_LONGEST = 4  # parts that are written out one by one
DEEPEST = 4


# What trials tell


def shapes_in(structure: Any) -> Iterator[Shape]:
    """The shapes of a value as a trial saw it; of an object, each attribute is one way."""
    if structure == "tensor":
        yield TENSOR
    if not isinstance(structure, tuple):
        return
    kind, name, parts = structure
    if kind == "object":
        for label, part in parts:
            if part == "none":  # empty as yet
                yield Shape(kind, parts=((label, Shape(beside="empty")),), name=name)
            for inner in shapes_in(part):
                yield Shape(kind, parts=((label, inner),), name=name)
        return
    shape = _shape(kind, name, parts)
    if shape is not None:
        yield shape


def _shape(kind: str, name: str, parts: tuple[tuple[str, Any], ...]) -> Shape | None:
    inner = [_of_part(part) for _, part in parts]
    if any(isinstance(part, tuple) and shape is None for (_, part), shape in zip(parts, inner, strict=True)):
        return None
    if kind in ("namedtuple", "record", "frozen"):
        labelled = tuple((label, shape) for (label, _), shape in zip(parts, inner, strict=True))
        return Shape(kind, parts=labelled, name=name)
    found = [shape for shape in inner if shape is not None]
    one = _merged(found) if parts else TENSOR  # empty as yet
    if one is not None:
        others = {part for _, part in parts if part in ("none", "other")}
        return Shape(kind, one, "any" if "other" in others else "none" if others else "", name=name)
    if found and len(parts) <= _LONGEST and kind in ("tuple", "dict"):
        return Shape(kind, parts=tuple((label, s) for (label, _), s in zip(parts, inner, strict=True)), name=name)
    return None


def _of_part(structure: Any) -> Shape | None:
    return next(shapes_in(structure), None) if structure != "none" else None


def _merged(shapes: list[Shape]) -> Shape | None:
    """One shape for all of them, if they are alike but for what they hold beside tensors."""
    if not shapes:
        return None
    first, rest = shapes[0], shapes[1:]
    for other in rest:
        if first == other:
            continue
        if first.kind != other.kind or first.inner is None or other.inner is None:
            return None
        inner = _merged([first.inner, other.inner])
        if inner is None:
            return None
        beside = "any" if "any" in (first.beside, other.beside) else first.beside or other.beside
        first = Shape(first.kind, inner, beside, name=first.name)
    return first


def _filled(shape: Shape, structure: Any) -> Shape | None:
    """A shape with what its innermost containers turned out to hold."""
    if shape.kind == "tensor":
        return next(shapes_in(structure), None)
    if shape.parts:
        parts = [(label, _filled(part, structure) if part is not None else None) for label, part in shape.parts]
        kept = [label for label, part in shape.parts if part is not None]
        return replace(shape, parts=tuple(parts)) if kept == [label for label, part in parts if part] else None
    if shape.inner is TENSOR and structure in ("none", "other"):
        return replace(shape, beside="any" if structure == "other" or shape.beside == "any" else "none")
    inner = _filled(shape.inner, structure) if shape.inner is not None else None
    return replace(shape, inner=inner) if inner is not None else None


class Shapes:
    """The shapes to try for one value, as trials tell what it really is."""

    def __init__(self, shop: Workshop, likely: Shape = TENSOR, bridge: Bridge | None = None) -> None:
        # A trial tells what a value is by refusing to detach what is no tensor; without trials, guess.
        self._left = [TENSOR if shop.tries else likely]
        self._tried: list[tuple[Shape, str]] = []
        self._now = TENSOR
        self.guard = "{} is not None" if bridge is not None and bridge.from_none and not shop.tries else ""

    def __bool__(self) -> bool:
        return bool(self._left)

    def expression(self, name: str) -> str | None:
        """The next shape's expression; None: it takes statements, or is unknown to us."""
        shape = self.take()
        return detached(name, shape) if not self.guard else None

    def lines(self, name: str, source: Source, near: Statement) -> tuple[str, ...]:
        """The next shape's statements, laid out as those near by."""
        unit = source.unit(near)
        lines = cut_lines(name, self.take(), (fresh(source, "k"), fresh(source, "v")))
        if self.guard and lines:
            lines = (f"if {self.guard.format(name)}:", *(f"    {line}" for line in lines))
        return tuple(re.sub(r"^( {4})+", lambda found: unit * (len(found[0]) // 4), line) for line in lines)

    def take(self) -> Shape:
        self._now = self._left.pop(0)
        self._tried.append((self._now, self.guard))
        return self._now

    def learn(self, answer: str | None) -> None:
        """From the error of a trial, and what it says about the value; None where the patch was not tried."""
        error, _, seen = (answer or "").partition("\n")
        structure = ast.literal_eval(seen) if seen else None
        if "object has no attribute 'detach'" not in error or structure is None:
            return
        if self._now != TENSOR:  # it was empty when it was looked at first
            known = _filled(self._now, structure)
            if known is not None:
                self._again(known, self.guard)
        elif structure == "none":
            self._again(self._now, "{} is not None")
        elif structure == "other":
            self._again(self._now, "torch.is_tensor({})")
        else:
            for shape in shapes_in(structure):
                self._again(shape, self.guard)

    def _again(self, shape: Shape, guard: str) -> None:
        if (shape, guard) not in self._tried and shape.depth <= DEEPEST + 1:
            self.guard = guard
            self._left.append(shape)
