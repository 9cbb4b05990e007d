"""Writes the `History` of an operation that autograd refuses: a leaf written in place, a computed tensor as a leaf, one
with a graph as a numpy array or in a copy."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from afterward.interpret.graph.graph import Tensor
from afterward.interpret.machine.core import site_of, spelled
from afterward.interpret.machine.values import Lib, Raised
from afterward.model.history import History
from afterward.model.life.faults import Fault
from afterward.model.raised import Operand
from afterward.model.raised import Raised as Refusal
from afterward.model.site import Site

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine

RETAINS = "#retains"  # among the attributes of a computed tensor that `retain_grad()` was called on
_CONVERTED = "Can't call numpy() on Tensor that requires grad"
_COPIED = "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol"
_WRITES = {
    Fault.LEAF_WRITTEN: ("leaf-written-in-place", "AFT501"),
    Fault.LEAF_VIEW_WRITTEN: ("view-of-leaf-written-in-place", "AFT501"),
    Fault.MANY_VIEWS: ("one-of-several-views-written", "AFT508"),
    Fault.NO_GRAD_VIEW: ("view-of-no-grad-written", "AFT508"),
}
_NO_GRADIENT = "unsupported operand type(s): 'NoneType'"


def write_refused(machine: Machine, fault: Fault, target: Tensor, name: str) -> None:
    """A leaf that requires gradients, or a view that may not be, is written in place where gradients are recorded."""
    page, rule = _WRITES.get(fault, ("", ""))
    if fault is Fault.LEAF_VIEW_WRITTEN:
        _refuse(machine, page, rule, fault.value, target.base, name, name)  # type: ignore[arg-type]
    elif page:
        _refuse(machine, page, rule, fault.value, target, name)


def not_optimized(machine: Machine, held: list[Tensor]) -> None:
    """An optimizer is given a tensor that was computed."""
    computed = next((one for one in held if one.node is not None), None)
    if computed is not None:
        _refuse(machine, "non-leaf-optimized", "AFT502", Fault.NOT_OPTIMIZED.value, computed, _name(computed))


def converted(machine: Machine, tensor: Tensor, name: str) -> None:
    """A tensor with a graph is made a numpy array."""
    _refuse(machine, "numpy-of-a-graph-tensor", "AFT503", _CONVERTED, tensor, name)


def copied(machine: Machine, tensor: Tensor) -> None:
    """A deep copy comes to a tensor that was computed."""
    _refuse(machine, "non-leaf-copied", "AFT503", _COPIED, tensor, _name(tensor))


def has_no_gradient(machine: Machine, tensor: Tensor) -> bool:
    """Is it a computed tensor, which `backward()` leaves without a gradient unless it is asked to retain one?"""
    node = tensor.node
    return node is not None and RETAINS not in tensor.attributes and node.number not in machine.account.lost


def used_as_gradient(machine: Machine, expression: ast.AST | None) -> None:
    """`None` is used as a number. Is it the gradient of a computed tensor?"""
    if not (isinstance(expression, ast.Attribute) and expression.attr == "grad"):
        return
    owner = machine.evaluate(expression.value)
    if isinstance(owner, Tensor) and has_no_gradient(machine, owner):
        _refuse(machine, "grad-is-none", "AFT502", _NO_GRADIENT, owner, spelled(expression.value))


def _refuse(machine: Machine, page: str, rule: str, message: str, tensor: Tensor, name: str, base: str = "") -> None:
    node = tensor.node
    operand = Operand(
        name,
        node is None,
        tensor.requires_grad,
        node.name if node is not None else "",
        node.where if node is not None else None,
        _stored(tensor),
        base=base,
    )
    refusal = Refusal(page, (rule,), message, machine.here(), operand)
    raise Raised(Lib("builtins.RuntimeError"), machine.breaks(History(raised=(refusal,), observed=False)))


def _name(tensor: Tensor) -> str:
    namings = tensor.node.names.get(tensor.slot, ()) if tensor.node is not None else ()
    return next((one.name for one in reversed(namings)), tensor.label)


def _stored(tensor: Tensor) -> Site | None:
    """The statement that last gave a computed tensor its name."""
    namings = tensor.node.names.get(tensor.slot, ()) if tensor.node is not None else ()
    return next((site_of(one.file, one.statement) for one in reversed(namings) if one.statement is not None), None)
