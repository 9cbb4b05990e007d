"""What one step of training hands to the next: values, by the names of the loop's function, that a later backward
pass goes through. Exact, by the order of nodes; it takes a search for names, so one pair of passes is looked at."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from inspect import signature
from types import FrameType, FunctionType
from typing import Any

from afterward.model.training import Border, Carried
from afterward.observe import compat
from afterward.observe.marks.stack import user_frames
from afterward.observe.marks.userfiles import is_user_file
from afterward.observe.node_numbers import order_of
from afterward.observe.provenance.frame_values import NOT_THERE, value_of
from afterward.observe.provenance.naming import search
from afterward.observe.proving.structure import structure_of

_SLOTS = ("list", "dict", "mapping", "record", "object")  # what can be given another part

Way = list[tuple[str, Any]]  # from a variable to a value: each name, and what it stands for


@dataclass
class Handover:
    """The values with a graph as a step ends: their names, and the order of their nodes."""

    frame: FrameType
    values: list[tuple[str, int]]

    @classmethod
    def at(cls, border: Border, frame: FrameType) -> Handover | None:
        """In the innermost function that stands in the loop."""
        for each in user_frames(frame, is_user_file):
            if each.f_code.co_filename == border.file and border.first <= each.f_lineno <= border.last:
                held = search([each], is_user_file).held
                return cls(each, [(one.name, order_of(one.node)) for one in held])
        return None

    @property
    def orders(self) -> frozenset[int]:
        """Of the nodes that had a name."""
        return frozenset(order for _, order in self.values)

    def into(self, nodes: Iterable[Any]) -> list[Carried]:
        """Those that a later step begins with, each by the longest name that a statement can give another value.

        `nodes` are where the graph of that step meets the graph of the steps before.
        """
        orders = {order_of(node) for node in nodes}
        ways = [_way(self.frame, name) for name, order in self.values if order in orders]
        slots = [_slot(way) for way in ways if way]
        wholes = [way[-2][0] if len(way) > 1 else "" for way in slots]
        rows = [wholes.count(whole) > 1 and _is_row(way) for way, whole in zip(slots, wholes, strict=True)]
        found = {way[-1][0]: way for way in (_slot(w[:-1]) if row else w for w, row in zip(slots, rows, strict=True))}
        return [Carried(name, structure_of(way[-1][1]), _own_method(way)) for name, way in found.items()]


def _way(frame: FrameType, name: str) -> Way:
    """The way to a value; nothing where the function cannot say its name, or means another value by it."""
    try:
        part = ast.parse(name, mode="eval").body
    except SyntaxError:
        return []
    way: Way = []
    while isinstance(part, (ast.Attribute, ast.Subscript)):
        way.append((_spelling(name, part), value_of(part, frame)))
        part = part.value
    way.append((_spelling(name, part), value_of(part, frame)))
    return way[::-1] if way[0][1] is not None and way[0][1] is not NOT_THERE else []


def _spelling(name: str, part: ast.expr) -> str:
    return name.encode()[: part.end_col_offset].decode()


def _slot(way: Way) -> Way:
    """As far as something can be given another value: a tuple's part cannot, the tuple can."""
    while len(way) > 1 and _kind(way[-2][1]) not in _SLOTS:
        way = way[:-1]
    return way


def _is_row(way: Way) -> bool:
    return len(way) > 1 and _kind(way[-2][1]) in ("list", "dict")


def _kind(value: Any) -> str:
    found = structure_of(value)
    return str(found[0]) if isinstance(found, tuple) else "object" if hasattr(value, "__dict__") else ""


def _own_method(way: Way) -> str:
    """`memory.detach`: a method without arguments by which what keeps the value cuts it."""
    kind = compat.torch_module().nn.Module
    for name, owner in way[:-1][::-1]:
        for method in sorted(dir(type(owner))) if isinstance(owner, kind) else ():
            made = getattr(type(owner), method, None)
            if method.startswith("detach") and isinstance(made, FunctionType) and len(signature(made).parameters) == 1:
                return f"{name}.{method}"
    return ""
