"""`torch.nn`: layers with their parameters, containers, losses, and what every module has."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from afterward.interpret.graph.graph import Tensor
from afterward.interpret.library.frameworks import graphs
from afterward.interpret.library.torch import compiled, layers, ops, tensors
from afterward.interpret.machine.values import (
    Bound,
    Function,
    Instance,
    Iter,
    Lib,
    Native,
    PartialDict,
    Stream,
    Unknown,
    Value,
)
from afterward.model.life.table import OWN

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine

Args = list[Value]
Kwargs = dict[str, Value]


def construct(machine: Machine, made: Instance, name: str, args: Args, kwargs: Kwargs) -> None:
    """Give a library module its parameters."""
    made.inner["layer"] = name
    graph = machine.graph

    def parameter(attribute: str) -> None:
        made.attributes[attribute] = graph.leaf("", True)

    wants_bias = kwargs.get("bias", True) is not False
    if name in ("Linear", "LazyLinear") and len(args) > 2 and args[2] is False:
        wants_bias = False
    if isinstance(made.cls, Lib) and graphs.is_layer(made.cls.path):
        parameter("weight")
        parameter("bias")
    elif name in layers.WEIGHT_AND_BIAS:
        parameter("weight")
        if wants_bias:
            parameter("bias")
        else:
            made.attributes["bias"] = None
    elif name in layers.NORMS:
        if kwargs.get("affine", True) is not False and kwargs.get("elementwise_affine", True) is not False:
            parameter("weight")
            if name != "RMSNorm" and wants_bias:
                parameter("bias")
    elif name in ("Embedding", "EmbeddingBag", "PReLU"):
        parameter("weight")
    elif name in layers.RECURRENT or name in layers.CELLS:
        count = kwargs.get("num_layers", args[2] if len(args) > 2 and name in layers.RECURRENT else 1)
        for number in range(count if isinstance(count, int) and 0 < count <= 8 else 1):
            for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                parameter(f"{part}_l{number}" if name in layers.RECURRENT else part)
    elif name in layers.OPAQUE:
        for part in ("in_proj_weight", "out_proj_weight", "linear1_weight", "linear2_weight"):
            parameter(part)
    elif name in layers.CONTAINERS:
        _fill(machine, made, name, args)
    elif name in layers.WRAPPERS and args:
        made.attributes["module"] = args[0]
        if name == "DistributedDataParallel":
            made.inner["ready"] = set()
            machine.reducers.append(made)
    elif (
        name not in layers.ACTIVATIONS
        and name not in layers.SHAPES
        and name not in layers.LOSSES
        and name not in layers.DROPOUTS
    ):
        made.opaque = name not in ("Module", "Identity")
    if kwargs.get("inplace") is True or (name in ("ReLU", "ReLU6", "SiLU", "ELU") and args[-1:] == [True]):
        made.inner["inplace"] = True
    made.attributes.setdefault("training", True)


def _fill(machine: Machine, made: Instance, name: str, args: Args) -> None:
    first = args[0] if args else []
    if isinstance(first, (Iter, Stream)):
        first = machine.take(machine.iterate(first, None))
    if name in ("ModuleDict", "ParameterDict"):
        made.inner["items"] = PartialDict(first) if isinstance(first, dict) else PartialDict()
        made.inner["items"].partial = isinstance(first, Unknown)
    elif name == "Sequential":
        if isinstance(first, dict):
            made.inner["items"] = list(first.values())
            made.attributes.update({key: one for key, one in first.items() if isinstance(key, str)})
        else:
            made.inner["items"] = list(args)
        made.inner["partial"] = any(not isinstance(one, (Instance, Lib)) for one in made.inner["items"])
    else:
        items = list(first) if isinstance(first, (list, tuple)) else _items_of(first)
        if name == "ParameterList":
            items = [
                one if isinstance(one, Tensor) and one.is_parameter else make_parameter(machine, one) for one in items
            ]
        made.inner["items"] = items


def _items_of(value: Value) -> list[Value]:
    if isinstance(value, Instance) and isinstance(value.inner.get("items"), list):
        return list(value.inner["items"])
    return []


def make_parameter(machine: Machine, value: Value, requires_grad: Value = True) -> Tensor:
    made = machine.graph.leaf("", True, value if isinstance(value, Tensor) and value.node is None else None)
    if machine.truth(requires_grad) is False:
        made.needs = False
    return made


# Calling


def call(machine: Machine, owner: Instance, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    """`module(...)`: the forward method, and the hooks around it."""
    for hook in owner.inner.get("pre_hooks", ()):
        machine.call(hook, [owner, tuple(args)], {}, node)
    plain = isinstance(owner.cls, Lib) and "forward" not in owner.attributes
    forward = None if plain else machine.lookup(owner, "forward")
    if owner.inner.get("compiled"):
        one = (
            forward
            if isinstance(forward, (Bound, Function, Native))
            else Native(lambda m, a, k: layer(m, owner, a, k, node), "forward")
        )
        result = compiled.region(machine, one, lambda: machine.call(one, args, kwargs, node))
    elif isinstance(forward, (Bound, Function, Native)):
        result = machine.call(forward, args, kwargs, node)
    else:
        result = layer(machine, owner, args, kwargs, node)
    for hook in owner.inner.get("hooks", ()):
        changed = machine.call(hook, [owner, tuple(args), result], {}, node)
        if changed is not None and not isinstance(changed, Unknown):
            result = changed
    return result


def layer(machine: Machine, owner: Instance, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    """The forward of a module of `torch.nn`."""
    own = owner.inner.get("forward")  # of one that stands in for a network that the file does not show
    if own is not None:
        return own(machine, owner, args, kwargs)
    name = owner.inner.get("layer", "")
    value = args[0] if args else kwargs.get("input", next(iter(kwargs.values()), None))
    here = owner.attributes
    if isinstance(owner.cls, Lib) and graphs.is_layer(owner.cls.path):
        return graphs.call_layer(machine, owner, args, kwargs)
    if name in ("Linear", "LazyLinear"):
        bias = here.get("bias")
        if bias is None:
            return ops.apply(machine, "linear_no_bias", [value, weight(machine, owner)])
        return ops.apply(machine, "linear", [value, weight(machine, owner), bias])
    if name.startswith(("Conv", "LazyConv")):
        op = "conv_transpose2d" if "Transpose" in name else "conv2d"
        return ops.apply(machine, op, [value, weight(machine, owner), here.get("bias")])
    if name == "Bilinear":
        return ops.apply(machine, "bilinear", [value, args[1] if len(args) > 1 else None, here["weight"]])
    if name in layers.NORMS:
        op = {"LayerNorm": "layer_norm", "GroupNorm": "group_norm", "RMSNorm": "rms_norm"}.get(name, "batch_norm")
        return ops.apply(machine, op, [value, here.get("weight"), here.get("bias")])
    if name.startswith("InstanceNorm"):
        return ops.generic(machine, "NativeBatchNormBackward0", [value], "all")
    if name in ("Embedding", "EmbeddingBag"):
        return ops.apply(machine, "embedding", [weight(machine, owner)])
    if name == "PReLU":
        return ops.apply(machine, "prelu", [value, here["weight"]])
    if name in layers.RECURRENT or name in layers.CELLS:
        return _recurrent(machine, owner, name, value, args[1] if len(args) > 1 else kwargs.get("hx"))
    if name in layers.ACTIVATIONS:
        if owner.inner.get("inplace") and isinstance(value, Tensor):
            label = ast.unparse(node.args[0]) if isinstance(node, ast.Call) and node.args else "its input"
            op = layers.ACTIVATIONS[name] + "_"
            return ops.write(machine, value, [], op if ops.known(op) else "relu_", node, label)
        return tensors.function(machine, layers.ACTIVATIONS[name], [value], {}, node)
    if name in layers.SHAPES:
        op = layers.SHAPES[name]
        return ops.generic(machine, f"{op.capitalize()}Backward0", [value], "", view=op in ("flatten", "unflatten"))
    if name in layers.LOSSES:
        return tensors.function(machine, layers.LOSSES[name], list(args), kwargs, node)
    if name in layers.DROPOUTS:
        if machine.truth(here.get("training", True)) is False:
            return value
        return ops.apply(machine, "dropout", [value])
    if name == "Identity":
        return value
    if name == "Sequential":
        for one in owner.inner["items"]:
            value = machine.call(one, [value], {}, node)
        return value
    if name in layers.WRAPPERS:
        if "ready" in owner.inner and machine.graph.records:
            owner.inner["ready"].clear()
        return machine.call(here.get("module", machine.unknown()), args, kwargs, node)
    if name in layers.OPAQUE:
        params = [one for one in here.values() if isinstance(one, Tensor)]
        made = ops.generic(machine, f"{name}Backward", [*[a for a in args if isinstance(a, Tensor)], *params], "all")
        return (made, machine.unknown()) if name == "MultiheadAttention" else made
    machine.escape([owner, *args], kwargs)
    return machine.unknown()


def weight(machine: Machine, owner: Instance) -> Value:
    """The weight of a layer: a parameter, or what a parametrization makes of it in each call."""
    shaping = owner.inner.get("parametrized", {}).get("weight")
    if shaping is None:
        return owner.attributes.get("weight")
    if machine.parametrize_cache is not None and id(owner) in machine.parametrize_cache:
        return machine.parametrize_cache[id(owner)]
    made = machine.call(shaping, [owner.attributes["weight"]], {}, None)
    if machine.parametrize_cache is not None:
        machine.parametrize_cache[id(owner)] = made
        machine.name(made, f"{owner.label or owner.class_name}.weight", "attribute")
    return made


def _recurrent(machine: Machine, owner: Instance, name: str, value: Value, state: Value) -> Value:
    params = [one for one in owner.attributes.values() if isinstance(one, Tensor) and one.is_parameter]
    states = [one for one in state if isinstance(one, Tensor)] if isinstance(state, (tuple, list)) else [state]
    inputs = [one for one in (value, *states, *params) if isinstance(one, Tensor)]
    cell = name in layers.CELLS
    outs = layers.CELLS[name] if cell else layers.RECURRENT[name]
    kept = [id(one) for one in (value, *states, *_weights_saved(owner, name, value, states))]
    saves = (*(-1 - at for at, one in enumerate(inputs) if id(one) in kept), OWN)
    made = ops.generic(machine, f"{name}Backward0", list(inputs), saves, outs=outs)
    if cell:
        return made
    return (made[0], (made[1], made[2])) if name == "LSTM" else made


def _weights_saved(owner: Instance, name: str, value: Value, states: list[Value]) -> list[Tensor]:
    """What a recurrent layer keeps of its parameters: a weight is needed for the gradient of what it is applied to.

    A sequence applies `weight_hh` to states that it has made itself. `LSTM` is one operation, which keeps them all.
    """

    def needs(*given: Value) -> bool:
        return any(isinstance(one, Tensor) and one.requires_grad for one in given)

    def is_saved(label: str) -> bool:
        if name == "LSTM":
            return True
        if label in ("weight_ih", "weight_ih_l0"):
            return needs(value)
        return label.startswith("weight") and (name in layers.RECURRENT or needs(*states))

    held = ((label, one) for label, one in owner.attributes.items() if isinstance(one, Tensor) and one.is_parameter)
    return [one for label, one in held if is_saved(label)]
