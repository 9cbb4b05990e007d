"""Passes that are recorded (`create_graph=True`): the backward of a node, as operations on tensors.

The formulas are PyTorch's own, as far as they build nodes. They run through the same recording as the
forward pass does, so the graph they build can be used, freed and differentiated again, as long as there are
formulas. A node without one stops the model (`Unmodelled`): it does not guess.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from afterward.model.life.faults import Unmodelled
from afterward.model.life.parts import Kind, Node, Tensor
from afterward.model.life.recording import apply
from afterward.model.life.table import table
from afterward.model.life.tape import Packing, Tape

Formula = Callable[["Step"], list["Tensor | None"]]


class Step:
    """One node being run backwards: the gradient that came in, and the values that come out of saving."""

    def __init__(self, tape: Tape, node: Node, gradient: Tensor, visits: Sequence[bool]) -> None:
        self.tape = tape
        self.node = node
        self.gradient = gradient
        self.visits = visits  # for which edges a gradient is asked for

    def do(self, operation: str, *inputs: Tensor) -> Tensor:
        return apply(self.tape, table()[operation], inputs)[0]

    def saved(self, index: int) -> Tensor:
        saved = self.node.saved[index]
        if saved.region is not None:
            raise Unmodelled("a recorded pass through a checkpointed stretch")
        if saved.tensor is None:
            return self.tape.fresh(hash((11, self.node.symbol, index)))
        if not saved.is_result:
            return saved.tensor
        result = self.tape.handle(saved.tensor.storage, saved.tensor.version)
        result.node, result.slot = self.node, 0
        return result


def differentiate(tape: Tape, node: Node, gradients: dict[int, Tensor], visits: Sequence[bool]) -> list[Tensor | None]:
    """The gradient for each edge that is asked for, recorded like any other computation."""
    formula = FORMULAS.get(node.name)
    if formula is None or node.kind is not Kind.OPERATION or set(gradients) != {0}:
        raise Unmodelled(f"a recorded pass through {node.name}")
    if any(saved.version is None and saved.tensor is not None for saved in node.saved):
        raise Unmodelled("a recorded pass through values that a hook keeps")
    packing, tape.packing = tape.packing, Packing.IN_THE_NODE
    records, tape.records = tape.records, True
    try:
        return formula(Step(tape, node, gradients[0], visits))
    finally:
        tape.packing, tape.records = packing, records


def add_into(tape: Tape, box: dict[int, Tensor], slot: int, tensor: Tensor) -> None:
    """Two gradients for one result are added, and in a recorded pass that is an operation too."""
    box[slot] = apply(tape, table()["add"], (box[slot], tensor))[0] if slot in box else tensor


def _pass_on(step: Step) -> list[Tensor | None]:
    return [step.gradient if visited else None for visited in step.visits]


def _negate_second(step: Step) -> list[Tensor | None]:
    first, second = step.visits
    return [step.gradient if first else None, step.do("neg", step.gradient) if second else None]


def _product(step: Step) -> list[Tensor | None]:
    """Saves `other` for the sake of self, then `self`; works out the gradient of other first."""
    sent: list[Tensor | None] = [None] * len(step.visits)
    index = len(step.node.saved)
    for i in reversed(range(len(step.node.edges))):
        if step.node.edges[i] is not None:
            index -= 1
            if step.visits[i]:
                sent[i] = step.do("mul", step.gradient, step.saved(index))
    return sent


def _one(make: Callable[[Step], Tensor]) -> Formula:
    return lambda step: [make(step) if step.visits[0] else None]


FORMULAS: dict[str, Formula] = {
    "AddBackward0": _pass_on,
    "CloneBackward0": _pass_on,
    "SubBackward0": _negate_second,
    "NegBackward0": _one(lambda s: s.do("neg", s.gradient)),
    "MulBackward0": _product,
    "ExpBackward0": _one(lambda s: s.do("mul", s.gradient, s.saved(0))),
    "SinBackward0": _one(lambda s: s.do("mul", s.gradient, s.do("cos", s.saved(0)))),
    "CosBackward0": _one(lambda s: s.do("mul", s.gradient, s.do("neg", s.do("sin", s.saved(0))))),
    "TanhBackward0": _one(lambda s: s.do("tanh_backward", s.gradient, s.saved(0))),
    "SigmoidBackward0": _one(lambda s: s.do("sigmoid_backward", s.gradient, s.saved(0))),
    "ReluBackward0": _one(lambda s: s.do("threshold_backward", s.gradient, s.saved(0))),
    "SumBackward0": _one(lambda s: s.do("expand_matrix", s.gradient)),
}
