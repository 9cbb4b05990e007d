"""What arrives in `.grad`, and how two gradients are reported to be the same.

A gradient is a sum over paths, each a product of local derivatives. Every local derivative gets a number
of its own (the hash of its symbol), and the sum of products is computed modulo a prime: a *fingerprint*.
It adds and multiplies as gradients do, so `(a + b).backward()` and `a.backward(); b.backward()` have the
same one, and a gradient that arrived twice is twice itself. Equal fingerprints mean equal gradients, but
for a chance of about one in 2**61; different ones may still be equal in numbers.
"""

from __future__ import annotations

from collections import Counter

from afterward.model.life.histories import count_write, needs_grad
from afterward.model.life.parts import Arrival, Kind, Node, Tensor
from afterward.model.life.recording import apply, write
from afterward.model.life.table import table
from afterward.model.life.tape import Tape

PRIME = (1 << 61) - 1
ONES = 1  # the fingerprint of the gradient that `backward()` starts from


def accumulate(tape: Tape, leaf: Tensor, arrival: Arrival) -> None:
    """Add to `.grad`: made at the first arrival, written to in place by later ones."""
    leaf.arrivals.append(arrival)
    symbol = hash((7, fingerprint(leaf)))
    if leaf.grad is None:
        leaf.grad = tape.fresh(symbol)
    else:
        count_write(tape, leaf.grad, symbol)


def accumulate_recorded(tape: Tape, leaf: Tensor, arrival: Arrival, tensor: Tensor | None) -> None:
    """The same in a pass with `create_graph`: `.grad` has a history, and is replaced, not written to."""
    leaf.arrivals.append(arrival)
    if tensor is None:  # which is not known
        leaf.grad = tape.fresh(hash((7, fingerprint(leaf))))
    elif leaf.grad is None:
        leaf.grad = tape.fresh(0)
        write(tape, table()["copy_"], leaf.grad, (tensor,))
    else:
        leaf.grad = apply(tape, table()["add"], (leaf.grad, tensor))[0]


def zero(tape: Tape, leaf: Tensor, set_to_none: bool = True) -> None:
    """What `optimizer.zero_grad` does to one leaf."""
    leaf.arrivals.clear()
    if leaf.grad is None:
        return
    if set_to_none:
        leaf.grad = None
        return
    leaf.grad.node, leaf.grad.slot, leaf.grad.needs = None, 0, False
    count_write(tape, leaf.grad, 0)


def fingerprint(leaf: Tensor) -> int | None:
    """Of all that is in `.grad` now; None if there is none."""
    if leaf.grad is None and not leaf.arrivals:
        return None
    return sum([arrival.gradient for arrival in leaf.arrivals]) % PRIME


def times_arrived(leaf: Tensor) -> int:
    """How often the most frequent single gradient is in `.grad`: 2 means it was doubled."""
    return max(Counter(arrival.gradient for arrival in leaf.arrivals).values(), default=0)


def is_lost(leaf: Tensor) -> bool:
    """A leaf that asks for a gradient and has none."""
    return leaf.needs and leaf.grad is None


def reached_from(leaf: Tensor) -> list[tuple[int, Node]]:
    """Who put gradients there since it was zeroed: the number of the pass, and the root it started at."""
    return [
        (arrival.passage, root)
        for arrival in leaf.arrivals
        for root in arrival.roots
        if leaf.accumulator in ways_to(leaf, root)
    ]


def nodes_between(root: Tensor, leaf: Tensor) -> list[Node]:
    """The nodes a gradient passes through from root to leaf, the youngest first."""
    if root.node is None:
        return []
    found = [node for node, count in ways_to(leaf, root.node).items() if count and node.kind is not Kind.ACCUMULATE]
    return sorted(found, key=lambda node: -node.number)


def paths(root: Tensor, leaf: Tensor) -> int:
    """Along how many ways a gradient gets from root to leaf; 0 if they are not connected."""
    if root.node is None:
        return 1 if root is leaf else 0
    return ways_to(leaf, root.node)[root.node]


def ways_to(leaf: Tensor, start: Node) -> dict[Node, int]:
    """For every node behind this one: along how many ways it leads to the leaf."""
    counts: dict[Node, int] = {}
    stack: list[tuple[Node, bool]] = [(start, False)]
    while stack:
        node, is_done = stack.pop()
        if is_done:
            counts[node] = sum(counts[edge[0]] for edge in node.edges if edge is not None)
        elif node.kind is Kind.ACCUMULATE:
            counts[node] = 1 if node.leaf is leaf else 0
        elif node not in counts:
            counts[node] = 0
            stack.append((node, True))
            stack += [(edge[0], False) for edge in node.edges if edge is not None]
    return counts


def cuts_between(root: Tensor, leaf: Tensor) -> list[Tensor]:
    """The tensors at which a `detach` or `no_grad` keeps root's gradient from the leaf."""
    found: list[Tensor] = []
    pending = [root]
    seen: set[int] = set()
    while pending:
        tensor = pending.pop()
        if id(tensor) in seen:
            continue
        seen.add(id(tensor))
        cuts = list(tensor.cut_from)
        stack = [tensor.node] if tensor.node is not None else []
        visited: set[Node] = set()
        while stack:
            node = stack.pop()
            if node not in visited:
                visited.add(node)
                cuts += node.cut_from
                stack += [edge[0] for edge in node.edges if edge is not None]
        for cut in cuts:
            if needs_grad(cut) and (cut is leaf or paths(cut, leaf)) and cut not in found:
                found.append(cut)
            pending.append(cut)
    return found
