"""`torch.func`: functions that compute gradients of functions. They free nothing that the program has built."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from afterward.interpret.graph.graph import Tensor
from afterward.interpret.machine.values import Args, Kwargs, Native, PartialDict, Value

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine


def transform(machine: Machine, name: str, args: Args, kwargs: Kwargs) -> Value:
    """`torch.func.grad(f)`, `vmap(f)`, `jacrev(f)`, ...: another function."""
    if not args:
        return machine.unknown()
    function, has_aux = args[0], kwargs.get("has_aux") is True
    number = kwargs.get("argnums", args[1] if len(args) > 1 and name != "vmap" else 0)
    if name == "vmap":
        return Native(lambda m, a, k: m.call(function, a, k, None), "vmap")
    if name in ("vjp", "jvp", "linearize"):
        machine.account.lose(args)
        return machine.unknown()
    run = _derivative(function, number, has_aux, name)
    return Native(run, name)


def _derivative(function: Value, number: Value, has_aux: bool, name: str) -> Callable[..., Value]:
    def run(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
        before = machine.graph.count
        result = machine.call(function, args, kwargs, None)
        out = result[0] if has_aux and isinstance(result, tuple) and result else result
        numbers = number if isinstance(number, tuple) else (number,)
        found = [
            _like(machine, args[one], out, before) if isinstance(one, int) and one < len(args) else machine.unknown()
            for one in numbers
        ]
        gradient: Value = tuple(found) if isinstance(number, tuple) else found[0]
        if name in ("grad_and_value", "value_and_grad"):
            return gradient, _value(result)
        return (gradient, result[1]) if has_aux and isinstance(result, tuple) else gradient

    return run


def _like(machine: Machine, given: Value, out: Value, before: int) -> Value:
    """Gradients in the shape of what they are for; they depend on whatever outer values the function used."""
    if isinstance(given, dict):
        return PartialDict({key: _like(machine, one, out, before) for key, one in given.items()})
    if isinstance(given, (tuple, list)):
        return type(given)(_like(machine, one, out, before) for one in given)
    if not isinstance(given, Tensor) or not isinstance(out, Tensor):
        return machine.unknown()
    made = Tensor()
    if out.node is not None and machine.graph.records:
        outer = [node for node in machine.graph.reach([out.node]) if node.number <= before]
        made.node = machine.graph.derivative((one, 0) for one in outer)
    return made


def _value(result: Value) -> Value:
    return result
