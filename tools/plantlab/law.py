"""The two ledgers of a program without their numbers: which graphs its passes use, and what each step uses.

A fault of graph or gradient makes a pass or a step that the right program does not have. A program whose passes and
steps are all of the right one's kinds, and which holds no more memory, breaks no sentence of the law that the right
program keeps: it computes with other data. Gradients that are produced for another network and cleared unused are
legal, too.
"""

from __future__ import annotations

import hashlib
from typing import Any

LEAF = 2**64 - 1  # the order of a node that is a leaf


class Ledger:
    """`entries` has one line for each pass and each step, in words that hold no number of the computation."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.entries: list[str] = []
        self.places: dict[int, str] = {}  # of a parameter: which optimizer holds it, where
        self.held: list[Any] = []  # keeps the ids of `places` true
        self.produced: dict[int, list[str]] = {}  # by parameter: the passes whose gradients it has
        self.stepped = 0  # nodes that had been made at the last step
        self.unused = 0  # gradients that were cleared before a step used them

    def optimizer(self, number: int, parameters: list[Any]) -> None:
        for n, parameter in enumerate(parameters):
            self.places.setdefault(id(parameter), f"{number}.{n}")
            self.held.append(parameter)

    def passes(self, outputs: Any, options: dict[str, Any], flags: tuple[Any, ...]) -> None:
        """Before a pass: `flags` are retain_graph and create_graph."""
        self._forget_cleared()
        shape, leaves = self._graph(outputs)
        accumulates = bool(options.get("accumulate_grad"))
        line = f"pass {accumulates} {flags} {shape}"
        self.entries.append(line)
        for leaf in leaves if accumulates else ():
            self.produced.setdefault(id(leaf), []).append(shape)
            self.held.append(leaf)

    def step(self, number: int, parameters: list[Any]) -> None:
        self._forget_cleared()
        used = [tuple(self.produced.get(id(p), ())) for p in parameters]
        self.entries.append(f"step {number} {_digest(used)}")
        for parameter in parameters:
            self.produced[id(parameter)] = ["used" for _ in self.produced.get(id(parameter), ())]
        self.stepped = self.torch._C._autograd._get_sequence_nr()

    def _forget_cleared(self) -> None:
        for parameter in {id(p): p for p in self.held}.values():
            if id(parameter) in self.produced and (parameter.grad is None or not bool(parameter.grad.any())):
                self.unused += any(one != "used" for one in self.produced.pop(id(parameter)))

    def left(self) -> int:
        """Gradients that nothing has used or cleared."""
        self._forget_cleared()
        return sum(any(one != "used" for one in passes) for passes in self.produced.values())

    def _graph(self, outputs: Any) -> tuple[str, list[Any]]:
        """A digest of the nodes, the order they are connected in and the leaves they end in; and those leaves."""
        numbers: dict[Any, int] = {}
        lines: list[str] = []
        leaves: list[Any] = []
        waiting = [getattr(output, "node", None) or output.grad_fn or output for output in outputs]
        for node in waiting:
            numbers.setdefault(node, len(numbers))
        old = False
        for node in waiting:
            leaf = node if isinstance(node, self.torch.Tensor) else getattr(node, "variable", None)
            if leaf is not None:
                leaves.append(leaf)
                lines.append(self.places.get(id(leaf), f"leaf {tuple(leaf.shape)}"))
                continue
            old = old or node._sequence_nr() < self.stepped
            below = []
            for child, _ in node.next_functions:
                if child is not None and child not in numbers:
                    numbers[child] = len(numbers)
                    waiting.append(child)
                below.append(-1 if child is None else numbers[child])
            lines.append(f"{node.name()} {below}")
        return _digest([old, *lines]), leaves


def _digest(what: Any) -> str:
    return hashlib.blake2b(repr(what).encode(), digest_size=8).hexdigest()
