"""A checkpointed call: as the call itself, but for what a reentrant checkpoint makes of the result's graph."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from afterward.interpret.graph.graph import Tensor
from afterward.interpret.library.torch import ops
from afterward.interpret.machine.values import Args, Kwargs, Value

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine


OPTIONS = {"use_reentrant", "preserve_rng_state", "context_fn", "determinism_check", "debug", "early_stop"}


def call(machine: Machine, name: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    """`checkpoint(function, *inputs)` or `checkpoint_sequential(functions, segments, input)`."""
    if not args:
        return machine.unknown()
    inputs = args[2:] if name == "checkpoint_sequential" else args[1:]
    result = machine.call(args[0], inputs, {key: value for key, value in kwargs.items() if key not in OPTIONS}, node)
    if kwargs.get("use_reentrant") is True and all(isinstance(one, Tensor) for one in inputs):
        return _reentrant(machine, inputs, result, node)
    return result


def _reentrant(machine: Machine, inputs: Args, result: Value, node: ast.AST | None) -> Value:
    """Its result is one node that depends on the inputs: on nothing where none of them requires a gradient, whatever
    the function's own parameters do, and on them where the function itself records nothing."""
    if isinstance(result, tuple):
        return tuple(_reentrant(machine, inputs, one, node) for one in result)
    if not isinstance(result, Tensor) or not machine.graph.records:
        return result
    promised = any(one.requires_grad for one in inputs)
    if promised and not result.requires_grad:
        return ops.generic(machine, "CheckpointFunctionBackward", inputs)
    if result.requires_grad and not promised:
        return ops.data(machine, [result], "checkpoint(use_reentrant=True)", node)
    return result
