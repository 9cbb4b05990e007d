"""Methods of tensors that are more than an operation, and their attributes."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from afterward.follow.reading import parts_run
from afterward.interpret.graph.account import MEMORY
from afterward.interpret.graph.graph import Tensor
from afterward.interpret.history import refused
from afterward.interpret.library.python.words import words
from afterward.interpret.library.torch import ops, passes
from afterward.interpret.machine.values import MISSING, Args, Instance, Kwargs, Lib, Method, Unknown, Value
from afterward.model.history import BY_GRAD
from afterward.model.life import recording

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine

_GRADIENT = ("grad", "_grad")  # two names that torch has for it


def _backward(machine: Machine, owner: Tensor, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    names = ["gradient", "retain_graph", "create_graph", "inputs"]
    given = dict(zip(names, args, strict=False)) | kwargs
    return passes.backward(machine, [owner], given, node)


def _detach(machine: Machine, owner: Tensor, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    made: Tensor = recording.detach(machine.graph, owner)  # type: ignore[assignment]
    made.cut = ops.cut_of(machine, owner, ".detach()", node)
    if made.cut is not None and made.cut.how == BY_GRAD:
        made.cut = None  # whoever detaches plain numbers means them to be plain numbers
    return made


def _detach_(machine: Machine, owner: Tensor, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    owner.cut = ops.cut_of(machine, owner, ".detach_()", node)
    owner.node, owner.needs, owner.base = None, False, None
    return owner


def _clone(machine: Machine, owner: Tensor, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    return ops.generic(machine, "CloneBackward0", [owner], "")


def _requires_grad_(machine: Machine, owner: Tensor, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    flag = args[0] if args else kwargs.get("requires_grad", True)
    switch(machine, owner, flag, node, ".requires_grad_(False)")
    return owner


def switch(machine: Machine, owner: Tensor, flag: Value, node: ast.AST | None, how: str) -> None:
    known = machine.truth(flag)
    if owner.node is not None:
        return
    if known is True:
        owner.needs, owner.switched = True, None
        machine.graph.register(owner)
    elif known is False:
        if owner.needs:
            owner.switched = machine.cutting(how, node)
        owner.needs = False
    else:
        machine.account.switched.add(id(owner))


def _item_set(machine: Machine, owner: Tensor, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    if len(args) == 2 and node is not None:
        ops.write_item(machine, owner, args[0], args[1], node)
    return None


def _anything(machine: Machine, owner: Tensor, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    return machine.unknown()


def _retain_grad(machine: Machine, owner: Tensor, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    owner.attributes[refused.RETAINS] = True
    return None


def _gone(machine: Machine, owner: Tensor, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    machine.stop("`reinforce` is from before torch 0.4: this call fails today")
    return None


def _sum_to(machine: Machine, owner: Tensor, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    return ops.generic(machine, "SumBackward0", [owner], "")


SPECIAL: dict[str, Callable[[Machine, Tensor, Args, Kwargs, ast.AST | None], Value]] = {
    "backward": _backward, "detach": _detach, "detach_": _detach_, "clone": _clone, "requires_grad_": _requires_grad_,
    "reinforce": _gone, "retain_grad": _retain_grad, "__setitem__": _item_set, "sum_to_size": _sum_to,
    "register_hook": _anything, "register_post_accumulate_grad_hook": _anything, "map_": _anything, "apply_": _anything,
}  # fmt: skip


# Attributes


def _read_as(statement: ast.stmt | None, name: str) -> ast.AST | None:
    """Where a statement reads an attribute of this name."""
    read = (node for node in parts_run(statement) if isinstance(node, ast.Attribute) and node.attr == name)
    return next(read, statement)


def _data(machine: Machine, owner: Tensor) -> Value:
    made = Tensor()
    made.cut = ops.cut_of(machine, owner, ".data", _read_as(machine.frame.statement, "data"))
    made.attributes[MEMORY] = owner
    return made


def _gradient(machine: Machine, owner: Tensor) -> Value:
    machine.account.read_gradient(owner)
    if owner.grad is not None:
        return owner.grad
    if refused.has_no_gradient(machine, owner):
        return None  # `backward()` fills it for leaves only
    gradient = machine.unknown("grad", owner, machine.graph.clock)
    gradient.plain = not any(one.creates for one in machine.passes)  # else it may have a graph of its own
    if _has_none(machine, owner):
        machine.settled(gradient, False)
        machine.settled(machine.unknown("is", gradient, None), True)
    return gradient


def _has_none(machine: Machine, owner: Tensor) -> bool:
    """Has nothing given a parameter a gradient? No operation has used it, or every pass is known as far as it goes; and
    nothing unknown had it."""
    account = machine.account
    if not owner.is_parameter or machine.assumed.lenient or id(owner) in account.touched:
        return False
    if id(owner) not in machine.graph.used:
        return True
    return not (account.blind or account.mixed or account.lost) and not any(one.open for one in machine.passes)


def _grad_fn(machine: Machine, owner: Tensor) -> Value:
    if owner.node is None:
        return None
    made = Instance(Lib("torch.autograd.graph.Node"))
    made.inner["node"] = owner.node
    return made


def _transposed(machine: Machine, owner: Tensor) -> Value:
    return ops.generic(machine, "TBackward0", [owner], "", view=True)


_ATTRIBUTES: dict[str, Callable[[Machine, Tensor], Value]] = {
    "data": _data,
    **dict.fromkeys(_GRADIENT, _gradient),
    "requires_grad": lambda machine, owner: owner.requires_grad,
    "is_leaf": lambda machine, owner: owner.node is None,
    "grad_fn": _grad_fn,
    **dict.fromkeys(("T", "mT", "H", "mH"), _transposed),
}
_PLAIN = words("shape dtype device ndim is_cuda layout names nbytes itemsize is_sparse")


def about(machine: Machine, owner: Tensor, name: str, *more: int | str) -> Unknown:
    """What a tensor tells of itself: its size, say. That has no graph, and nor has what is computed from it alone."""
    told = machine.unknown("attr", owner, name, *more)
    told.plain = True
    return told


def attribute(machine: Machine, owner: Tensor, name: str) -> Value:
    """An attribute of a tensor; its methods are looked up when they are called."""
    if name in owner.attributes:
        return owner.attributes[name]
    if name in _ATTRIBUTES:
        machine.graphs_asked += 1
        return _ATTRIBUTES[name](machine, owner)
    if name in _PLAIN:
        return about(machine, owner, name)
    if name.startswith("__") and name != "__setitem__":
        return MISSING
    return Method(owner, name)


def set_attribute(machine: Machine, owner: Tensor, name: str, value: Value, node: ast.AST) -> None:
    if name == "requires_grad":
        switch(machine, owner, value, node, ".requires_grad = False")
    elif name in _GRADIENT:
        machine.account.gradient_given(owner, value, machine.here())
        owner.grad = value if isinstance(value, Tensor) else None
    elif name == "data":
        machine.account.by_hand[id(owner)] = machine.graph.clock
        machine.account.changed_by_hand(owner)
    else:
        owner.attributes[name] = value
