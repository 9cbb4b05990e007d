"""Turns of a loop that a library runs: the statement that calls it stands for the loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from afterward.interpret.graph import keeping
from afterward.interpret.graph.graph import Tensor
from afterward.interpret.machine.core import site_of
from afterward.interpret.machine.values import Function, Instance, Iter, Value

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine

TURNS = 4
_MOST_TURNS = 16  # where a test in them comes round after more


def iterations(machine: Machine, count: int = TURNS) -> Iterator[int]:
    """So many iterations, each one a step of the report."""
    frame = machine.frame
    statement = frame.statement if frame.statement is not None else ast.Pass(lineno=1, col_offset=0)
    site = site_of(frame.file, statement)
    machine.entries += 1
    entry, before = machine.entries, len(machine.passes)
    number = 0
    while number < max(count, min(3 * machine.periods.get(entry, 0), _MOST_TURNS)):
        number += 1
        frame.iterations.append(machine.iteration(site, entry, number))
        frame.moment = machine.graph.tick()
        try:
            yield number
        finally:
            frame.iterations.pop()
    keeping.loop_left(machine, before)


def batches(machine: Machine, source: Value) -> Iterator[Value]:
    """What a loop over the data gets: its own values where they are known."""
    items: Iter | None = None
    if source is not None:
        items = machine.iterate(source, None)
    while True:
        try:
            yield next(items.source) if items is not None else machine.unknown()
        except StopIteration:
            yield machine.unknown()


def hook(machine: Machine, owner: Value, name: str, args: list[Value]) -> Value:
    """Call a method of that name, if the program has defined one; with as many arguments as it takes."""
    method = machine.lookup(owner, name)
    function = getattr(method, "function", None)
    if not isinstance(function, Function):
        return None
    spec = function.node.args
    room = len(spec.args) + len(spec.posonlyargs) - 1
    return machine.call(method, args if spec.vararg is not None else args[:room], {}, None)


def loss_of(machine: Machine, result: Value) -> Value:
    """The loss in what a training step returns."""
    if isinstance(result, dict):
        return result.get("loss", machine.unknown())
    if isinstance(result, Instance):
        return machine.attribute(result, "loss", None)
    if isinstance(result, (tuple, list)) and result:
        return result[0]
    return result


def detached(value: Value) -> Value:
    """What a library hands on after the step: without history."""
    if isinstance(value, Tensor):
        return value.alias()
    if isinstance(value, dict):
        return type(value)({key: detached(one) for key, one in value.items()})
    return value
