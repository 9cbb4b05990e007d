"""`torch.nn`: layers with their parameters, containers, losses, and what every module has."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from afterward.interpret.graph.graph import Tensor
from afterward.interpret.library.frameworks import graphs
from afterward.interpret.library.torch import compiled, layers, ops, tensors
from afterward.interpret.machine.values import (
    Args,
    Bound,
    Function,
    Instance,
    Iter,
    Kwargs,
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


def construct(machine: Machine, made: Instance, name: str, args: Args, kwargs: Kwargs) -> None:
    """Give a library module its parameters."""
    made.inner["layer"] = name
    if isinstance(made.cls, Lib) and graphs.is_layer(made.cls.path):
        _give(machine, made, "weight", "bias")
    elif name in _HOLDS:
        _HOLDS[name](machine, made, name, args, kwargs)
    elif name not in _FORWARD or name in layers.OWN_NORMS:
        made.opaque = name != "Module"
    if kwargs.get("inplace") is True or (name in ("ReLU", "ReLU6", "SiLU", "ELU") and args[-1:] == [True]):
        made.inner["inplace"] = True
    made.attributes.setdefault("training", True)


def _give(machine: Machine, made: Instance, *names: str) -> None:
    for name in names:
        made.attributes[name] = machine.graph.leaf("", True)


def _hold_weight(machine: Machine, made: Instance, name: str, args: Args, kwargs: Kwargs) -> None:
    _give(machine, made, "weight")


def _hold_weight_and_bias(machine: Machine, made: Instance, name: str, args: Args, kwargs: Kwargs) -> None:
    _give(machine, made, "weight")
    by_position = name in ("Linear", "LazyLinear") and len(args) > 2 and args[2] is False
    if by_position or kwargs.get("bias", True) is False:
        made.attributes["bias"] = None
    else:
        _give(machine, made, "bias")


def _hold_scale(machine: Machine, made: Instance, name: str, args: Args, kwargs: Kwargs) -> None:
    if kwargs.get("affine", True) is not False and kwargs.get("elementwise_affine", True) is not False:
        has_bias = name != "RMSNorm" and kwargs.get("bias", True) is not False
        _give(machine, made, *("weight", "bias")[: 1 + has_bias])


def _hold_recurrent(machine: Machine, made: Instance, name: str, args: Args, kwargs: Kwargs) -> None:
    count = kwargs.get("num_layers", args[2] if len(args) > 2 and name in layers.RECURRENT else 1)
    made.inner["batch_first"] = kwargs.get("batch_first") is True
    for number in range(count if isinstance(count, int) and 0 < count <= 8 else 1):
        ending = f"_l{number}" if name in layers.RECURRENT else ""
        _give(machine, made, *(part + ending for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")))


def _hold_projections(machine: Machine, made: Instance, name: str, args: Args, kwargs: Kwargs) -> None:
    _give(machine, made, "in_proj_weight", "out_proj_weight", "linear1_weight", "linear2_weight")


def _hold_module(machine: Machine, made: Instance, name: str, args: Args, kwargs: Kwargs) -> None:
    if not args:
        made.opaque = True
        return
    made.attributes["module"] = args[0]
    if name == "DistributedDataParallel":
        made.inner["ready"] = set()
        machine.reducers.append(made)


def _fill(machine: Machine, made: Instance, name: str, args: Args, kwargs: Kwargs) -> None:
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
    if isinstance(owner.cls, Lib) and graphs.is_layer(owner.cls.path):
        return graphs.call_layer(machine, owner, args, kwargs)
    forward = _FORWARD.get(owner.inner.get("layer", ""))
    if forward is not None:
        return forward(Called(machine, owner, args, kwargs, node))
    machine.escape([owner, *args], kwargs)
    return machine.unknown()


@dataclass(slots=True)
class Called:
    """A call of a layer."""

    machine: Machine
    owner: Instance
    args: Args
    kwargs: Kwargs
    node: ast.AST | None

    @property
    def name(self) -> str:
        found: str = self.owner.inner["layer"]
        return found

    @property
    def value(self) -> Value:
        return self.args[0] if self.args else self.kwargs.get("input", next(iter(self.kwargs.values()), None))

    def held(self, name: str) -> Value:
        return self.owner.attributes.get(name)


def _linear(call: Called) -> Value:
    bias = call.held("bias")
    inputs = [call.value, weight(call.machine, call.owner)]
    return ops.apply(call.machine, "linear_no_bias" if bias is None else "linear", [*inputs, bias])


def _convolution(call: Called) -> Value:
    op = "conv_transpose2d" if "Transpose" in call.name else "conv2d"
    return ops.apply(call.machine, op, [call.value, weight(call.machine, call.owner), call.held("bias")])


def _bilinear(call: Called) -> Value:
    second = call.args[1] if len(call.args) > 1 else None
    return ops.apply(call.machine, "bilinear", [call.value, second, call.held("weight")])


def _norm(call: Called) -> Value:
    op = {"LayerNorm": "layer_norm", "GroupNorm": "group_norm", "RMSNorm": "rms_norm"}.get(call.name, "batch_norm")
    return ops.apply(call.machine, op, [call.value, call.held("weight"), call.held("bias")])


def _activation(call: Called) -> Value:
    op, value, node = layers.ACTIVATIONS[call.name], call.value, call.node
    if call.owner.inner.get("inplace") and isinstance(value, Tensor):
        label = ast.unparse(node.args[0]) if isinstance(node, ast.Call) and node.args else "its input"
        return ops.write(call.machine, value, [], f"{op}_" if ops.known(f"{op}_") else "relu_", node, label)
    return tensors.function(call.machine, op, [value], {}, node)


def _shape(call: Called) -> Value:
    op = layers.SHAPES[call.name]
    is_view = op in ("flatten", "unflatten")
    return ops.generic(call.machine, f"{op.capitalize()}Backward0", [call.value], "", view=is_view)


def _dropout(call: Called) -> Value:
    if call.machine.truth(call.owner.attributes.get("training", True)) is False:
        return call.value
    return ops.apply(call.machine, "dropout", [call.value])


def _sequential(call: Called) -> Value:
    value = call.value
    for one in call.owner.inner["items"]:
        value = call.machine.call(one, [value], {}, call.node)
    return value


def _wrapped(call: Called) -> Value:
    if "ready" in call.owner.inner and call.machine.graph.records:
        call.owner.inner["ready"].clear()
    inner = call.owner.attributes.get("module", call.machine.unknown())
    return call.machine.call(inner, call.args, call.kwargs, call.node)


def _attention(call: Called) -> Value:
    params = [one for one in call.owner.attributes.values() if isinstance(one, Tensor)]
    inputs = [*[one for one in call.args if isinstance(one, Tensor)], *params]
    made = ops.generic(call.machine, f"{call.name}Backward", inputs, "all")
    return (made, call.machine.unknown()) if call.name == "MultiheadAttention" else made


def _recurrent_layer(call: Called) -> Value:
    state = call.args[1] if len(call.args) > 1 else call.kwargs.get("hx")
    return _recurrent(call.machine, call.owner, call.name, call.value, state)


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

    From the second step of a sequence on, `weight_hh` is applied to states that the layer made itself. `LSTM` is one
    operation, which keeps them all.
    """
    is_one_step = name in layers.CELLS or ops.length(value, int(owner.inner.get("batch_first", False))) == 1

    def needs(*given: Value) -> bool:
        return any(isinstance(one, Tensor) and one.requires_grad for one in given)

    def is_saved(label: str) -> bool:
        if name == "LSTM":
            return True
        if label in ("weight_ih", "weight_ih_l0"):
            return needs(value)
        if label.startswith("weight_hh"):
            return not is_one_step or needs(*states)
        return label.startswith("weight")

    held = ((label, one) for label, one in owner.attributes.items() if isinstance(one, Tensor) and one.is_parameter)
    return [one for label, one in held if is_saved(label)]


