"""The Hugging Face `Trainer`: a loop over `compute_loss` (or the program's own `training_step`), pass and step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from afterward.interpret.library.frameworks import accelerate, driving
from afterward.interpret.library.torch import data, module_tree, optim, passes
from afterward.interpret.machine.values import MISSING, Args, Class, Instance, Kwargs, Lib, Native, Unknown, Value

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine


_NAMES = ("model", "args", "data_collator", "train_dataset", "eval_dataset")


def is_trainer(path: str) -> bool:
    return path.split(".", 1)[0] in ("transformers", "trl", "setfit") and path.endswith("Trainer")


def construct(machine: Machine, owner: Instance, args: Args, kwargs: Kwargs) -> None:
    given = dict(zip(_NAMES, args, strict=False)) | kwargs
    owner.attributes.update({key: value for key, value in given.items() if key != "**"})
    owner.attributes.setdefault("accelerator", accelerate.make())
    owner.inner["data"] = given.get("train_dataset")
    owner.inner["collate"] = given.get("data_collator")


def inherited(machine: Machine, owner: Instance, name: str) -> Value:
    """What a subclass of the Trainer has from it."""
    if name == "__init__":
        return Native(lambda m, args, kwargs: construct(m, owner, args, kwargs), name)
    if name == "train":
        return Native(lambda m, args, kwargs: train(m, owner), name)
    if name == "compute_loss":
        return Native(lambda m, args, kwargs: _compute_loss(m, args, kwargs), name)
    if name == "training_step":
        return Native(lambda m, args, kwargs: _training_step(m, owner, args), name)
    if name in ("log", "save_model", "save_state", "add_callback", "evaluate", "predict"):
        return Native(lambda m, args, kwargs: m.unknown(), name)
    return MISSING


def train(machine: Machine, owner: Instance) -> Value:
    """`trainer.train()`."""
    model = owner.attributes.get("model")
    if not isinstance(model, Instance) or not module_tree.is_module(model):
        machine.escape([owner], {})
        return machine.unknown()
    machine.account.driven["self"] = owner
    optimizer = _optimizer(machine, owner, model)
    source, collate = owner.inner.get("data"), owner.inner.get("collate")
    loader = Instance.of_library("torch.utils.data.DataLoader", source=source, args=[], collate=collate)
    batches = data.iterate(machine, loader)
    for _ in driving.iterations(machine):
        inputs = next(batches.source) if batches is not None else machine.unknown()
        step = machine.attribute(owner, "training_step", None)
        machine.call(step, [model, inputs], {}, None)
        if optim.is_optimizer(optimizer):
            optim.step(machine, optimizer, [], {})
        for _, leaf in module_tree.parameters(model):
            machine.account.zeroed(leaf)
            leaf.grad = None
    return machine.unknown()


def _optimizer(machine: Machine, owner: Instance, model: Instance) -> Value:
    given = owner.attributes.get("optimizers")
    if isinstance(given, tuple) and given and given[0] is not None:
        return given[0]
    own = driving.hook(machine, owner, "create_optimizer", [])
    if isinstance(own, Instance) or isinstance(owner.attributes.get("optimizer"), Instance):
        return own if isinstance(own, Instance) else owner.attributes["optimizer"]
    made = Instance(Lib("torch.optim.AdamW"))
    made.label = "the Trainer's optimizer"
    optim.construct(machine, made, [[leaf for _, leaf in module_tree.parameters(model)]], {})
    return made


def _training_step(machine: Machine, owner: Instance, args: Args) -> Value:
    """The Trainer's own step: the loss of one batch, and a pass over it."""
    result = machine.call(machine.attribute(owner, "compute_loss", None), args[:2], {}, None)
    loss = driving.loss_of(machine, result)
    if isinstance(loss, Unknown):
        machine.account.blind = True
        return loss
    passes.backward(machine, [loss], {}, None)
    return driving.detached(loss)


def _compute_loss(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    model = args[0] if args else kwargs.get("model")
    inputs = args[1] if len(args) > 1 else kwargs.get("inputs")
    if isinstance(inputs, dict):
        result = machine.call(model, [], {k: v for k, v in inputs.items() if isinstance(k, str)}, None)
    else:
        result = machine.call(model, [], {"**": inputs}, None)
    loss = driving.loss_of(machine, result)
    wants = machine.truth(kwargs.get("return_outputs", False))
    return (loss, result) if wants else loss


def derives(cls: Class) -> bool:
    return any(isinstance(base, Lib) and is_trainer(base.path) for base in cls.order)
