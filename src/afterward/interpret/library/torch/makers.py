"""What is made by a call of something in a subpackage of torch, or in a library around it: a table of makers."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from afterward.interpret.graph.graph import Tensor
from afterward.interpret.library.frameworks import accelerate, graphs, lightning, transformers
from afterward.interpret.library.torch import checkpoints, distributions, functorch, module_tree, nn, ops, ready
from afterward.interpret.machine.values import MISSING, Args, Instance, Kwargs, Lib, Native, Numbers, Value

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine


def make(machine: Machine, path: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    """Call something in a subpackage of torch."""
    run = next((run for start, run in _MADE_IN if path.startswith(start)), None)
    run = run or _MADE_BY_NAME.get(path.rsplit(".", 1)[-1])
    return run(machine, path, args, kwargs, node) if run is not None else machine.unknown()


def _dataset(machine: Machine, path: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    source = args[0] if args else kwargs.get("dataset")
    return Instance.of_library(path, args=args, source=source, collate=kwargs.get("collate_fn"))


def _itself(machine: Machine, path: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    return Instance(Lib(path))


def _register_parametrization(machine: Machine, path: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    if len(args) < 3:
        return machine.unknown()
    owner, what, shaping = args[:3]
    if isinstance(owner, Instance) and isinstance(what, str):
        owner.inner.setdefault("parametrized", {})[what] = shaping
    return owner


def _parametrized(machine: Machine, path: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    """`spectral_norm(layer)`: its weight is computed from another each time."""
    name = path.rsplit(".", 1)[-1]
    if args and isinstance(args[0], Instance):
        shaping = Native(lambda m, a, k: ops.generic(m, f"{name}Backward", a, "all"), name)
        args[0].inner.setdefault("parametrized", {})["weight"] = shaping
    return args[0] if args else machine.unknown()


def _flattened(machine: Machine, path: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    parts = machine.take(machine.iterate(args[0], node)) if args else None
    return ops.generic(machine, "CatBackward0", parts, "") if parts is not None else machine.unknown()


def _packed(machine: Machine, path: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    parts = args[0] if args and isinstance(args[0], list) else args[:1]
    return ops.generic(machine, "PackBackward", list(parts), "") if args else machine.unknown()


def _unpacked(machine: Machine, path: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    return (ops.generic(machine, "PadBackward", args[:1], ""), machine.unknown()) if args else machine.unknown()


def _transform(machine: Machine, path: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    return functorch.transform(machine, path.rsplit(".", 1)[-1], args, kwargs)


def _functional_call(machine: Machine, path: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    if len(args) < 3 or not isinstance(args[0], Instance):
        return machine.unknown()
    owner, given, inputs = args[0], args[1], args[2]
    before: list[tuple[Instance, str, Value]] = []
    by_name = {name: (module, name.rsplit(".", 1)[-1]) for name, module in _holders(owner)}
    for name, value in given.items() if isinstance(given, dict) else ():
        if name in by_name:
            module, attribute = by_name[name]
            before.append((module, attribute, module.attributes.get(attribute)))
            module.attributes[attribute] = value
    try:
        return machine.call(owner, list(inputs) if isinstance(inputs, tuple) else [inputs], {}, node)
    finally:
        for module, attribute, value in before:
            module.attributes[attribute] = value


def _holders(owner: Instance) -> Iterator[tuple[str, Instance]]:
    for prefix, module in module_tree.walk(owner):
        for name, value in module.attributes.items():
            if isinstance(value, Tensor) and value.is_parameter:
                yield f"{prefix}.{name}" if prefix else name, module


def _checkpoint(machine: Machine, path: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    return checkpoints.call(machine, path.rsplit(".", 1)[-1], args, kwargs, node)


def _distribution(machine: Machine, path: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    return distributions.make(machine, path, args, kwargs)


def _scaler(machine: Machine, path: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    return Instance(Lib("torch.amp.GradScaler"))


def _nothing_special(machine: Machine, path: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    return Instance(Lib("contextlib.nullcontext"))


_Maker = Callable[["Machine", str, Args, Kwargs, "ast.AST | None"], Value]
_MADE_IN: tuple[tuple[str, _Maker], ...] = (
    ("torch.utils.checkpoint.checkpoint", _checkpoint),
    ("torch.utils.data.", _dataset),
    ("torch.distributions.", _distribution),
    ("torch.nn.utils.parametrize.register_parametrization", _register_parametrization),
    ("torch.nn.utils.parametrize.cached", _itself),
    ("torch.nn.utils.parametrizations.", _parametrized),
    ("torch.nn.utils.spectral_norm", _parametrized),
    ("torch.nn.utils.weight_norm", _parametrized),
    ("torch.func.functional_call", _functional_call),
    ("torch.func.", _transform),
    ("torch.vmap", _transform),
    (
        "torch.hub.load",
        lambda machine, path, args, kwargs, node: ready.make(machine) if path in ready.ALSO else machine.unknown(),
    ),
)
_MADE_BY_NAME: dict[str, _Maker] = {
    "GradScaler": _scaler,
    "parameters_to_vector": _flattened,
    **dict.fromkeys(("pack_padded_sequence", "pack_sequence", "pad_sequence"), _packed),
    "pad_packed_sequence": _unpacked,
    "functional_call": _functional_call,
    **dict.fromkeys(
        ("autocast", "profile", "record_function", "detect_anomaly", "set_detect_anomaly", "sdpa_kernel"),
        _nothing_special,
    ),
}


def elsewhere(machine: Machine, path: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    """Libraries around torch."""
    name = path.rsplit(".", 1)[-1]
    if name in ("Accelerator", "Fabric"):
        return accelerate.make()
    if ready.is_maker(path):
        return ready.make(machine)
    if name == "Trainer" and path.startswith("lightning"):
        return lightning.make_trainer(machine, path, kwargs)
    if graphs.is_layer(path):
        made = Instance(Lib(path))
        nn.construct(machine, made, name, args, kwargs)
        return made
    if path in ("dgl.graph", "dgl.DGLGraph", "dgl.heterograph", "dgl.rand_graph", "dgl.from_networkx"):
        return graphs.make_graph()
    if path.startswith("dgl.function."):
        return graphs.builtin(path, args, kwargs)
    if transformers.is_trainer(path):
        made = Instance(Lib(path))
        transformers.construct(machine, made, args, kwargs)
        return made
    if (
        path == "numpy.arange"
        and not kwargs
        and len(args) <= 3
        and all(type(one) is int for one in args)
        and 0 not in args[2:]
    ):
        return Numbers(range(*args))
    if path.startswith("tqdm"):
        if name in ("tqdm", "tqdm_notebook", "auto"):
            return args[0] if args else machine.unknown()
        return range(args[0]) if name == "trange" and args and isinstance(args[0], int) else machine.unknown()
    return MISSING
