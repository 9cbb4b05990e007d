"""The life of an autograd graph, executable: built, used, freed, and used again when it should not be.

    world = World()
    w = world.tensor("w", requires_grad=True)
    (y,) = world.apply("mul", w, w)  # one node, which saves w twice
    (loss,) = world.apply("sum", y)  # one node, which saves nothing
    world.backward([loss]).freed  # [MulBackward0#1]
    world.foresee([loss]).fault  # Fault.SECOND_TIME
    world.foresee([loss]).node  # MulBackward0#1

`World` makes tensors, applies operations by the name they have in the table, runs passes, and foresees
them. `Outcome` says what a pass did. Where PyTorch would raise while the graph is built, `Refused` is
raised with the `Fault`; where this model does not know, `Unmodelled`.

The questions about gradients: `fingerprint` (equal ones mean equal gradients), `times_arrived`,
`is_lost`, `reached_from`, `paths`, `nodes_between`, `cuts_between`.

Read on in this order: `parts` (tensors and nodes), `histories` (views and writes), `recording` (the forward
pass), `engine` (the backward pass), `unpacking` (where that fails), `gradients`, `formulas` (passes that are
recorded themselves). It agrees with PyTorch because it is run against it: `tools/agree.py`.
"""

from __future__ import annotations

from afterward.model.life.engine import Outcome
from afterward.model.life.faults import Fault, Refused, Unmodelled
from afterward.model.life.gradients import (
    cuts_between,
    fingerprint,
    is_lost,
    nodes_between,
    paths,
    reached_from,
    times_arrived,
)
from afterward.model.life.parts import Arrival, Kind, MadeAs, Node, Saved, Tensor
from afterward.model.life.recording import Custom
from afterward.model.life.table import table
from afterward.model.life.tape import Packing
from afterward.model.life.unpacking import refusal
from afterward.model.life.world import Optimizer, World

__all__ = [
    "Arrival",
    "Custom",
    "Fault",
    "Kind",
    "MadeAs",
    "Node",
    "Optimizer",
    "Outcome",
    "Packing",
    "Refused",
    "Saved",
    "Tensor",
    "Unmodelled",
    "World",
    "cuts_between",
    "fingerprint",
    "is_lost",
    "nodes_between",
    "paths",
    "reached_from",
    "refusal",
    "table",
    "times_arrived",
]
