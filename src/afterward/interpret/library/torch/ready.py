"""Networks that a library makes ready: those of torchvision, timm and their like. What they return depends on what they
are given and on their parameters; of their parts it is known only that they are parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from afterward.interpret.fragments import outputs
from afterward.interpret.library.python.words import words
from afterward.interpret.library.torch import module_tree
from afterward.interpret.machine.values import Args, Instance, Kwargs, Lib, Value

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine

_MAKERS = ("torchvision.models.", "segmentation_models_pytorch.", "efficientnet_pytorch.EfficientNet.from_")
ALSO = words("timm.create_model timm.models.create_model torch.hub.load")
_SIZES = words("in out num size dim channels width depth config cfg")  # in names of attributes that are numbers
_PARTS = 2  # that stand for all of them, where a program goes over them


def is_maker(path: str) -> bool:
    name = path.rsplit(".", 1)[-1]
    if path.startswith("torchvision.models."):
        return name[:1].islower() and not name.startswith("get_")
    return path in ALSO or (path.startswith(_MAKERS) and ".losses." not in path and ".utils." not in path)


def make(machine: Machine) -> Instance:
    return _network(machine.graph.leaf("", True))


def _network(weight: Value) -> Instance:
    made = Instance(Lib("torch.nn.Module"))
    made.inner.update(layer="Module", forward=_forward, ready=True)
    made.attributes.update(training=True, weight=weight)
    return made


def is_ready(owner: Instance) -> bool:
    return bool(owner.inner.get("ready"))


def part(machine: Machine, owner: Instance, name: str) -> Value:
    """A layer of such a network, or a number about it: which of the parameters are its own is not known."""
    if set(name.split("_")) & _SIZES:
        return machine.unknown("attr", owner, name)
    made = owner.attributes[name] = _part(owner)
    return made


def parts(machine: Machine, owner: Instance) -> list[tuple[Value, Instance]]:
    """What a program goes over, each with a name that is not known."""
    found: list[tuple[Value, Instance]] = owner.inner.setdefault(
        "parts", [(machine.unknown("part", owner, number), _part(owner)) for number in range(_PARTS)]
    )
    return [*found, *((name, one) for name, one in module_tree.children(owner) if not is_ready(one))]


def _part(owner: Instance) -> Instance:
    made = _network(owner.attributes["weight"])
    made.inner["shares"] = owner.inner["shares"] = True
    return made


def _forward(machine: Machine, owner: Instance, args: Args, kwargs: Kwargs) -> Value:
    held = [leaf for _, leaf in module_tree.parameters(owner)]
    found = [*outputs.tensors((*args, *kwargs.values())), *held]
    if owner.inner.get("shares") and not any(one.requires_grad for one in found):
        machine.account.lose(found)  # a part of it was frozen: which is not known
        return machine.unknown()
    return outputs.computed(machine, "NetworkBackward", found)
