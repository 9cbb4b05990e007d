"""Programs on the model."""

from __future__ import annotations

from contextlib import AbstractContextManager, suppress
from math import prod
from typing import Any

from afterward.model.life import (
    Custom,
    Kind,
    Node,
    Optimizer,
    Packing,
    Refused,
    Tensor,
    World,
    fingerprint,
    refusal,
    table,
)
from lifelab.operations import SHAPES
from lifelab.programs import Backward, Grad

CUSTOM = {
    "Square": Custom("Square", saves=(-1,)),
    "Exponential": Custom("Exponential", saves=(0,)),
    "Straight": Custom("Straight", reads=False),
    "Looks": Custom("Looks"),
    "Keeps": Custom("Keeps", saves=(-1,), reads=False),
    "Stops": Custom("Stops", saves=(-2,), returns=(True, False)),
    "Both": Custom("Both", saves=(-1, -2), results=2, returns=(True, True)),
    "Doubles": Custom("Doubles", reads=False, writes=True),
}
PACKING = {"by_reference": Packing.BY_REFERENCE, "by_copy": Packing.BY_COPY}


def elements(letter: str) -> int:
    return prod(SHAPES[letter]) if letter in SHAPES else int(letter[1:])


class OnModel:
    refusals = (Refused,)

    def __init__(self) -> None:
        self.world = World()
        self.numbers: dict[int, int] = {}  # of the leaves, by id
        self.kept: list[Tensor] = []
        self.leaves: list[Tensor] = []  # those whose gradients are looked at
        self.nodes: dict[Node, int] = {}

    def fault(self, error: Exception) -> str:
        assert isinstance(error, Refused)
        return error.fault.name

    def enter(self, leaf: Tensor) -> Tensor:
        if id(leaf) not in self.numbers:
            self.numbers[id(leaf)] = len(self.numbers)
            self.kept.append(leaf)
            # Asking a view whether it is a leaf can make its node anew, or fail.
            if leaf.base is None and not leaf.hidden:
                self.leaves.append(leaf)
        return leaf

    def leaf(self, name: str, shape: str, needs: bool) -> Tensor:
        made = self.world.tensor(f"{name} {shape}", needs, elements(shape))
        return self.enter(made)

    def apply(self, operation: str, inputs: list[Tensor]) -> list[Tensor]:
        results = list(self.world.apply(operation, *inputs))
        for result, letter in zip(results, table()[operation].outs, strict=True):
            result.elements = elements(letter)
        return results

    def call(self, function: str, inputs: list[Tensor]) -> list[Tensor]:
        results = list(self.world.call(CUSTOM[function], *inputs))
        for result in results:
            result.elements = inputs[0].elements
        return results

    def derive(self, how: str, tensor: Tensor) -> Tensor | None:
        if how == "alias":
            return tensor
        if how == "grad":
            derived = tensor.grad
        else:
            derived = self.world.detach(tensor) if how == "detach" else self.world.data(tensor)
        if derived is not None:
            derived.elements = tensor.elements
        return derived

    def requires_grad(self, tensor: Tensor, flag: bool) -> None:
        self.world.requires_grad_(tensor, flag)
        self.enter(tensor)

    def set_item(self, target: Tensor, value: Tensor) -> None:
        (row,) = self.world.apply("select", target)
        self.world.apply("copy_v_", row, value)

    def under(self, mode: str) -> AbstractContextManager[Any]:
        if mode in PACKING:
            return self.world.saved_tensors_hooks(PACKING[mode])
        made: AbstractContextManager[Any] = getattr(self.world, mode)()
        return made

    def checkpoint(self, body: Any, given: list[Tensor]) -> Tensor:
        return self.world.checkpoint(lambda *inputs: (body(*inputs),), *given)[0]

    def optimizer(self, rule: str, leaves: list[Tensor]) -> Optimizer:
        return Optimizer(self.world, leaves, rule, has_state=rule == "Adam")

    def run_pass(self, statement: Backward | Grad, env: dict[str, Any]) -> tuple[Any, list[Any]]:
        roots = [env[name] for name in statement.roots]
        gradients = [None if name is None else env[name] for name in statement.gradients]
        inputs = None if statement.inputs is None else [env[name] for name in statement.inputs]
        retain = statement.retain or None
        self._touch(roots)
        if isinstance(statement, Backward):
            foreseen = self.world.foresee(roots, gradients, inputs=inputs, retain_graph=bool(retain))
            outcome = self.world.backward(
                roots, gradients, retain_graph=retain, create_graph=statement.create, inputs=inputs
            )
            if foreseen.fault is not outcome.fault:
                raise AssertionError(f"foreseen {foreseen.fault}, came {outcome.fault}")
        else:
            assert inputs is not None
            outcome = self.world.grad(
                roots,
                inputs,
                gradients,
                retain_graph=retain,
                create_graph=statement.create,
                allow_unused=statement.allow_unused,
            )
        fact = [
            None if outcome.fault is None else outcome.fault.name,
            [self.nodes[node] for node in outcome.ran],
            None if outcome.node is None else self.nodes.get(outcome.node),  # none: it is a leaf's
            sorted(self.numbers[id(leaf)] for leaf in outcome.reached if leaf.base is None and not leaf.hidden),
        ]
        if isinstance(statement, Backward):
            made = [leaf.grad for leaf in self.leaves if leaf.grad is not None] if statement.create else []
            return (*fact, self.describe(made)), []
        if outcome.fault is not None:
            return tuple(fact), []
        for gradient, source in zip(outcome.gradients, inputs or [], strict=True):
            if gradient is not None:
                gradient.elements = source.elements
        held = [g for g in outcome.gradients if g is not None]
        return (*fact, [g is not None for g in outcome.gradients], self.describe(held)), outcome.gradients

    def _touch(self, roots: list[Tensor]) -> None:
        for root in roots:
            if root.base is not None:
                with suppress(Refused):
                    node = self.world.grad_fn(root)
                    self._new([node] if node is not None else [])

    def describe_write(self, target: Tensor) -> Any:
        if not self.world.tape.records:
            return None
        return self.describe([target] if target.base is None else [target.base, target])

    def describe(self, tensors: list[Tensor]) -> Any:
        flags, ends = [], []
        for tensor in tensors:
            ends.append(self.world.grad_fn(tensor))
            flags.append((self.world.requires_grad(tensor), tensor.is_leaf, tensor.slot if ends[-1] else 0))
        return flags, self._new([node for node in ends if node is not None])

    def _new(self, ends: list[Node]) -> list[Any]:
        found: list[Node] = []
        stack = list(ends)
        known = self.nodes
        seen: set[Node] = set()
        while stack:
            node = stack.pop()
            if node not in known and node not in seen and node.kind is not Kind.ACCUMULATE:
                seen.add(node)
                found.append(node)
                stack += [edge[0] for edge in node.edges if edge is not None]
        found.sort(key=lambda node: node.number)
        for node in found:
            known[node] = len(known)
        return [(known[node], node.name, [self._edge(edge) for edge in node.edges]) for node in found]

    def _edge(self, edge: tuple[Node, int] | None) -> Any:
        if edge is None:
            return None
        node, slot = edge
        if node.kind is Kind.ACCUMULATE:
            return ("leaf", self.numbers[id(node.leaf)])
        return (self.nodes[node], slot)

    def last_facts(self) -> Any:
        states = []
        for node in self.nodes:
            fault = refusal(node, self.world.tape)
            states.append(None if fault is None else fault.name)
        return states, [leaf.grad is not None for leaf in self.leaves]

    def fingerprints(self) -> list[int | None]:
        return [fingerprint(leaf) for leaf in self.leaves]