Hold = Callable[["Machine", Instance, str, Args, Kwargs], None]

# What a layer is made with, and what its call computes.
_HOLDS: dict[str, Hold] = {
    **dict.fromkeys(layers.WEIGHT_AND_BIAS, _hold_weight_and_bias),
    **dict.fromkeys(layers.NORMS, _hold_scale),
    **dict.fromkeys(("Embedding", "EmbeddingBag", "PReLU"), _hold_weight),
    **dict.fromkeys((*layers.RECURRENT, *layers.CELLS), _hold_recurrent),
    **dict.fromkeys(layers.OPAQUE, _hold_projections),
    **dict.fromkeys(layers.CONTAINERS, _fill),
    **dict.fromkeys(layers.WRAPPERS, _hold_module),
}
_FORWARD: dict[str, Callable[[Called], Value]] = {
    **dict.fromkeys(layers.WEIGHT_AND_BIAS, _convolution),
    **dict.fromkeys(("Linear", "LazyLinear"), _linear),
    "Bilinear": _bilinear,
    **dict.fromkeys(layers.NORMS, _norm),
    **dict.fromkeys(
        layers.OWN_NORMS, lambda call: ops.generic(call.machine, "NativeBatchNormBackward0", [call.value], "all")
    ),
    **dict.fromkeys(
        ("Embedding", "EmbeddingBag"),
        lambda call: ops.apply(call.machine, "embedding", [weight(call.machine, call.owner)]),
    ),
    "PReLU": lambda call: ops.apply(call.machine, "prelu", [call.value, call.held("weight")]),
    **dict.fromkeys((*layers.RECURRENT, *layers.CELLS), _recurrent_layer),
    **dict.fromkeys(layers.ACTIVATIONS, _activation),
    **dict.fromkeys(layers.SHAPES, _shape),
    **dict.fromkeys(
        layers.LOSSES,
        lambda call: tensors.function(call.machine, layers.LOSSES[call.name], list(call.args), call.kwargs, call.node),
    ),
    **dict.fromkeys(layers.DROPOUTS, _dropout),
    "Identity": lambda call: call.value,
    "Sequential": _sequential,
    **dict.fromkeys(layers.WRAPPERS, _wrapped),
    **dict.fromkeys(layers.OPAQUE, _attention),
}
