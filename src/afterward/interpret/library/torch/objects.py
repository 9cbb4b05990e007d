"""Objects of torch and of libraries around it: grad modes, scalers, distributions, data loaders, contexts."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from afterward.interpret.graph.graph import Tensor
from afterward.interpret.library.frameworks import accelerate, graphs, lightning, transformers
from afterward.interpret.library.python import builtins as python
from afterward.interpret.library.python import containers, workers
from afterward.interpret.library.torch import (
    distributions,
    module_tree,
    modules,
    ops,
    optim,
    passes,
    transforms,
)
from afterward.interpret.machine.core import site_of
from afterward.interpret.machine.values import (
    MISSING,
    Args,
    Bound,
    Class,
    Function,
    Instance,
    Kwargs,
    Lib,
    Method,
    Native,
    Raised,
    Stream,
    Value,
)
from afterward.model.site import Site

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine


_SAME_PLACE = {
    "torch.nn.modules.": "torch.nn.", "torch.optim.optimizer.": "torch.optim.", "torch.nn.parameter.": "torch.nn.",
    "torch.autograd.variable.": "torch.autograd.", "torch.autograd.function.Function": "torch.autograd.Function",
    "torch.autograd.function.InplaceFunction": "torch.autograd.Function",
    "torch.autograd.function.once_differentiable": "torch.jit.ignore",
    "pytorch_lightning.": "lightning.pytorch.", "lightning.LightningModule": "lightning.pytorch.LightningModule",
    "lightning.Trainer": "lightning.pytorch.Trainer", "lightning.pytorch.trainer.Trainer": "lightning.pytorch.Trainer",
    "lightning.Fabric": "lightning.fabric.Fabric",
    "torch.nn.parallel.": "torch.nn.", "torch.multiprocessing.": "multiprocessing.",
}  # fmt: skip


@lru_cache(maxsize=16_384)
def canonical(path: str) -> str:
    """One name for what libraries offer under several."""
    for start, place in _SAME_PLACE.items():
        if path.startswith(start):
            return place + path[len(start) :]
    return path


# Grad modes


def mode(machine: Machine, records: bool, how: str, args: Args, kwargs: Kwargs) -> Value:
    """`torch.no_grad()`: a context, or a decorator; given a function, the function under it."""
    made = Instance(Lib("torch.no_grad"))
    flag = args[0] if args and not isinstance(args[0], (Function, Bound, Class)) else kwargs.get("mode", True)
    if how.startswith("torch.inference") and machine.truth(flag) is False:
        records = True
    made.inner.update(records=records, how=how)
    if args and isinstance(args[0], (Function, Bound, Native)):
        return under(machine, made, args[0])
    return made


def under(machine: Machine, switch: Instance, function: Value) -> Value:
    """A function that always runs in a grad mode."""

    def run(m: Machine, args: Args, kwargs: Kwargs) -> Value:
        with m.graph.own_mode():
            enter_mode(m, switch, None)
            if m.graph.off is not None and isinstance(function, (Function, Bound)):
                site = _decorator(switch, function) or m.graph.off.site
                m.graph.off = replace(m.graph.off, depth=m.depth() + 1, site=site)
            return m.call(function, args, kwargs, None)

    made = Native(run, getattr(function, "name", ""))
    made.attributes.update(binds=True, __wrapped__=function)
    return made


def _decorator(switch: Instance, function: Value) -> Site | None:
    """Where the grad mode stands over the function."""
    inner = function.function if isinstance(function, Bound) else function
    marks = getattr(inner.node, "decorator_list", ()) if isinstance(inner, Function) else ()
    name = switch.inner["how"].partition("(")[0].rpartition(".")[2]
    file = inner.scope.module.file if isinstance(inner, Function) and inner.scope.module is not None else ""
    return next((site_of(file, one) for one in marks if name in ast.unparse(one)), None) if file else None


def enter_mode(machine: Machine, switch: Instance, node: ast.AST | None) -> None:
    machine.graph.records = switch.inner["records"]
    if not machine.graph.records:
        machine.graph.off = replace(machine.cutting(switch.inner["how"], node), name="")


def set_grad(machine: Machine, flag: Value, node: ast.AST | None) -> Value:
    """`torch.set_grad_enabled(flag)`: takes effect at once; as a context it is undone at the end."""
    before = machine.graph.records, machine.graph.off
    how = "torch.set_grad_enabled(False)"
    made = Instance.of_library("torch.no_grad", records=machine.is_true(flag, node), how=how, before=before)
    enter_mode(machine, made, node)
    return made


def enter(
    machine: Machine, manager: Instance, node: ast.AST | None
) -> tuple[Value, Callable[[Raised | None], bool]] | None:
    """Enter a context manager of a library; None where it is not modelled."""
    graph = machine.graph
    if "records" in manager.inner:
        before = manager.inner.get("before", (graph.records, graph.off))
        enter_mode(machine, manager, node)
        if graph.off is not None:
            graph.off = replace(graph.off, depth=machine.depth())

        def leave(error: Raised | None) -> bool:
            graph.records, graph.off = before
            return False

        return manager, leave
    if manager.cls == Lib("torch.nn.utils.parametrize.cached"):
        outer = machine.parametrize_cache
        machine.parametrize_cache = {} if outer is None else outer

        def uncached(error: Raised | None) -> bool:
            machine.parametrize_cache = outer
            return False

        return None, uncached
    if manager.cls == Lib("dgl.local_scope"):
        return graphs.scope(manager)
    if manager.cls == Lib("contextlib.suppress"):
        kinds = manager.inner["kinds"]
        return None, lambda error: error is not None and any(machine.catches(one, error.value) for one in kinds)
    return None


# Attributes and methods


def attribute(machine: Machine, owner: Instance, base: Lib, name: str) -> Value:
    if name.startswith("__") and name != "__init__":
        return MISSING
    path = base.path
    if path == "torch.autograd.function.FunctionCtx":
        if name in ("saved_tensors", "saved_variables"):
            return passes.saved_tensors(machine, owner)
        if name == "needs_input_grad":
            return Stream(lambda: True)
        return Method(owner, name)
    if workers.is_worker(path) and isinstance(owner.cls, Class):
        return workers.inherited(machine, owner, base, name)
    if path == "torch.autograd.graph.Node":
        if name.startswith("_saved_"):
            passes.read_saved(machine, owner.inner["node"])
        return machine.unknown()
    if path.startswith("torch.distributions.") and not isinstance(owner.cls, Class):
        if name in ("mean", "mode", "stddev", "variance") and name not in owner.attributes:
            inputs = distributions.inputs_of(machine, owner)
            machine.account.lose(inputs)
            return inputs[0] if name == "mean" and owner.class_name == "Normal" else machine.unknown()
        if name == "logits":
            return (distributions.inputs_of(machine, owner) or [machine.unknown()])[0]
        return Method(owner, name)
    if transformers.is_trainer(path):
        found = transformers.inherited(machine, owner, name)
        if found is not MISSING:
            return found
    if name == "__init__" and path.startswith("torch.distributions."):
        return Native(lambda m, args, kwargs: transforms.construct(owner, args, kwargs), name)
    if name == "__init__":
        return Native(lambda m, args, kwargs: construct_from(m, owner, args), name)
    if path.startswith("torch.distributions.") and (transforms.is_transform(owner) or "base" in owner.inner):
        if name == "inv":
            return Native(lambda m, args, kwargs: transforms.inverse(m, owner, args[0]), name)
        return Native(lambda m, args, kwargs: distributions.method(m, owner, name, args), name)
    if "items" in owner.inner and hasattr(owner.inner["items"], name):
        return Method(owner, name)
    if isinstance(owner.cls, Lib):
        return Method(owner, name)
    if path.split(".")[0] in ("abc", "typing", "builtins", "object", "enum", "collections", "dataclasses"):
        return MISSING
    return machine.unknown("attr", owner, name)


def construct_from(machine: Machine, owner: Instance, args: Args) -> None:
    if args and isinstance(owner.inner.get("items"), list):
        owner.inner["items"].extend(machine.take(machine.iterate(args[0], None)))


def class_attribute(machine: Machine, owner: Value, base: Lib, name: str) -> Value:
    """What a class of the program has from a library class."""
    if base.path == "torch.autograd.Function" and name == "apply" and isinstance(owner, Class):
        cls = owner
        return Native(lambda m, args, kwargs: passes.apply_function(m, cls, args, kwargs), "apply")
    if (
        name in ("__init__", "forward", "train", "eval")
        and module_tree.looks_like_module(base.path)
        and name in modules.METHODS
    ):
        run = modules.METHODS[name]
        return Native(lambda m, args, kwargs: run(m, args[0], args[1:], kwargs), name)
    return MISSING


def method(machine: Machine, owner: Instance, name: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    """A method of a modelled object."""
    items = owner.inner.get("items")
    if items is not None and hasattr(items, name):
        for one in args:
            machine.name(one, f"{owner.label}[...]" if owner.label else "item", "item")
        return containers.method(machine, items, name, args, kwargs, node)
    path = owner.cls.path if isinstance(owner.cls, Lib) else ""
    if path == "torch.amp.GradScaler":
        if name == "scale" and args:
            if isinstance(args[0], Tensor):
                return ops.apply(machine, "mul_scalar", args[:1])
            return machine.unknown()
        if name == "step" and args and optim.is_optimizer(args[0]):
            return machine.call(machine.attribute(args[0], "step", node), args[1:], kwargs, node)
        return machine.unknown()
    if path == "torch.autograd.function.FunctionCtx":
        if name == "save_for_backward":
            owner.inner["saved"] = tuple(args)
        return None
    if path.startswith("torch.distributions."):
        return distributions.method(machine, owner, name, args)
    if path == "torch.utils.hooks.RemovableHandle" and name == "remove" and "remove" in owner.inner:
        hooks, hook = owner.inner["remove"]
        if hook in hooks:
            hooks.remove(hook)
        return None
    if path == "dgl.DGLGraph":
        return graphs.method(machine, owner, name, args, kwargs, node)
    if path == "accelerate.Accelerator":
        return accelerate.method(machine, name, args, kwargs, node)
    if path == "lightning.pytorch.Trainer":
        if name == "fit":
            return lightning.fit(machine, owner, args, kwargs, node)
        return machine.unknown()
    if path.startswith("argparse."):
        return python.argparse_method(machine, owner, name, args, kwargs)
    if workers.is_worker(path):
        return workers.method(machine, owner, name, node)
    if path.startswith("threading."):
        return machine.unknown()
    if path.split(".")[0] not in python.HARMLESS and not path.startswith("torch."):
        machine.escape(args, kwargs)
    return machine.unknown()


def call(machine: Machine, owner: Instance, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    """Call an object that is no module: a grad mode as a decorator, or something unknown."""
    if "records" in owner.inner and args:
        return under(machine, owner, args[0])
    if args and transforms.is_transform(owner):
        return transforms.forward(machine, owner, args[0])
    machine.escape(args, kwargs)
    return machine.unknown()
