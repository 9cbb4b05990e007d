"""Keeps account, while a program is interpreted, of what raises nothing: gradients that are used and not zeroed, losses
that are overwritten, and what has gone out of sight and can no longer be judged."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from afterward.interpret.graph.graph import Cutting, GraphNode, Tensor
from afterward.interpret.machine.values import Bound, Class, Function, Instance, Iter, Lib, Star, Value
from afterward.model.site import Site, Turn, Where

if TYPE_CHECKING:
    from afterward.interpret.library.torch.passes import PassMade
    from afterward.interpret.machine.core import Frame

_CUTS = (".detach()", ".data", "torch.no_grad()", "torch.inference_mode()", "torch.tensor(...)")
_DEEP = 5  # how far into objects something that goes out of sight is followed
_REMEMBERED = 24  # values that one name was given, one after the other


@dataclass(slots=True)
class Gradient:
    """What is known about the gradient of a leaf since the last pass that added to it."""

    value: Tensor
    writes: int
    used: bool = False  # the leaf was changed with it
    read: bool = False  # by the program itself
    made_by: PassMade | None = None
    mixed: PassMade | None = None  # the pass that added to it although it had been used


@dataclass(frozen=True, slots=True)
class Wiped:
    """A gradient that was zeroed though nothing had used it: made by which pass, zeroed where."""

    made_by: PassMade
    where: Where
    writes: int


@dataclass(frozen=True, slots=True)
class Assigned:
    """A value with a history that a statement gave to a name."""

    node: GraphNode
    statement: ast.stmt
    file: str
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Dropped:
    """A loss that was overwritten in a loop, and the pass after the loop that swept the last one."""

    name: str
    values: tuple[Assigned, ...]
    last: Assigned
    loop: int  # which entry into which loop
    swept_by: PassMade


class Account:
    """What one run of a program has shown beside its errors."""

    def __init__(self) -> None:
        self.gradients: dict[int, Gradient] = {}
        self.lost: dict[int, GraphNode] = {}  # their tensors were given to something unknown
        self.touched: set[int] = set()  # leaves that something unknown can reach
        self.strange: list[Instance] = []  # objects with methods that are not known
        self.assigned: dict[tuple[int, str], deque[Assigned]] = {}
        self.named: dict[int, tuple[int, str]] = {}  # by the node of the value: in which call, by which name
        self.dropped: list[Dropped] = []
        self.cut: list[tuple[Cutting, GraphNode | None, Tensor | None]] = []
        self.cut_names: dict[Site, dict[str, None]] = {}  # names given to values, by where they lost their history
        self.by_hand: set[int] = set()  # leaves that the program itself changes
        self.wiped: dict[int, Wiped] = {}  # leaves whose gradient was zeroed before anyone used it
        self.early: list[tuple[Instance, Wiped]] = []  # steps of optimizers that were left with nothing
        self.blind = False  # a pass was run from something unknown
        self.surveyed = 0  # passes there were at the last look for records that hold graphs
        self.kept: dict[str, Any] = {}
        self.driven: dict[str, Value] = {}  # objects whose methods a library calls, by the name they have there
        self.seen: set[int] = set()

    # Cuts, and leaves that are changed by hand

    def cuts(self, cut: Cutting | None, values: Iterable[Tensor]) -> None:
        """Values lose their history here: so do the parameters behind them."""
        if cut is not None and cut.how in _CUTS and len(self.cut) < 300:
            for value in values:
                self.cut.append((cut, value.node, value if value.node is None else None))

    # Gradients

    def before(self, made: PassMade) -> None:
        """A pass is about to add to the gradients of its leaves."""
        for leaf in made.leaves:
            known = self._present(leaf)
            if known is None:
                continue
            if known.used:
                known.mixed = made
            else:
                made.filled.append(leaf)

    def after(self, made: PassMade) -> None:
        for leaf in made.leaves:
            if isinstance(leaf.grad, Tensor):
                known = self._present(leaf)
                entry = Gradient(leaf.grad, leaf.grad.version.count, made_by=made)
                self.wiped.pop(id(leaf), None)
                entry.mixed = known.mixed if known is not None else None
                self.gradients[id(leaf)] = entry

    def _present(self, leaf: Tensor) -> Gradient | None:
        """The gradient that the last pass left, if it is still there as it was."""
        known = self.gradients.get(id(leaf))
        if known is None or leaf.grad is not known.value or known.value.version.count != known.writes:
            self.gradients.pop(id(leaf), None)
            return None
        return known

    def updated(self, leaf: Tensor, by_hand: bool = False) -> None:
        """A leaf was changed: by an optimizer, or in place by the program, which had read the gradient."""
        known = self._present(leaf)
        if known is None or (by_hand and not known.read):
            return
        if known.mixed is not None:
            known.mixed.piled.append(leaf)
            known.mixed = None
        known.used = True

    def read_gradient(self, leaf: Tensor) -> None:
        known = self.gradients.get(id(leaf))
        if known is not None:
            known.read = True

    def zeroed(self, leaf: Tensor, where: Where | None = None) -> None:
        known = self.gradients.pop(id(leaf), None)
        if known is not None and known.made_by is not None and not (known.used or known.read) and where is not None:
            writes = leaf.grad.version.count if isinstance(leaf.grad, Tensor) else 0
            self.wiped[id(leaf)] = Wiped(known.made_by, where, writes)

    def stepped(self, optimizer: Instance, held: list[Tensor]) -> None:
        """An optimizer steps: was every gradient of it zeroed since the pass that made it?"""
        found = [self.wiped.get(id(leaf)) for leaf in held]
        if found and all(one is not None and _still(leaf, one) for leaf, one in zip(held, found, strict=True)):
            last = found[0]
            assert last is not None
            self.early.append((optimizer, last))

    def written(self, tensor: Tensor) -> None:
        """Something was written in place, also through `.data`."""
        memory = tensor.attributes.get(MEMORY)
        if isinstance(memory, Tensor):
            self.by_hand.add(id(memory))
            for leaf, known in list(self.gradients.items()):
                if known.value is memory:
                    del self.gradients[leaf]
            self.written(memory)

    # Losses that are overwritten

    def assigns(self, frame: Frame, name: str, value: Tensor) -> None:
        if value.node is None or frame.statement is None or not frame.turns:
            return
        self.named[value.node.number] = (frame.call, name)
        values = self.assigned.setdefault((frame.call, name), deque(maxlen=_REMEMBERED))
        values.append(Assigned(value.node, frame.statement, frame.file, tuple(frame.turns)))

    def look_for_dropped(self, frames: list[Frame], made: PassMade) -> None:
        """A pass begins: were there other values of that name, in a loop that is over, that it does not reach?"""
        for frame in reversed(frames):
            if frame.statement is None:
                continue
            for name in _names(frame.statement):
                values = self.assigned.get((frame.call, name))
                if values and len(values) > 1:
                    self._compare(frame.turns, name, list(values), made)
        alive = {frame.call for frame in frames}
        for root, _ in made.roots:  # what a call that is over has returned
            call, name = self.named.get(root.number, (0, ""))
            values = self.assigned.get((call, name)) if call not in alive else None
            if values and len(values) > 1 and values[-1].node is root:
                self._compare([], name, list(values), made)

    def _compare(self, turns: list[Turn], name: str, values: list[Assigned], made: PassMade) -> None:
        last, depth = values[-1], len(turns)
        if len(last.turns) <= depth or last.turns[:depth] != tuple(turns) or last.node.number not in made.swept:
            return
        loop = last.turns[depth].entry
        same = [
            one
            for one in values[:-1]
            if one.statement is last.statement and len(one.turns) > depth and one.turns[depth].entry == loop
        ]
        if same:
            self.dropped.append(Dropped(name, tuple(same), last, loop, made))

    # What goes out of sight

    def lose(self, values: Iterable[Value], depth: int = 0) -> None:
        """Values were given to something unknown: it may sweep what they lead to, and change what they hold."""
        for value in values:
            if isinstance(value, Tensor):
                if value.node is not None:
                    self.lost[value.node.number] = value.node
                else:
                    self.touched.add(id(value))
            elif isinstance(value, (list, tuple, set, deque)):
                if depth < _DEEP:
                    self.lose(list(value)[:100], depth + 1)
            elif isinstance(value, dict):
                if depth < _DEEP:
                    self.lose(list(value.values())[:100], depth + 1)
            elif isinstance(value, Star):
                self.lose([value.value], depth)
            elif isinstance(value, (Instance, Bound, Function)) and depth < _DEEP and id(value) not in self.seen:
                self.seen.add(id(value))
                self._lose_object(value, depth)

    def _lose_object(self, value: Instance | Bound | Function, depth: int) -> None:
        if isinstance(value, Instance):
            self.lose(list(value.attributes.values()), depth + 1)
            self.lose([value.inner.get("items"), value.inner.get("params"), value.inner.get("values")], depth + 1)
        elif isinstance(value, Bound):
            self.lose([value.owner, value.function], depth + 1)
        else:
            names = {node.id for node in ast.walk(value.node) if isinstance(node, ast.Name)}
            for name in names:
                scope = value.scope.find(name)
                if scope is not None and not isinstance(scope.names[name], (Class, Lib, Iter)):
                    self.lose([scope.names[name]], depth + 1)


MEMORY = "#memory"  # what `.data` of a tensor was taken from: no program can have an attribute of that name


def _still(leaf: Tensor, wiped: Wiped) -> bool:
    """Is the gradient as zeroing has left it?"""
    return leaf.grad is None or (isinstance(leaf.grad, Tensor) and leaf.grad.version.count == wiped.writes)


def _names(statement: ast.stmt) -> set[str]:
    """The names that a statement (of a compound one, its head) reads."""
    known: set[str] | None = getattr(statement, "_names_read", None)
    if known is None:
        parts: list[ast.AST] = [statement]
        if isinstance(getattr(statement, "body", None), list):
            heads = (getattr(statement, "test", None), getattr(statement, "iter", None))
            parts = [one for one in heads if one is not None]
            parts += [item.context_expr for item in getattr(statement, "items", ())]
        known = {
            n.id for part in parts for n in ast.walk(part) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
        }
        statement._names_read = known  # type: ignore[attr-defined]
    return known
