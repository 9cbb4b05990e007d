"""What every module of torch has: its children, its parameters, and the methods of `torch.nn.Module`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from afterward.interpret.graph.graph import Tensor
from afterward.interpret.library.torch import module_tree, nn, ready, tensor_members
from afterward.interpret.library.torch.module_tree import as_written, children, is_opaque, parameters, walk
from afterward.interpret.machine.values import (
    MISSING,
    Args,
    Bound,
    Instance,
    Iter,
    Kwargs,
    Lib,
    Method,
    ModuleParts,
    Native,
    PartialDict,
    Value,
)

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine


def _parameters(machine: Machine, owner: Instance, args: Args, kwargs: Kwargs) -> Value:
    found = parameters(owner)
    for name, one in found:
        one.label = one.label or as_written(f"{owner.label}.{name}" if owner.label else name)
    machine.account.asked[id(owner)] = owner
    made = Iter(iter([one for _, one in found]), True)
    made.partial = is_opaque(owner)
    return made


def _named_parameters(machine: Machine, owner: Instance, args: Args, kwargs: Kwargs) -> Value:
    return Iter(iter(list(parameters(owner))), True)


def _modules(machine: Machine, owner: Instance, args: Args, kwargs: Kwargs) -> Value:
    return Iter(iter([module for _, module in walk(owner)]), True)


def _children(machine: Machine, owner: Instance) -> Iterable[tuple[Value, Instance]]:
    return ready.parts(machine, owner) if ready.is_ready(owner) else children(owner)


def _set_training(flag: bool) -> Callable[..., Value]:
    def run(machine: Machine, owner: Instance, args: Args, kwargs: Kwargs) -> Value:
        mode = args[0] if args else kwargs.get("mode", flag)
        for _, module in walk(owner):
            module.attributes["training"] = mode
        return owner

    return run


def _zero_grad(machine: Machine, owner: Instance, args: Args, kwargs: Kwargs) -> Value:
    for _, parameter in parameters(owner):
        machine.account.zeroed(parameter, machine.here())
        parameter.grad = None
    return None


def _compile(machine: Machine, owner: Instance, args: Args, kwargs: Kwargs) -> Value:
    owner.inner["compiled"] = kwargs.get("backend", "inductor") in ("inductor", "aot_eager")
    return None


def _same(machine: Machine, owner: Instance, args: Args, kwargs: Kwargs) -> Value:
    return owner


def _apply(machine: Machine, owner: Instance, args: Args, kwargs: Kwargs) -> Value:
    for _, module in list(walk(owner))[:40]:
        machine.call(args[0], [module], {}, None)
    return owner


def _register(machine: Machine, owner: Instance, args: Args, kwargs: Kwargs) -> Value:
    given = dict(zip(("name", "tensor"), args, strict=False)) | kwargs
    value = given.get("tensor", given.get("param", given.get("module")))
    name = given.get("name")
    if isinstance(name, str):
        owner.attributes[name] = value
        items = owner.inner.get("items")
        if isinstance(items, list) and module_tree.is_module(value):
            items.append(value)
        elif isinstance(items, dict):
            items[name] = value
        machine.name(value, f"self.{name}", "attribute")
    return None


def _hook(which: str) -> Callable[..., Value]:
    def run(machine: Machine, owner: Instance, args: Args, kwargs: Kwargs) -> Value:
        if args:
            hooks = owner.inner.setdefault(which, [])
            hooks.append(args[0])
            handle = Instance(Lib("torch.utils.hooks.RemovableHandle"))
            handle.inner["remove"] = (hooks, args[0])
            return handle
        return machine.unknown()

    return run


def _requires_grad_(machine: Machine, owner: Instance, args: Args, kwargs: Kwargs) -> Value:
    flag = args[0] if args else kwargs.get("requires_grad", True)
    for _, parameter in parameters(owner):
        tensor_members.switch(machine, parameter, flag, machine.frame.statement, ".requires_grad_(False)")
    return owner


def _state_dict(machine: Machine, owner: Instance, args: Args, kwargs: Kwargs) -> Value:
    made = PartialDict()
    for name, parameter in parameters(owner):
        made[name] = parameter.alias()
    made.partial = True
    return made


def _load(machine: Machine, owner: Instance, args: Args, kwargs: Kwargs) -> Value:
    if isinstance(args[0] if args else None, dict):
        for _, parameter in parameters(owner):
            machine.graph.overwrite(parameter, owner.label or "the module")
    return machine.unknown()


METHODS: dict[str, Callable[..., Value]] = {
    "parameters": _parameters, "named_parameters": _named_parameters, "modules": _modules,
    "named_modules": lambda m, o, a, k: Iter(iter(list(walk(o)))),
    "children": lambda m, o, a, k: Iter(iter([child for _, child in _children(m, o)])),
    "named_children": lambda m, o, a, k: Iter(iter(list(_children(m, o)))),
    "train": _set_training(True), "eval": _set_training(False), "zero_grad": _zero_grad, "apply": _apply,
    "register_buffer": _register, "register_parameter": _register, "add_module": _register,
    "register_module": _register, "register_forward_hook": _hook("hooks"),
    "register_forward_pre_hook": _hook("pre_hooks"), "requires_grad_": _requires_grad_, "state_dict": _state_dict,
    "load_state_dict": _load, "compile": _compile, "buffers": lambda m, o, a, k: Iter(iter([])),
    "__init__": lambda m, o, a, k: _construct_base(m, o, a, k),
    "forward": lambda m, o, a, k: nn.layer(m, o, a, k, None),
    "__call__": lambda m, o, a, k: nn.call(m, o, a, k, None),
}  # fmt: skip
for _name in ["to", "cuda", "cpu", "float", "double", "half", "bfloat16", "type", "share_memory", "to_empty", "xpu"]:
    METHODS[_name] = _same


def _construct_base(machine: Machine, owner: Instance, args: Args, kwargs: Kwargs) -> None:
    """`super().__init__(...)` of a class that derives from a module of the library."""
    base = next((one for one in owner.order if isinstance(one, Lib) and module_tree.looks_like_module(one.path)), None)
    if base is not None:
        nn.construct(machine, owner, base.name, args, kwargs)


def inherited(machine: Machine, owner: Instance, base: Lib, name: str) -> Value:
    """A method that a module has from `torch.nn.Module` (or from the layer it derives from)."""
    if name == "forward" and base.name == "Module":
        return MISSING
    if name == "__call__":
        return MISSING
    if name in ("_modules", "_parameters"):
        own = ((k, v) for k, v in owner.attributes.items() if isinstance(v, Tensor) and v.is_parameter)
        parts = ModuleParts(_children(machine, owner) if name == "_modules" else own)
        parts.module = owner
        return parts
    if name in METHODS:
        run = METHODS[name]
        return Bound(Native(lambda m, args, kwargs: run(m, args[0], args[1:], kwargs), name), owner)
    if name == "no_sync" and "ready" in owner.inner:
        owner.inner["no_sync"] = True
    if name in ("append", "extend", "insert", "keys", "values", "items", "update", "pop", "__len__", "get"):
        return Method(owner, name) if "items" in owner.inner else MISSING
    if name.startswith("_") or base.path == "torch.nn.Module":
        return MISSING
    return machine.unknown("attr", owner, name) if owner.opaque else MISSING
