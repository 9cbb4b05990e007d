"""Transforms of `torch.distributions`: what they compute, and the pair that a transform with a cache keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from afterward.interpret.graph.graph import Tensor
from afterward.interpret.library.torch import ops
from afterward.interpret.machine.values import Args, Bound, Class, Function, Instance, Kwargs, Lib, Unknown, Value

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine


def is_transform(value: Value) -> bool:
    return isinstance(value, Instance) and any(
        isinstance(base, Lib) and base.path.startswith("torch.distributions.") and base.name.endswith("Transform")
        for base in value.order
    )


def construct(owner: Instance, args: Args, kwargs: Kwargs) -> None:
    """The `__init__` of a transform or of a transformed distribution."""
    owner.inner["values"] = [one for one in (*args, *kwargs.values()) if isinstance(one, (Tensor, Unknown, Instance))]
    if is_transform(owner):
        size = kwargs.get("cache_size", args[0] if args and isinstance(owner.cls, Class) else 0)
        owner.inner["caches"] = size == 1
        owner.inner["parts"] = args[0] if args and isinstance(args[0], list) else None
    else:
        given = dict(zip(("base_distribution", "transforms"), args, strict=False)) | kwargs
        chain = given.get("transforms", [])
        owner.inner["base"] = given.get("base_distribution")
        owner.inner["chain"] = list(chain) if isinstance(chain, (list, tuple)) else [chain]


def forward(machine: Machine, owner: Value, x: Value) -> Value:
    """`transform(x)`: the kept result, where it is asked about the very value it was made from."""
    return _transformed(machine, owner, x, 0)


def inverse(machine: Machine, owner: Value, y: Value) -> Value:
    return _transformed(machine, owner, y, 1)


def _transformed(machine: Machine, owner: Value, given: Value, side: int) -> Value:
    if not isinstance(owner, Instance):
        machine.account.lose([given])
        return machine.unknown()
    kept = owner.inner.get("kept")
    if kept is not None and kept[side] is given:
        return kept[1 - side]
    made = _compute(machine, owner, ("_call", "_inverse")[side], given)
    return _remember(machine, owner, *((given, made) if side == 0 else (made, given)))[1 - side]


def _remember(machine: Machine, owner: Instance, x: Value, y: Value) -> tuple[Value, Value]:
    if owner.inner.get("caches"):
        owner.inner["kept"] = (x, y)
        for one in (x, y):
            machine.name(one, f"{owner.label or owner.class_name}._cached_x_y", "attribute")
    return x, y


def _compute(machine: Machine, owner: Instance, way: str, value: Value) -> Value:
    parts = owner.inner.get("parts")
    if isinstance(parts, list):  # a composition
        for one in parts if way == "_call" else reversed(parts):
            value = forward(machine, one, value) if way == "_call" else inverse(machine, one, value)
        return value
    method = machine.lookup(owner, way)
    if isinstance(method, Bound) and isinstance(method.function, Function):
        return machine.call(method, [value], {}, None)
    if isinstance(owner.cls, Class):
        machine.account.lose([owner, value])
        return machine.unknown()
    return ops.generic(machine, f"{owner.class_name}Backward", [value, *owner.inner.get("values", ())], "own")


def volume(machine: Machine, owner: Value, x: Value, y: Value) -> Value:
    """`log_abs_det_jacobian`."""
    if not isinstance(owner, Instance):
        return machine.unknown()
    parts = owner.inner.get("parts")
    if isinstance(parts, list):
        return machine.unknown()
    method = machine.lookup(owner, "log_abs_det_jacobian")
    if isinstance(method, Bound) and isinstance(method.function, Function):
        return machine.call(method, [x, y], {}, None)
    return ops.generic(machine, "LogBackward0", [x, *owner.inner.get("values", ())], "own")


def draw(machine: Machine, owner: Instance, base: Value) -> Value:
    """A sample of a transformed distribution, from one of its base."""
    for one in owner.inner.get("chain", ()):
        base = forward(machine, one, base)
    return base


def densities(machine: Machine, owner: Instance, value: Value) -> tuple[list[Value], Value]:
    """The volumes that `log_prob` adds up, and the value in the space of the base."""
    found: list[Value] = []
    for one in reversed(owner.inner.get("chain", ())):
        before = inverse(machine, one, value)
        found.append(volume(machine, one, before, value))
        value = before
    return found, value


def method(machine: Machine, owner: Instance, name: str, args: Args) -> Value:
    """A method of a transform that the program has not defined itself."""
    if name in ("__call__", "forward") and args:
        return forward(machine, owner, args[0])
    if name in ("_inv_call",) and args:
        return inverse(machine, owner, args[0])
    if name == "log_abs_det_jacobian" and len(args) == 2:
        return volume(machine, owner, args[0], args[1])
    if name == "with_cache":
        owner.inner["caches"] = not args or args[0] == 1
        return owner
    return machine.unknown()
