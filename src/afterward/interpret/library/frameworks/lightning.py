"""Lightning: the Trainer's loop over a module's `training_step`, manual optimization, and Fabric."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from afterward.interpret.graph.graph import Tensor
from afterward.interpret.library.frameworks import driving
from afterward.interpret.library.torch import module_tree, optim, passes
from afterward.interpret.machine.values import (
    MISSING,
    Args,
    Class,
    Instance,
    Kwargs,
    Lib,
    Native,
    PartialDict,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine


def is_module(value: Value) -> bool:
    return isinstance(value, Instance) and any(
        isinstance(base, Lib) and base.name == "LightningModule" for base in value.order
    )


def make_trainer(machine: Machine, path: str, kwargs: Kwargs) -> Instance:
    accumulates, callbacks = kwargs.get("accumulate_grad_batches", 1), kwargs.get("callbacks")
    return Instance.of_library("lightning.pytorch.Trainer", accumulates=accumulates, callbacks=callbacks)


def fit(machine: Machine, trainer: Instance, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    """`trainer.fit(model, loader)`."""
    module = args[0] if args else kwargs.get("model")
    if not isinstance(module, Instance) or not is_module(module):
        machine.escape([*args], kwargs)
        return None
    source = args[1] if len(args) > 1 else kwargs.get("train_dataloaders", kwargs.get("datamodule"))
    if isinstance(source, Instance) and not source.is_a("torch.utils.data."):
        source = driving.hook(machine, source, "train_dataloader", [])
    if source is None:
        source = driving.hook(machine, module, "train_dataloader", [])
    callbacks = trainer.inner.get("callbacks")
    if callbacks is not None:
        machine.account.lose([module])  # they may do anything between the steps
    module.attributes["trainer"] = trainer
    train(machine, module, None if isinstance(source, Unknown) else source, trainer.inner.get("accumulates"))
    return None


def train(machine: Machine, module: Instance, source: Value, accumulates: Value = 1) -> None:
    """The loop of the Trainer over one module."""
    owned = optimizers_of(machine, driving.hook(machine, module, "configure_optimizers", []))
    module.inner["optimizers"] = owned
    machine.account.driven["self"] = module
    for name in ("setup", "on_fit_start", "on_train_start"):
        driving.hook(machine, module, name, ["fit"])
    manual = machine.truth(machine.attribute(module, "automatic_optimization", None)) is False
    data = driving.batches(machine, source)
    for epoch in driving.iterations(machine, 2):
        driving.hook(machine, module, "on_train_epoch_start", [])
        for number in driving.iterations(machine):
            _step(machine, module, owned, next(data), number - 1, manual, accumulates)
        _validate(machine, module)
        driving.hook(machine, module, "on_train_epoch_end", [])
        driving.hook(machine, module, "training_epoch_end", [machine.unknown()])
        module.attributes["current_epoch"] = epoch


def _step(
    machine: Machine, module: Instance, owned: list[Value], batch: Value, number: int, manual: bool, accumulates: Value
) -> None:
    driving.hook(machine, module, "on_train_batch_start", [batch, number])
    if manual:
        result = driving.hook(machine, module, "training_step", [batch, number])
    else:
        result = driving.hook(machine, module, "training_step", [batch, number])
        loss = driving.loss_of(machine, result)
        optimizer = owned[0] if owned and optim.is_optimizer(owned[0]) else None
        if isinstance(loss, Tensor):
            driving.hook(machine, module, "on_before_zero_grad", [optimizer])
            if optimizer is not None and accumulates == 1:
                optim.zero_grad(machine, optimizer, [], {})
            _backward(machine, module, loss)
            driving.hook(machine, module, "on_after_backward", [])
            if optimizer is not None and accumulates == 1:
                optim.step(machine, optimizer, [], {})
        elif isinstance(loss, Unknown):
            machine.account.lose([module])
    driving.hook(machine, module, "on_train_batch_end", [driving.detached(result), batch, number])


def _backward(machine: Machine, module: Instance, loss: Tensor) -> None:
    if driving.hook(machine, module, "backward", [loss]) is None and not _own(machine, module, "backward"):
        passes.backward(machine, [loss], {}, None)


def _own(machine: Machine, module: Instance, name: str) -> bool:
    return any(isinstance(base, Class) and name in base.attributes for base in module.order)


def _validate(machine: Machine, module: Instance) -> None:
    """The validation loop runs without gradients."""
    graph = machine.graph
    with graph.own_mode():
        graph.records, graph.off = False, machine.cutting("torch.no_grad()", machine.frame.statement)
        driving.hook(machine, module, "on_validation_epoch_start", [])
        driving.hook(machine, module, "validation_step", [machine.unknown(), 0])
        driving.hook(machine, module, "on_validation_epoch_end", [])


def optimizers_of(machine: Machine, configured: Value) -> list[Value]:
    """The optimizers in what `configure_optimizers` returns."""
    if isinstance(configured, dict):
        return [configured.get("optimizer")]
    if isinstance(configured, (tuple, list)):
        first = configured[0] if configured else None
        if isinstance(first, (tuple, list)):  # optimizers, schedulers
            return list(first)
        return [one.get("optimizer") if isinstance(one, dict) else one for one in configured]
    return [] if configured is None else [configured]


# What a module has from Lightning


def inherited(machine: Machine, owner: Instance, name: str) -> Value:
    """Methods and attributes of a LightningModule."""
    run = _METHODS.get(name)
    if run is not None:
        return Native(lambda m, args, kwargs: run(m, owner, args, kwargs), name)
    if name == "automatic_optimization":
        return True
    if name in ("current_epoch", "global_step", "device", "trainer", "logger", "hparams", "local_rank"):
        return machine.unknown("attr", owner, name)
    if name in _QUIET:
        return Native(lambda m, args, kwargs: None, name)
    return MISSING


def _optimizers(machine: Machine, owner: Instance, args: Args, kwargs: Kwargs) -> Value:
    owned = owner.inner.get("optimizers")
    if owned is None:
        owned = optimizers_of(machine, driving.hook(machine, owner, "configure_optimizers", []))
        owner.inner["optimizers"] = owned
    return owned[0] if len(owned) == 1 else list(owned)


def _manual_backward(machine: Machine, owner: Instance, args: Args, kwargs: Kwargs) -> Value:
    if args:
        passes.backward(machine, args[:1], kwargs, None)
    return None


def _toggle(machine: Machine, owner: Instance, args: Args, kwargs: Kwargs) -> Value:
    """Only the parameters of this optimizer need gradients until it is toggled back."""
    chosen = args[0] if args else kwargs.get("optimizer")
    if not isinstance(chosen, Instance) or not optim.is_optimizer(chosen):
        return None
    own = {id(leaf) for leaf in chosen.inner.get("params", ())}
    saved = owner.inner.setdefault("toggled", [])
    for optimizer in owner.inner.get("optimizers", ()):
        for leaf in optimizer.inner.get("params", ()) if optim.is_optimizer(optimizer) else ():
            if id(leaf) not in own and leaf.needs:
                saved.append(leaf)
                leaf.needs = False
    return None


def _untoggle(machine: Machine, owner: Instance, args: Args, kwargs: Kwargs) -> Value:
    for leaf in owner.inner.pop("toggled", ()):
        leaf.needs = True
    return None


def _save(machine: Machine, owner: Instance, args: Args, kwargs: Kwargs) -> Value:
    """`save_hyperparameters()`: the arguments of `__init__`, by name."""
    made = Instance(Lib("types.SimpleNamespace"))
    made.opaque = True
    names = machine.frame.scope.names
    made.attributes.update({key: value for key, value in names.items() if key not in ("self", "__class__")})
    made.inner["items"] = PartialDict(made.attributes)
    owner.attributes["hparams"] = made
    return None


def _parameters_zeroed(machine: Machine, owner: Instance, args: Args, kwargs: Kwargs) -> Value:
    for _, leaf in module_tree.parameters(owner):
        machine.account.zeroed(leaf)
        leaf.grad = None
    return None


_METHODS = {
    "optimizers": _optimizers, "manual_backward": _manual_backward, "toggle_optimizer": _toggle,
    "untoggle_optimizer": _untoggle, "save_hyperparameters": _save, "optimizer_zero_grad": _parameters_zeroed,
}  # fmt: skip
_QUIET = frozenset({"log", "log_dict", "print", "clip_gradients", "lr_schedulers", "log_image"})
