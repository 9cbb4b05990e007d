"""`torch.nn`: layers with their parameters, containers, losses, and what every module has."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from afterward.interpret.graph import Kept, Tensor
from afterward.interpret.library import ops, tensors
from afterward.interpret.values import (
    MISSING,
    Bound,
    Function,
    Instance,
    Iter,
    Lib,
    Method,
    Native,
    PartialDict,
    Stream,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from afterward.interpret.machine import Machine

Args = list[Value]
Kwargs = dict[str, Value]

_NORMS = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm", "LayerNorm", "GroupNorm", "RMSNorm"]
_WEIGHT_AND_BIAS = [
    "Linear",
    "LazyLinear",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "LazyConv2d",
    "Bilinear",
]
_RECURRENT = {"LSTM": 3, "GRU": 2, "RNN": 2}
_CELLS = {"LSTMCell": 2, "GRUCell": 1, "RNNCell": 1}
_OPAQUE = frozenset(
    [
        "MultiheadAttention",
        "TransformerEncoderLayer",
        "TransformerDecoderLayer",
        "TransformerEncoder",
        "TransformerDecoder",
        "Transformer",
    ]
)
# Layers without parameters, by the operation they are.
_ACTIVATIONS = {
    "ReLU": "relu", "Tanh": "tanh", "Sigmoid": "sigmoid", "GELU": "gelu", "SiLU": "silu", "ELU": "elu",
    "LeakyReLU": "leaky_relu", "Softplus": "softplus", "Softmax": "softmax", "LogSoftmax": "log_softmax",
    "Mish": "mish", "Hardtanh": "hardtanh", "Hardswish": "hardswish", "Hardsigmoid": "hardsigmoid", "CELU": "celu",
    "SELU": "selu", "ReLU6": "relu6", "Softsign": "softsign", "LogSigmoid": "logsigmoid", "GLU": "glu",
    "MaxPool1d": "max_pool1d", "MaxPool2d": "max_pool2d", "MaxPool3d": "max_pool3d", "AvgPool1d": "avg_pool1d",
    "AvgPool2d": "avg_pool2d", "AvgPool3d": "avg_pool2d", "Softmin": "softmin", "Softshrink": "softshrink",
    "Tanhshrink": "tanhshrink", "Hardshrink": "hardshrink", "Threshold": "threshold", "Softmax2d": "softmax",
    "AdaptiveMaxPool2d": "adaptive_max_pool2d", "AdaptiveMaxPool1d": "adaptive_max_pool2d",
    "LocalResponseNorm": "local_response_norm", "RReLU": "rrelu",
}  # fmt: skip
_SHAPES = {
    "Flatten": "flatten", "Unflatten": "unflatten", "PixelShuffle": "pixel_shuffle", "AdaptiveAvgPool2d": "mean",
    "AdaptiveAvgPool1d": "mean", "AdaptiveAvgPool3d": "mean", "Upsample": "interpolate", "ZeroPad2d": "pad",
    "ReflectionPad2d": "pad", "ReflectionPad1d": "pad", "ReplicationPad2d": "pad", "ConstantPad2d": "pad",
    "PixelUnshuffle": "pixel_shuffle", "Fold": "flatten", "Unfold": "flatten", "UpsamplingBilinear2d": "interpolate",
    "UpsamplingNearest2d": "interpolate",
}  # fmt: skip
_LOSSES = {
    "MSELoss": "mse_loss", "L1Loss": "l1_loss", "SmoothL1Loss": "smooth_l1_loss", "HuberLoss": "huber_loss",
    "CrossEntropyLoss": "cross_entropy", "NLLLoss": "nll_loss", "BCELoss": "binary_cross_entropy",
    "BCEWithLogitsLoss": "bce_with_logits", "KLDivLoss": "kl_div", "CosineEmbeddingLoss": "cosine_embedding_loss",
    "TripletMarginLoss": "triplet_margin_loss", "MarginRankingLoss": "margin_ranking_loss", "CTCLoss": "ctc_loss",
    "HingeEmbeddingLoss": "hinge_embedding_loss", "PoissonNLLLoss": "poisson_nll_loss", "SoftMarginLoss": "soft_margin_loss",
    "GaussianNLLLoss": "gaussian_nll_loss", "MultiMarginLoss": "multi_margin_loss", "CosineSimilarity": "cosine_similarity",
    "PairwiseDistance": "pairwise_distance", "MultiLabelSoftMarginLoss": "soft_margin_loss",
}  # fmt: skip
_DROPOUTS = frozenset(["Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout"])
CONTAINERS = frozenset(["Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict"])
_WRAPPERS = frozenset(["DataParallel", "DistributedDataParallel"])


def is_module(value: Value) -> bool:
    if not isinstance(value, Instance):
        return False
    cls = value.cls
    if isinstance(cls, Lib):
        return looks_like_module(cls.path)
    if cls.module_like is None:
        cls.module_like = any(isinstance(base, Lib) and looks_like_module(base.path) for base in cls.order)
    return cls.module_like


@lru_cache(maxsize=4096)
def looks_like_module(path: str) -> bool:
    if path.startswith("torch.nn.") and not path.startswith(("torch.nn.functional", "torch.nn.init", "torch.nn.utils")):
        return path.rsplit(".", 1)[-1] not in ("Parameter", "UninitializedParameter")
    return path.rsplit(".", 1)[-1] in ("LightningModule", "PreTrainedModel", "MessagePassing", "ScriptModule")


def construct(machine: Machine, made: Instance, name: str, args: Args, kwargs: Kwargs) -> None:
    """Give a library module its parameters."""
    made.inner["layer"] = name
    graph = machine.graph

    def parameter(attribute: str) -> None:
        made.attributes[attribute] = graph.leaf("", True)

    wants_bias = kwargs.get("bias", True) is not False
    if name in ("Linear", "LazyLinear") and len(args) > 2 and args[2] is False:
        wants_bias = False
    if name in _WEIGHT_AND_BIAS:
        parameter("weight")
        if wants_bias:
            parameter("bias")
        else:
            made.attributes["bias"] = None
    elif name in _NORMS:
        if kwargs.get("affine", True) is not False and kwargs.get("elementwise_affine", True) is not False:
            parameter("weight")
            if name != "RMSNorm" and wants_bias:
                parameter("bias")
    elif name in ("Embedding", "EmbeddingBag", "PReLU"):
        parameter("weight")
    elif name in _RECURRENT or name in _CELLS:
        layers = kwargs.get("num_layers", args[2] if len(args) > 2 and name in _RECURRENT else 1)
        for number in range(layers if isinstance(layers, int) and 0 < layers <= 8 else 1):
            for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                parameter(f"{part}_l{number}" if name in _RECURRENT else part)
    elif name in _OPAQUE:
        for part in ("in_proj_weight", "out_proj_weight", "linear1_weight", "linear2_weight"):
            parameter(part)
    elif name in CONTAINERS:
        _fill(machine, made, name, args)
    elif name in _WRAPPERS and args:
        made.attributes["module"] = args[0]
        if name == "DistributedDataParallel":
            made.inner["ready"] = set()
            machine.reducers.append(made)
    elif name not in _ACTIVATIONS and name not in _SHAPES and name not in _LOSSES and name not in _DROPOUTS:
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
            made.inner["items"] = [one for one in args]
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
    made = machine.graph.leaf("", True, value.version if isinstance(value, Tensor) and value.node is None else None)
    if machine.truth(requires_grad) is False:
        made.needs = False
    return made


# Calling


def call(machine: Machine, owner: Instance, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    """`module(...)`: the forward method, and the hooks around it."""
    for hook in owner.inner.get("pre_hooks", ()):
        machine.call(hook, [owner, tuple(args)], {}, node)
    forward = machine.lookup(owner, "forward")
    if isinstance(forward, (Bound, Function, Native)):
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
    name = owner.inner.get("layer", "")
    value = args[0] if args else kwargs.get("input", next(iter(kwargs.values()), None))
    here = owner.attributes
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
    if name in _NORMS:
        op = {"LayerNorm": "layer_norm", "GroupNorm": "group_norm", "RMSNorm": "rms_norm"}.get(name, "batch_norm")
        return ops.apply(machine, op, [value, here.get("weight"), here.get("bias")])
    if name.startswith("InstanceNorm"):
        return ops.generic(machine, "NativeBatchNormBackward0", [value], "all")
    if name in ("Embedding", "EmbeddingBag"):
        return ops.apply(machine, "embedding", [weight(machine, owner)])
    if name == "PReLU":
        return ops.apply(machine, "prelu", [value, here["weight"]])
    if name in _RECURRENT or name in _CELLS:
        return _recurrent(machine, owner, name, value, args[1] if len(args) > 1 else kwargs.get("hx"))
    if name in _ACTIVATIONS:
        if owner.inner.get("inplace") and isinstance(value, Tensor):
            label = ast.unparse(node.args[0]) if isinstance(node, ast.Call) and node.args else "its input"
            op = _ACTIVATIONS[name] + "_"
            return ops.write(machine, value, [], op if ops.known(op) else "relu_", node, label)
        return tensors.function(machine, _ACTIVATIONS[name], [value], {}, node)
    if name in _SHAPES:
        op = _SHAPES[name]
        return ops.generic(machine, f"{op.capitalize()}Backward0", [value], "", view=op in ("flatten", "unflatten"))
    if name in _LOSSES:
        return tensors.function(machine, _LOSSES[name], list(args), kwargs, node)
    if name in _DROPOUTS:
        if machine.truth(here.get("training", True)) is False:
            return value
        return ops.apply(machine, "dropout", [value])
    if name == "Identity":
        return value
    if name == "Sequential":
        for one in owner.inner["items"]:
            value = machine.call(one, [value], {}, node)
        return value
    if name in _WRAPPERS:
        if "ready" in owner.inner and machine.graph.records:
            owner.inner["ready"].clear()
        return machine.call(here.get("module", machine.unknown()), args, kwargs, node)
    if name in _OPAQUE:
        params = [one for one in here.values() if isinstance(one, Tensor)]
        made = ops.generic(machine, f"{name}Backward", [*[a for a in args if isinstance(a, Tensor)], *params], "all")
        return (made, machine.unknown()) if name == "MultiheadAttention" else made
    machine.escape(args, kwargs)
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
    cell = name in _CELLS
    outs = _CELLS[name] if cell else _RECURRENT[name]
    made = ops.generic(machine, f"{name}Backward0", inputs, "", outs=outs)
    first = made[0] if isinstance(made, tuple) else made
    if isinstance(first, Tensor) and first.node is not None:
        first.node.saved += [Kept("saved", one.version) for one in inputs]
        first.node.saved.append(Kept("result"))
    if cell:
        return made
    return (made[0], (made[1], made[2])) if name == "LSTM" else made


# What every module has


def children(owner: Instance) -> Iterator[tuple[str, Instance]]:
    for name, value in owner.attributes.items():
        if is_module(value):
            yield name, value
    items = owner.inner.get("items")
    if isinstance(items, dict):
        for name, value in items.items():
            if is_module(value):
                yield str(name), value
    for number, value in enumerate(items if isinstance(items, list) else ()):
        if is_module(value) and all(value is not one for one in owner.attributes.values()):
            yield str(number), value


def walk(owner: Instance, prefix: str = "", seen: set[int] | None = None) -> Iterator[tuple[str, Instance]]:
    seen = seen if seen is not None else set()
    if id(owner) in seen:
        return
    seen.add(id(owner))
    yield prefix, owner
    for name, child in children(owner):
        yield from walk(child, f"{prefix}.{name}" if prefix else name, seen)


def parameters(owner: Instance) -> list[tuple[str, Tensor]]:
    """All parameters under a module, by their dotted names."""
    found: dict[int, tuple[str, Tensor]] = {}
    for prefix, module in walk(owner):
        direct: dict[str, Value] = dict(module.attributes)
        items = module.inner.get("items")
        if isinstance(items, dict):
            direct.update({str(key): one for key, one in items.items()})
        elif isinstance(items, list):
            direct.update({str(number): one for number, one in enumerate(items)})
        for name, value in direct.items():
            if isinstance(value, Tensor) and value.is_parameter:
                label = f"{prefix}.{name}" if prefix else name
                found.setdefault(id(value), (label, value))
    return list(found.values())


def is_opaque(owner: Instance) -> bool:
    """Does the module have parts that are not known?"""
    return any(
        module.opaque
        or module.inner.get("partial")
        or any(isinstance(value, Unknown) for value in module.attributes.values())
        or (isinstance(module.cls, object) and any(isinstance(base, Unknown) for base in module.order))
        for _, module in walk(owner)
    )


def _parameters(machine: Machine, owner: Instance, args: Args, kwargs: Kwargs) -> Value:
    found = parameters(owner)
    for name, one in found:
        one.label = one.label or (f"{owner.label}.{name}" if owner.label else name)
    made = Iter(iter([one for _, one in found]), True)
    made.partial = is_opaque(owner)
    return made


def _named_parameters(machine: Machine, owner: Instance, args: Args, kwargs: Kwargs) -> Value:
    return Iter(iter(list(parameters(owner))), True)


def _modules(machine: Machine, owner: Instance, args: Args, kwargs: Kwargs) -> Value:
    return Iter(iter([module for _, module in walk(owner)]), True)


def _set_training(flag: bool) -> Callable[..., Value]:
    def run(machine: Machine, owner: Instance, args: Args, kwargs: Kwargs) -> Value:
        mode = args[0] if args else kwargs.get("mode", flag)
        for _, module in walk(owner):
            module.attributes["training"] = mode
        return owner

    return run


def _zero_grad(machine: Machine, owner: Instance, args: Args, kwargs: Kwargs) -> Value:
    for _, parameter in parameters(owner):
        parameter.grad = None
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
        tensors.switch(machine, parameter, flag, machine.frame.statement, ".requires_grad_(False)")
    return owner


def _state_dict(machine: Machine, owner: Instance, args: Args, kwargs: Kwargs) -> Value:
    made = PartialDict()
    for name, parameter in parameters(owner):
        alias = Tensor(parameter.version)
        made[name] = alias
    made.partial = True
    return made


def _load(machine: Machine, owner: Instance, args: Args, kwargs: Kwargs) -> Value:
    if isinstance(args[0] if args else None, dict):
        for _, parameter in parameters(owner):
            machine.graph.written(parameter, owner.label or "the module")
    return machine.unknown()


METHODS: dict[str, Callable[..., Value]] = {
    "parameters": _parameters, "named_parameters": _named_parameters, "modules": _modules,
    "named_modules": lambda m, o, a, k: Iter(iter(list(walk(o)))),
    "children": lambda m, o, a, k: Iter(iter([child for _, child in children(o)])),
    "named_children": lambda m, o, a, k: Iter(iter(list(children(o)))),
    "train": _set_training(True), "eval": _set_training(False), "zero_grad": _zero_grad, "apply": _apply,
    "register_buffer": _register, "register_parameter": _register, "add_module": _register,
    "register_module": _register, "register_forward_hook": _hook("hooks"),
    "register_forward_pre_hook": _hook("pre_hooks"), "requires_grad_": _requires_grad_, "state_dict": _state_dict,
    "load_state_dict": _load, "compile": lambda m, o, a, k: None, "buffers": lambda m, o, a, k: Iter(iter([])),
    "__init__": lambda m, o, a, k: _construct_base(m, o, a, k),
    "forward": lambda m, o, a, k: layer(m, o, a, k, None),
    "__call__": lambda m, o, a, k: call(m, o, a, k, None),
}  # fmt: skip
for _name in ["to", "cuda", "cpu", "float", "double", "half", "bfloat16", "type", "share_memory", "to_empty", "xpu"]:
    METHODS[_name] = _same


def _construct_base(machine: Machine, owner: Instance, args: Args, kwargs: Kwargs) -> None:
    """`super().__init__(...)` of a class that derives from a module of the library."""
    base = next((one for one in owner.order if isinstance(one, Lib) and looks_like_module(one.path)), None)
    if base is not None:
        construct(machine, owner, base.name, args, kwargs)


def inherited(machine: Machine, owner: Instance, base: Lib, name: str) -> Value:
    """A method that a module has from `torch.nn.Module` (or from the layer it derives from)."""
    if name == "forward" and base.name == "Module":
        return MISSING
    if name == "__call__":
        return MISSING
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


def items_of(owner: Instance) -> Any:
    return owner.inner.get("items")
