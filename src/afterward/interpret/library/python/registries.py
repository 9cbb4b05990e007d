"""What a program chooses by a name that is not known: an attribute of a module, an item of a table of classes.

Which one is not known, what it is like is: where all of them are networks, it is a network, and a name of
`torch.optim` is an optimizer.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from afterward.follow.nodes import inside
from afterward.interpret.fragments import standins
from afterward.interpret.fragments.meaning import Role
from afterward.interpret.graph.graph import Tensor
from afterward.interpret.machine.core import spelled
from afterward.interpret.machine.values import Args, Class, Function, Kwargs, Lib, Module, Native, Value

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine

# By the path of a library's module: the name in it that is like each of the others.
_LIKE = {
    "torch.optim": "torch.optim.Optimizer", "torch.optim.lr_scheduler": "torch.optim.lr_scheduler.LRScheduler",
    "torchvision.models": "torchvision.models.resnet", "torchvision.models.__dict__": "torchvision.models.resnet",
}  # fmt: skip


def attribute(machine: Machine, owner: Value, node: ast.AST | None) -> Value | None:
    """`getattr(owner, name)`, where the name is not known."""
    if isinstance(owner, Lib):
        return Lib(_LIKE[owner.path]) if owner.path in _LIKE else None
    return _one_of(machine, owner.scope.names.values(), node) if isinstance(owner, Module) else None


def item(machine: Machine, values: Collection[Value], node: ast.AST | None) -> Value | None:
    """`table[key]`, where the key is not known."""
    is_table = all(isinstance(one, (Class, Function)) for one in values)
    return _one_of(machine, values, node) if is_table else None


def _one_of(machine: Machine, values: Iterable[Value], node: ast.AST | None) -> Value | None:
    """One of these classes or functions: the only one that it can be, or what stands in for each of them."""
    made = [one for one in values if isinstance(one, (Class, Function))]
    networks = [one for one in made if isinstance(one, Class) and one.derives_from("torch.nn.Module")]
    if networks:
        whole = [one for one in networks if not any(_mentions(other, one) for other in networks if other is not one)]
        return whole[0] if len(whole) == 1 else Native(lambda m, args, kwargs: _network(m, args, kwargs, node), "model")
    functions = [one for one in made if isinstance(one, Function)]
    if len(functions) < len(made):
        return None
    return functions[0] if len(functions) == 1 else Native(_function, "function") if functions else None


def _mentions(cls: Class, part: Class) -> bool:
    """Is one class built from, or upon, another?"""
    return part in cls.order or (
        cls.node is not None and any(isinstance(one, ast.Name) and one.id == part.name for one in inside(cls.node))
    )


def _function(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """One of several: what it returns depends on the tensors that it is given."""
    if any(isinstance(one, Tensor) for one in (*args, *kwargs.values())):
        return standins.function(machine, args, kwargs)
    machine.account.lose([*args, *kwargs.values()])
    return machine.unknown()


def _network(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    return machine.assumed.make(machine, Role.NETWORK, spelled(node) if isinstance(node, ast.expr) else "model")
