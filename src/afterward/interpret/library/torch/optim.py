"""`torch.optim`: an optimizer holds leaves, and its step writes to those that have a gradient."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from afterward.interpret.graph.graph import Tensor
from afterward.interpret.history import refused
from afterward.interpret.library.torch import passes
from afterward.interpret.machine.values import (
    MISSING,
    Args,
    Bound,
    Instance,
    Iter,
    Kwargs,
    Lib,
    Native,
    PartialDict,
    Stream,
    Value,
)

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine


def is_optimizer(value: Value) -> bool:
    return isinstance(value, Instance) and any(
        isinstance(base, Lib) and looks_like_optimizer(base.path) for base in value.order
    )


@lru_cache(maxsize=4096)
def looks_like_optimizer(path: str) -> bool:
    return path.startswith("torch.optim.") and not path.startswith(
        ("torch.optim.lr_scheduler", "torch.optim.swa_utils")
    )


def construct(machine: Machine, made: Instance, args: Args, kwargs: Kwargs) -> None:
    given = args[0] if args else kwargs.get("params")
    params: list[Tensor] = []
    groups = []
    for group in _groups(machine, given):
        held = [one for one in group if isinstance(one, Tensor)]
        params += held
        entry = PartialDict(params=held)
        entry.partial = True
        groups.append(entry)
    refused.not_optimized(machine, params)
    made.inner["params"] = params
    made.inner["partial"] = _is_partial(given, params)
    made.inner["fused"] = machine.truth(kwargs.get("fused", False)) is True
    made.attributes["param_groups"] = groups
    state = PartialDict()
    state.maker = Lib("builtins.dict")  # torch makes an empty one for each parameter that is asked about
    made.attributes.setdefault("state", state)
    if made not in machine.optimizers:
        machine.optimizers.append(made)


def _is_partial(given: Value, params: list[Tensor]) -> bool:
    """Does the optimizer hold parameters that are not known?"""
    if isinstance(given, dict):
        return _is_partial(given.get("params"), params)
    if isinstance(given, (list, tuple)):
        return any(_is_partial(one, params) for one in given)
    if isinstance(given, Iter):
        return given.partial
    return not isinstance(given, (Tensor, str))


def _groups(machine: Machine, given: Value) -> list[list[Value]]:
    if isinstance(given, Tensor):
        return [[given]]
    if isinstance(given, dict):
        return _groups(machine, given.get("params"))
    if isinstance(given, (Iter, Stream)):
        given = machine.take(machine.iterate(given, None), 2000)
    if isinstance(given, (list, tuple)):
        if any(isinstance(one, dict) for one in given):
            return [group for one in given for group in _groups(machine, one)]
        flat: list[Value] = []
        for one in given:
            if isinstance(one, tuple) and len(one) == 2:  # named parameters
                one = one[1]
            flat += _groups(machine, one)[0] if isinstance(one, (Iter, list)) else [one]
        return [flat]
    return [[]]


def step(machine: Machine, owner: Instance, args: Args, kwargs: Kwargs) -> Value:
    """Write to every leaf that has a gradient. A closure is called first; LBFGS calls it again and again."""
    closure = args[0] if args else kwargs.get("closure")
    result: Value = None
    _begin(machine, owner, True)
    times = 3 if owner.class_name == "LBFGS" or "before_use" in owner.inner else 1
    for number in range(times if closure is not None else 0):
        result = machine.call(closure, [], {}, None)
        if number < times - 1:
            _write(machine, owner)
    _write(machine, owner)
    return result


def _begin(machine: Machine, owner: Instance, stepping: bool) -> None:
    """One that stands in for an optimizer that the file does not show looks for what it trains."""
    look = owner.inner.get("before_use")
    if look is not None:
        look(machine, owner, stepping)


def _write(machine: Machine, owner: Instance) -> None:
    changed = []
    fused = owner.inner.get("fused")
    mine = [leaf for leaf in owner.inner.get("params", ()) if isinstance(leaf, Tensor)]
    machine.account.stepped(mine, len(machine.steps))
    for group in (
        owner.attributes.get("param_groups", ()) if isinstance(owner.attributes.get("param_groups"), list) else ()
    ):
        held = group.get("params") if isinstance(group, dict) else None
        for leaf in held if isinstance(held, list) else ():
            if isinstance(leaf, Tensor) and leaf.needs and leaf.grad is not None:
                leaf.storage.symbol = hash((leaf.storage.symbol, machine.graph.clock))
                leaf.version.count += not fused  # a fused optimizer changes the numbers, and the counter stays
                changed.append(leaf)
    made = passes.StepMade(machine.here(), machine.graph.tick(), owner, changed)
    machine.steps.append(made)
    machine.stepped_at.update((id(leaf), made.moment) for leaf in changed)


def zero_grad(machine: Machine, owner: Instance, args: Args, kwargs: Kwargs) -> Value:
    _begin(machine, owner, False)
    keeps = kwargs.get("set_to_none", args[0] if args else True)
    for leaf in owner.inner.get("params", ()):
        lender = machine.account.lender(leaf)
        machine.account.zeroed(leaf, machine.here())
        if lender is not None and machine.truth(keeps) is not True:
            machine.account.zeroed(lender, machine.here())  # it is one tensor, and is filled with zeros
        if machine.truth(keeps) is not False:
            leaf.grad = None
    return None


def add_group(machine: Machine, owner: Instance, args: Args, kwargs: Kwargs) -> Value:
    for group in _groups(machine, args[0] if args else kwargs.get("param_group")):
        held = [one for one in group if isinstance(one, Tensor)]
        owner.inner.setdefault("params", []).extend(held)
        groups = owner.attributes.setdefault("param_groups", [])
        if isinstance(groups, list):
            groups.append(PartialDict(params=held))
    return None


_METHODS = {"step": step, "zero_grad": zero_grad, "add_param_group": add_group}
_PLAIN = ("state_dict", "load_state_dict", "register_step_post_hook", "register_step_pre_hook")
_SHOWN = ("param_groups", "state", "defaults")  # attributes of every optimizer


def inherited(machine: Machine, owner: Instance, base: Lib, name: str) -> Value:
    if name == "__init__":
        return Bound(Native(lambda m, args, kwargs: construct(m, args[0], args[1:], kwargs), name), owner)
    run = _METHODS.get(name)
    if run is not None:
        return Bound(Native(lambda m, args, kwargs: run(m, args[0], args[1:], kwargs), name), owner)
    if name in _PLAIN:
        return Native(lambda m, args, kwargs: m.unknown(), name)
    if "before_use" in owner.inner and name not in _SHOWN and not name.startswith("_"):
        machine.account.strange.append(owner)  # an optimizer of its own kind: `first_step()` may do what `step()` does
    return MISSING
