"""What operations build and save, as it was read from torch: `saves.json`, made ready to use.

`tools/generate_saves.py` writes that file. For each operation and each pattern of arguments that need
gradients it lists the nodes that come to be, where their edges go, and whose values they save.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any
from zlib import crc32

# Operations whose derivative is plus or minus the incoming gradient itself, one sign an argument.
SIGNS: dict[str, tuple[int, ...]] = {
    "add": (1, 1),
    "add_": (1, 1),
    "add_s": (1, 1),
    "add_v": (1, 1),
    "add_v_": (1, 1),
    "add_scalar": (1,),
    "add_scalar_": (1,),
    "radd_scalar": (1,),
    "sub": (1, -1),
    "sub_": (1, -1),
    "sub_s": (1, -1),
    "sub_scalar": (1,),
    "rsub_scalar": (-1,),
    "neg": (-1,),
    "neg_": (-1,),
    "clone": (1,),
}

OWN = 1 << 20  # a value that belongs to the operation alone: no one can write to it
NUMBER = OWN + 1  # a plain number, like the 2 in `x * 2`: always in the node's own keeping


@dataclass(frozen=True, slots=True)
class NodePlan:
    """One node to build. An edge is an argument (-1 for the first, -2, ...) or (node, slot), or nothing."""

    name: str
    code: int
    edges: tuple[int | tuple[int, int] | None, ...]
    saves: tuple[int, ...]  # -1, -2 ... an argument; 0, 1 ... a result; OWN; NUMBER
    scales: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Pattern:
    """The nodes an operation builds when just these arguments need gradients."""

    nodes: tuple[NodePlan, ...]
    ends: tuple[tuple[int, int] | None, ...]  # the node and slot of each result


@dataclass(frozen=True, slots=True)
class Operation:
    name: str
    code: int
    call: str  # its source, with {0}, {1} for the arguments
    shapes: tuple[str, ...]
    outs: tuple[str, ...]
    views: tuple[int | None, ...]  # whose view each result is: an argument, -1 for something hidden
    same: tuple[int | None, ...]  # which argument a result simply is
    has_views: bool
    one_of_many: bool
    in_place: bool
    random: bool
    layout: bool  # builds other nodes when an argument lies transposed in memory: read for plain ones
    apart: bool  # wants special arguments: not for random programs
    patterns: dict[tuple[bool, ...], Pattern]

    def pattern(self, needs: tuple[bool, ...]) -> Pattern:
        """What it builds when just these arguments need gradients; where torch was not asked about them, the narrowest
        that was read and holds them."""
        found = self.patterns.get(needs)
        if found is None:
            wider = [key for key in self.patterns if all(a or not b for a, b in zip(key, needs, strict=False))]
            found = self.patterns[min(wider, key=sum) if wider else next(iter(self.patterns))]
            self.patterns[needs] = found
        return found


def _plan(row: list[Any], code: int, scales: tuple[int, ...] | None) -> NodePlan:
    name, edges, saves = row

    def edge(entry: Any) -> int | tuple[int, int] | None:
        if entry is None:
            return None
        if isinstance(entry[0], str):
            return -1 - int(entry[0][1:])
        return (entry[0], entry[1])

    def owner(label: str) -> int:
        if label == "own":
            return OWN
        if label == "number":
            return NUMBER
        return -1 - int(label[1:]) if label[0] == "i" else int(label[1:])

    return NodePlan(name, code, tuple(map(edge, edges)), tuple(owner(who) for _, who in saves), scales)


def _operation(name: str, entry: dict[str, Any]) -> Operation:
    patterns = {}
    for key, reading in entry["patterns"].items():
        single = len(reading["nodes"]) == 1
        nodes = []
        for i, row in enumerate(reading["nodes"]):
            # Alone, a node means the same whichever arguments need gradients; among others it may not.
            code = crc32(row[0].encode() if single else f"{row[0]} {i} {key}".encode())
            nodes.append(_plan(row, code, SIGNS.get(name) if single else None))
        # A result that is an argument, handed through, keeps the history it has.
        ends = tuple(None if end is None or isinstance(end[0], str) else (end[0], end[1]) for end in reading["outs"])
        patterns[tuple(digit == "1" for digit in key)] = Pattern(tuple(nodes), ends)
    outs = tuple(entry["outs"])
    views = tuple(entry.get("views", (None,) * len(outs)))
    return Operation(
        name,
        crc32(name.encode()),
        entry["call"],
        tuple(entry["shapes"]),
        outs,
        views,
        tuple(entry.get("same", (None,) * len(outs))),
        any(view is not None for view in views),
        entry.get("multi", False),
        entry.get("in_place", False),
        entry.get("random", False),
        entry.get("layout", False),
        entry.get("apart", False),
        patterns,
    )


Saves = str | tuple[int, ...]


class _WorkedOut(dict[tuple[bool, ...], Pattern]):
    """Patterns that follow from a rule, each made when it is first asked for."""

    def __init__(self, make: Callable[[tuple[bool, ...]], Pattern]) -> None:
        super().__init__()
        self.make = make

    def get(self, needs: tuple[bool, ...], default: Any = None) -> Pattern:
        found = super().get(needs)
        if found is None:
            found = self[needs] = self.make(needs)
        return found


def _edges(needs: tuple[bool, ...], first: int = 0) -> tuple[int | None, ...]:
    return tuple(-1 - first - at if needed else None for at, needed in enumerate(needs))


@lru_cache(maxsize=4096)
def unlisted(node: str, arity: int, saves: Saves = "", outs: int = 1, view: bool = False) -> Operation:
    """An operation that was not read from torch: one node. What it saves is said: "all" arguments, "others" (a product
    keeps each factor for the gradients of the others), a value of its "own", nothing, or whose, as in the table."""
    code = crc32(node.encode())

    def make(needs: tuple[bool, ...]) -> Pattern:
        whose: tuple[int, ...] = ()
        if not isinstance(saves, str):
            whose = saves
        elif saves == "all":
            whose = tuple(-1 - at for at in range(arity))
        elif saves == "others":
            whose = tuple(-1 - at for at in range(arity) if any((*needs[:at], *needs[at + 1 :])))
        elif saves == "own":
            whose = (OWN,)
        plan = NodePlan(node, code, _edges(needs), whose, None)
        return Pattern((plan,), tuple((0, slot) for slot in range(outs)))

    views = (0 if view else None,) * outs
    shapes, results = ("",) * arity, ("",) * outs
    return Operation(
        node, code, "", shapes, results, views, (None,) * outs, view, False, False, False, False, True, _WorkedOut(make)
    )


@lru_cache(maxsize=1024)
def with_more(name: str, more: int) -> Operation:
    """An operation of the table with further arguments than it has there: their gradients come from its last node."""
    operation = table()[name]
    arity = len(operation.shapes)

    def make(needs: tuple[bool, ...]) -> Pattern:
        pattern = operation.pattern(needs[:arity])
        *others, last = pattern.nodes or (NodePlan(f"{name}Backward", operation.code, (), (), None),)
        edges = (*last.edges, *_edges(needs[arity:], arity))
        ends = pattern.ends if pattern.nodes else tuple((0, slot) for slot in range(len(operation.outs)))
        return Pattern((*others, replace(last, edges=edges, scales=None)), ends)

    return replace(operation, shapes=(*operation.shapes, *("",) * more), patterns=_WorkedOut(make))


class Table(dict[str, Operation]):
    """Operations by name, each made ready when it is first asked for."""

    def __init__(self, raw: dict[str, Any], torch: str) -> None:
        super().__init__()
        self.raw = raw
        self.torch = torch

    def __missing__(self, name: str) -> Operation:
        operation = self[name] = _operation(name, self.raw[name])
        return operation


@lru_cache(maxsize=1)
def table() -> Table:
    """The table that ships with afterward, with the torch version it was read from."""
    raw = json.loads((Path(__file__).parent / "saves.json").read_text(encoding="utf-8"))
    return Table(raw["operations"], raw["torch"])
