"""A pass: the walk over the graph that `backward()` and `autograd.grad()` set off.

From the roots the engine first counts how often each node will be sent a gradient. A node is ready when
all of them are in; of the ready ones the youngest runs first. Running takes out what the node saved (this
is where a pass fails), sends gradients on along the edges and then, unless the graph is retained, frees
what was saved at once: not when the pass is over. So a pass that fails has freed what it had passed.

With `inputs=` only nodes that lead to an input run, and only they are freed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count

from afterward.model.life import formulas
from afterward.model.life.faults import Fault
from afterward.model.life.gradients import PRIME, accumulate, accumulate_recorded
from afterward.model.life.parts import FIRST, Arrival, Kind, Node, Tensor
from afterward.model.life.tape import Tape
from afterward.model.life.unpacking import derivative, moved, refusal


@dataclass(slots=True)
class Outcome:
    """What a pass did, or would do."""

    fault: Fault | None = None
    node: Node | None = None  # where it failed
    ran: list[Node] = field(default_factory=list)  # in order; the one that failed is not among them
    freed: list[Node] = field(default_factory=list)
    reached: dict[Tensor, int] = field(default_factory=dict)  # leaves, with the gradient's fingerprint
    gradients: list[Tensor | None] = field(default_factory=list)  # what `autograd.grad` returns

    @property
    def succeeded(self) -> bool:
        return self.fault is None


@dataclass(frozen=True, slots=True)
class Root:
    """Where a pass starts, with the symbol of the gradient it starts from."""

    node: Node
    slot: int
    gradient: int
    tensor: Tensor | None = None  # the gradient as a tensor, for a pass that is itself recorded


@dataclass(slots=True)
class Wanted:
    """What `inputs=` asks for: nodes that must run, and gradients to hand back on the way."""

    needed: set[Node]
    captures: dict[Node, list[tuple[int, int]]]  # node: (slot, position among the inputs)

    def will_visit(self, node: Node) -> bool:
        return node in self.needed or node in self.captures


def wanted_by(roots: Sequence[Root], inputs: Sequence[tuple[Node, int] | None], capture: bool) -> Wanted:
    """Mark every node on a path from a root to an input."""
    wanted = Wanted(set(), {})
    for position, target in enumerate(inputs):
        if target is None:
            continue
        if capture:
            wanted.captures.setdefault(target[0], []).append((target[1], position))
        else:
            wanted.needed.add(target[0])
    seen: set[Node] = set()
    for root in roots:
        stack = [(root.node, False)]
        while stack:
            node, is_done = stack.pop()
            if is_done:
                if any(edge is not None and wanted.will_visit(edge[0]) for edge in node.edges):
                    wanted.needed.add(node)
            elif node not in seen:
                seen.add(node)
                stack.append((node, True))
                stack += [(edge[0], False) for edge in node.edges if edge is not None]
    return wanted


def run_backward(
    tape: Tape,
    roots: Sequence[Root],
    wanted: Wanted | None,
    *,
    retain: bool,
    create: bool = False,
    only_look: bool = False,
    positions: int = 0,
) -> Outcome:
    """Run the pass; with `only_look` leave everything as it is."""
    tape.passes += 1
    outcome = Outcome(gradients=[None] * positions)
    ran, freed = outcome.ran, outcome.freed
    waiting = _count(roots)
    inbox: dict[Node, dict[int, int]] = {}
    tensors: dict[Node, dict[int, Tensor]] = {}
    ready: list[tuple[int, Node]] = []
    iteration = count(2 * FIRST)
    starts = tuple([root.node for root in roots])

    def send(node: Node, slot: int, gradient: int | None, tensor: Tensor | None) -> None:
        box = inbox.get(node)
        if box is None:
            box = inbox[node] = {}
        if gradient is not None:
            box[slot] = (box[slot] + gradient) % PRIME if slot in box else gradient
        if tensor is not None:
            formulas.add_into(tape, tensors.setdefault(node, {}), slot, tensor)
        waiting[node] -= 1
        if not waiting[node]:
            # Leaves go before all operations, and among themselves in the order they became ready.
            heappush(ready, (next(iteration) if node.order == FIRST else node.order, node))

    for root in roots:
        send(root.node, root.slot, root.gradient, root.tensor)
    while ready:
        node = heappop(ready)[1]
        box = inbox.pop(node)
        if wanted is not None:
            for slot, position in wanted.captures.get(node, ()):
                if slot in box:
                    held = tensors.get(node, {}).get(slot)
                    if held is None:
                        held = tape.fresh(hash((7, box[slot])))
                        held.hidden = True  # its memory may be that of another gradient, or expanded
                    outcome.gradients[position] = held
            if node not in wanted.needed:
                continue
        kind = node.kind
        if kind is Kind.ACCUMULATE:
            leaf = node.leaf
            assert leaf is not None
            if 0 in box and (fault := moved(leaf, None if only_look else tape)) is not None:
                outcome.fault, outcome.node = fault, node
                break
            if 0 in box and leaf.needs:
                outcome.reached[leaf] = box[0]
                if not only_look:
                    arrival = Arrival(tape.passes, box[0], starts)
                    if create:
                        accumulate_recorded(tape, leaf, arrival, tensors[node][0] if tape.exact else None)
                    else:
                        accumulate(tape, leaf, arrival)
            continue
        if kind is Kind.CUSTOM and not only_look:
            tape.run_custom(node)
        # With no gradient to copy there is nothing to take out of a write through a view.
        fault = None if kind is Kind.COPY_SLICES and not box else refusal(node, None if only_look else tape)
        if fault is not None:
            outcome.fault, outcome.node = fault, node
            break
        ran.append(node)
        sent = gradients_of(node, box) if tape.answers else _sent_by(node, box)
        made: list[Tensor | None] | None = None
        if create and tape.exact and not only_look:
            visits = [e is not None and (wanted is None or wanted.will_visit(e[0])) for e in node.edges]
            made = formulas.differentiate(tape, node, tensors.pop(node, {}), visits)
        if not retain and not node.released:
            if node.can_be_freed:
                freed.append(node)
            if not only_look:
                node.released = True
        for i, edge in enumerate(node.edges):
            if edge is None:
                continue
            target, slot = edge
            if wanted is None or target in wanted.needed or target in wanted.captures:
                send(target, slot, sent[i], None if made is None else made[i])
    return outcome


def gradients_of(node: Node, box: dict[int, int]) -> list[int | None]:
    """The gradient for each edge: a sum over the incoming ones, each times a local derivative."""
    edges = node.edges
    if node.kind is Kind.CUSTOM:
        if not box:
            box = {0: 0}  # a Python function is handed zeros in place of a missing gradient
    elif not box:
        return [None] * len(edges)
    scales = node.scales
    if scales is not None:
        gradient = box[0]
        return [gradient * scale % PRIME for scale in scales]
    symbol = derivative(node)
    sent: list[int | None] = []
    for i in range(len(edges)):
        total = 0
        for slot, gradient in box.items():
            total += gradient * (hash((symbol, i, slot)) % PRIME)
        sent.append(total % PRIME)
    if node.returns and not all(node.returns):
        return [g if returned else None for g, returned in zip(sent, node.returns, strict=True)]
    return sent


def _sent_by(node: Node, box: dict[int, int]) -> list[int | None]:
    """Along which edges a gradient goes, whatever it is."""
    if not box and node.kind is not Kind.CUSTOM:
        return [None] * len(node.edges)
    if node.returns and not all(node.returns):
        return [0 if returned else None for _, returned in zip(node.edges, node.returns, strict=True)]
    return [0] * len(node.edges)


def _count(roots: Sequence[Root]) -> dict[Node, int]:
    """How many gradients each node in reach will be sent."""
    waiting: dict[Node, int] = {}
    stack: list[Node] = []
    for root in roots:
        node = root.node
        if node in waiting:
            waiting[node] += 1
        else:
            waiting[node] = 1
            stack.append(node)
    while stack:
        for edge in stack.pop().edges:
            if edge is not None:
                node = edge[0]
                if node in waiting:
                    waiting[node] += 1
                else:
                    waiting[node] = 1
                    stack.append(node)
    return waiting
