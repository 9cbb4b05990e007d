"""What a stand-in returns: a value with a graph, of one part or of several."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from afterward.interpret.graph.graph import Tensor
from afterward.interpret.library.torch import ops
from afterward.interpret.machine.values import Value
from afterward.model.life.table import OWN

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine

_DEEP = 3  # containers inside each other that are looked into for tensors


class Output(Tensor):
    """What a stand-in returns: a tensor, several, or an object that holds some. Each part is the same whenever it is
    asked for, so that one which is detached stays so."""

    __slots__ = ("is_whole", "parts")

    def __init__(self) -> None:
        super().__init__()
        self.parts: dict[object, Value] = {}
        self.is_whole = False  # all that a pasted network returned

    @property
    def is_doubtful(self) -> bool:
        return not self.is_whole or bool(self.parts)

    def part(self, key: object) -> Value:
        """`output.logits`, `output['loss']`, `output[0]`: of the same call."""
        if key not in self.parts:
            made = Output()
            self.parts[key] = made
            made.node, made.slot, made.cut = self.node, self.slot + len(self.parts) - 1, self.cut
            if made.node is not None:
                made.node.parts = max(made.node.parts, len(self.parts))
        return self.parts[key]

    def fields(self) -> list[Value]:
        """All parts; where none was asked for yet, two."""
        return list(self.parts.values()) or [self.part(0), self.part(1)]


def computed(machine: Machine, op: str, inputs: list[Tensor]) -> Value:
    unrecorded = ops.without_history(machine, inputs)
    if unrecorded is not None:
        return data(unrecorded.cut) if isinstance(unrecorded, Tensor) else unrecorded
    recorded = ops.generic(machine, op, list(inputs), (OWN, *(-1 - at for at in range(len(inputs)))))
    recorded.node.open = True
    made = Output()
    made.node = recorded.node
    return made


def data(cut: Any) -> Output:
    made = Output()
    made.cut = cut
    return made


def tensors(values: Any, depth: int = 0) -> list[Tensor]:
    found: list[Tensor] = []
    for value in values:
        if isinstance(value, Output) and value.parts and depth < _DEEP:
            found += tensors(value.parts.values(), depth + 1)
        elif isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)) and depth < _DEEP:
            found += tensors(value[:50], depth + 1)
        elif isinstance(value, dict) and depth < _DEEP:
            found += tensors(list(value.values())[:50], depth + 1)
    return found
