"""Keeps account, while a program is interpreted, of what raises nothing: gradients that are used and not zeroed, losses
that are overwritten, and what has gone out of sight and can no longer be judged."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from afterward.interpret.graph.graph import Cutting, GraphNode, Tensor
from afterward.interpret.machine.values import Bound, Class, Function, Instance, Iter, Lib, Star, Value
from afterward.model.gradients import BY_HAND, CHANGED, CLEARED, FROZEN, MISSING, PRODUCED, READ, REPLACED, USED
from afterward.model.site import Site, Where

if TYPE_CHECKING:
    from afterward.interpret.library.torch.passes import PassMade

_CUTS = (".detach()", ".data", "torch.no_grad()", "torch.inference_mode()", "torch.tensor(...)")
_DEEP = 5  # how far into objects something that goes out of sight is followed


@dataclass(slots=True)
class Gradient:
    """What is known about the gradient of a leaf since the last pass that added to it."""

    value: Tensor
    writes: int
    read: bool = False  # by the program itself


@dataclass(frozen=True, slots=True)
class Line:
    """An entry of the gradient ledger to be: what became of the gradients of these leaves."""

    what: str
    leaves: tuple[Tensor, ...]
    made: PassMade | None = None
    step: int = BY_HAND
    where: Where | None = None


class Account:
    """What one run of a program has shown beside its errors."""

    def __init__(self) -> None:
        self.gradients: dict[int, Gradient] = {}
        self.lost: dict[int, GraphNode] = {}  # their tensors were given to something unknown
        self.touched: dict[int, Tensor] = {}  # leaves that something unknown can reach, by their ids
        self.steered: set[int] = set()  # those of optimizers that something unknown was given
        self.switched: set[int] = set()  # leaves of which it is not known whether they ask for gradients
        self.asked: dict[int, Instance] = {}  # modules whose parameters were asked for
        self.strange: list[Instance] = []  # objects with methods that are not known
        self.given: dict[int, tuple[str, GraphNode]] = {}  # by node: the name that its value was given last
        self.cut: list[tuple[Cutting, GraphNode | None, Tensor | None, Where]] = []  # and where it was used without it
        self.cut_names: dict[Site, dict[str, None]] = {}  # names given to values, by where they lost their history
        self.by_hand: dict[int, int] = {}  # leaves that the program itself changes, and when it last did
        self.ledger: list[Line] = []
        self._full: set[int] = set()  # leaves with a gradient, by the ledger
        self._produced: dict[int, Tensor] = {}  # by gradient: the leaf that a pass made it for
        self._lenders: dict[int, Tensor] = {}  # by leaf: another one, whose gradient was given to it
        self.zeroed_at: dict[int, int] = {}  # by leaf: the version of its gradient as it was zeroed
        self.blind = False  # a pass was run from something unknown
        self.mixed = False  # a graph went into something unknown: what a pass reaches is not all of it
        self.kept: dict[str, Any] = {}
        self.held: list[Any] = []  # names of what passes used, as they were when a pass ran
        self.collected: dict[Site, Any] = {}  # by statement: what it put into a record in a loop that is over
        self.driven: dict[str, Value] = {}  # objects whose methods a library calls, by the name they have there
        self.seen: dict[int, object] = {}  # what was given away, by ids: they stay those of these objects

    # Cuts, and leaves that are changed by hand

    def cuts(self, cut: Cutting | None, values: Iterable[Tensor], where: Callable[[], Where]) -> None:
        """Values lose their graph here: so do the parameters that they depend on."""
        if cut is not None and cut.how in _CUTS and len(self.cut) < 300:
            for value in values:
                self.cut.append((cut, value.node, value if value.node is None else None, where()))

    def only_filled(self, value: Value) -> None:
        """What was taken out of its graph was only written to, as `nn.init` does: that cuts nothing."""
        memory = value.attributes.get(MEMORY) if isinstance(value, Tensor) else None
        if memory is not None:
            self.cut = [one for one in self.cut if one[2] is not memory]

    # Gradients

    def before(self, made: PassMade) -> None:
        """A pass is about to add to the gradients of its leaves."""
        for leaf in made.leaves:
            self._catch_up(leaf)

    def after(self, made: PassMade) -> None:
        produced = [leaf for leaf in made.leaves if isinstance(leaf.grad, Tensor)]
        for leaf in produced:
            self.gradients[id(leaf)] = Gradient(leaf.grad, leaf.grad.version.count)
            self._produced[id(leaf.grad)] = leaf
            self._full.add(id(leaf))
        self._note(PRODUCED, produced, made=made)

    def _note(self, what: str, leaves: list[Tensor], **more: Any) -> None:
        if leaves:
            self.ledger.append(Line(what, tuple(leaves), **more))

    def _catch_up(self, leaf: Tensor) -> None:
        """Note what happened, unseen, to a gradient since the last entry about it."""
        if id(leaf) in self._full and self._present(leaf) is None:
            self._full.discard(id(leaf))
            self._note(CLEARED if leaf.grad is None else REPLACED, [leaf])

    def _present(self, leaf: Tensor) -> Gradient | None:
        """The gradient that the last pass left, if it is still there as it was."""
        known = self.gradients.get(id(leaf))
        if known is None or leaf.grad is not known.value or known.value.version.count != known.writes:
            self.gradients.pop(id(leaf), None)
            return None
        return known

    def changed_by_hand(self, leaf: Tensor) -> None:
        """A leaf was changed in place by the program: with its gradient, if that was read."""
        own = self.lender(leaf) or leaf
        known = self._present(own)
        if known is not None:
            self._note(USED if known.read else CHANGED, [own])

    def read_gradient(self, leaf: Tensor) -> None:
        own = self.lender(leaf) or leaf
        known = self.gradients.get(id(own))
        if known is not None:
            known.read = True
            self._note(READ, [own])

    def zeroed(self, leaf: Tensor, where: Where | None = None) -> None:
        self._catch_up(leaf)
        leaf.arrivals.clear()
        self.gradients.pop(id(leaf), None)
        if id(leaf) in self._full:
            self._full.discard(id(leaf))
            self.zeroed_at[id(leaf)] = leaf.grad.version.count if isinstance(leaf.grad, Tensor) else 0
            self._note(CLEARED, [leaf], where=where)

    def gradient_given(self, leaf: Tensor, value: Value, where: Where) -> None:
        """The program puts a gradient of its own there, or none, or that of another leaf: both then share it."""
        if value is None:
            self.zeroed(leaf, where)
        else:
            self.zeroed_at.pop(id(leaf), None)
            lender = self._produced.get(id(value))
            if lender is not None and lender is not leaf and lender.grad is value:
                self._lenders[id(leaf)] = lender

    def lender(self, leaf: Tensor) -> Tensor | None:
        """The leaf whose very gradient this one has: a local network's, in a shared one."""
        lender = self._lenders.get(id(leaf))
        return lender if lender is not None and lender.grad is leaf.grad and leaf.grad is not None else None

    def stepped(self, held: list[Tensor], number: int) -> None:
        """An optimizer steps: which of its leaves have a gradient, and which have none?"""
        for leaf in held:
            self._catch_up(leaf)
        wanting = [leaf for leaf in held if leaf.needs]
        used = [leaf for leaf in wanting if self._present(leaf) is not None]
        missing = [leaf for leaf in wanting if id(leaf) not in self._full and self._is_empty(leaf)]
        lent = [lender for leaf in wanting if (lender := self.lender(leaf)) is not None]
        self._note(USED, [*used, *(leaf for leaf in lent if self._present(leaf) is not None)], step=number)
        self._note(MISSING, missing, step=number)
        self._note(FROZEN, [leaf for leaf in held if not leaf.needs and id(leaf) not in self.switched], step=number)

    def _is_empty(self, leaf: Tensor) -> bool:
        """Is there no gradient, or is it as zeroing has left it?"""
        if isinstance(leaf.grad, Tensor):
            return self.zeroed_at.get(id(leaf)) == leaf.grad.version.count
        return leaf.grad is None

    def written(self, tensor: Tensor, where: Where) -> None:
        """Something was written in place, also through `.data`. What a statement copies into a parameter (a target
        network's) was taken out of its graph for that: it keeps nothing from a loss."""
        memory = tensor.attributes.get(MEMORY)
        if isinstance(memory, Tensor) or (tensor.needs and tensor.node is None):
            self.cut = [one for one in self.cut if one[2] is None or one[3] is not where]
        if isinstance(memory, Tensor):
            self.by_hand[id(memory)] = where.moment
            self.changed_by_hand(memory)
            for leaf, known in list(self.gradients.items()):
                if known.value is memory:
                    del self.gradients[leaf]
            self.written(memory, where)

    # What goes out of sight

    def mix(self, value: Value) -> None:
        """A value went into something unknown, and what is computed from that may be connected to its graph."""
        self.lose([value])
        self.blind = self.mixed = True

    def lose(self, values: Iterable[Value], depth: int = 0) -> None:
        """Values were given to something unknown: it may use what they lead to, and change what they hold."""
        for value in values:
            if isinstance(value, Tensor):
                if value.node is not None:
                    self.lost[value.node.number] = value.node
                else:
                    self.touched[id(value)] = value
            elif isinstance(value, (list, tuple, set, deque)):
                if depth < _DEEP:
                    self.lose(list(value)[:100], depth + 1)
            elif isinstance(value, dict):
                if depth < _DEEP:
                    self.lose(list(value.values())[:100], depth + 1)
            elif isinstance(value, Star):
                self.lose([value.value], depth)
            elif isinstance(value, (Instance, Bound, Function)) and depth < _DEEP and id(value) not in self.seen:
                self.seen[id(value)] = value
                self._lose_object(value, depth)

    def _lose_object(self, value: Instance | Bound | Function, depth: int) -> None:
        if isinstance(value, Instance):
            self.lose(list(value.attributes.values()), depth + 1)
            self.steered.update(id(leaf) for leaf in value.inner.get("params", ()))
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
