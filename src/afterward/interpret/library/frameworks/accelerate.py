"""Accelerate and Fabric: they hand back what they are given, and run the pass."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from afterward.interpret.library.torch import optim, passes
from afterward.interpret.machine.values import Args, Instance, Kwargs, Lib, Value

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine


_SAME = frozenset(
    {"prepare", "prepare_model", "prepare_optimizer", "prepare_data_loader", "prepare_scheduler", "setup",
     "setup_module", "setup_optimizers", "setup_dataloaders", "unwrap_model", "gather", "gather_for_metrics",
     "reduce", "to_device"}
)  # fmt: skip
_CONTEXTS = frozenset({"accumulate", "autocast", "no_sync", "no_backward_sync", "init_module", "profile"})
_FUNCTIONS = frozenset(
    {"clip_grad_norm_", "clip_grad_value_", "clip_gradients", "print", "log", "log_dict", "barrier", "save",
     "wait_for_everyone", "end_training", "save_state", "launch", "seed_everything", "init_trackers", "free_memory",
     "skip_first_batches", "register_for_checkpointing"}
)  # fmt: skip


def make() -> Instance:
    return Instance(Lib("accelerate.Accelerator"))


def method(machine: Machine, name: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    """A method of an Accelerator or a Fabric."""
    if name == "backward" and args:
        given = {key: value for key, value in kwargs.items() if key in ("retain_graph", "create_graph", "inputs")}
        return passes.backward(machine, [args[0]], given, node)
    if name in _SAME and args:
        return args[0] if len(args) == 1 else tuple(args)
    if name in _CONTEXTS:
        return Instance(Lib("contextlib.nullcontext"))
    if name == "optimizer_step" and args and optim.is_optimizer(args[0]):
        return optim.step(machine, args[0], [], {})
    if name not in _FUNCTIONS:
        machine.escape(args, kwargs)
    return machine.unknown()
