"""The functions of `torch`, by name."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from afterward.interpret.graph.graph import Tensor
from afterward.interpret.library.python.words import words
from afterward.interpret.library.torch import compiled, makers, module_tree, nn, objects, ops, optim, passes, tensors
from afterward.interpret.machine.values import Args, Instance, Iter, Kwargs, Lib, Native, Stream, Unknown, Value

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine


_MAKES = words(
    "arange complex_data empty eye full hamming_window hann_window linspace logspace normal ones rand randint randn "
    "randperm range sparse_coo_tensor sparse_csr_tensor tril_indices triu_indices zeros"
)
_WRAPS = words(
    "BoolTensor ByteTensor DoubleTensor FloatTensor HalfTensor IntTensor LongTensor Tensor as_tensor asarray "
    "from_numpy scalar_tensor tensor"
)
_MODES = {
    "torch.no_grad": False, "torch.inference_mode": False, "torch.enable_grad": True,
    "torch.autograd.no_grad": False, "torch.autograd.enable_grad": True, "torch.autograd.inference_mode": False,
    "torch.autograd.grad_mode.no_grad": False, "torch.autograd.grad_mode.enable_grad": True,
}  # fmt: skip
_NOTHING = words(
    "manual_seed save seed set_default_device set_default_dtype set_default_tensor_type "
    "set_float32_matmul_precision set_num_threads set_printoptions use_deterministic_algorithms"
)


def call(machine: Machine, path: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    """Call a function or class of torch: by its path, by its package, by what it is, or by its name alone."""
    name = path.rsplit(".", 1)[-1]
    if path in _MODES:
        return objects.mode(machine, _MODES[path], f"torch.{name}()", args, kwargs)
    if name == "set_grad_enabled":
        return objects.set_grad(machine, args[0] if args else kwargs.get("mode", True), node)
    run = _BY_PATH.get(path) or _of_package(_PACKAGES, path)
    if run is not None:
        return run(machine, path, args, kwargs, node)
    for is_one, construct in _CLASSES:
        if is_one(path):
            made = Instance(Lib(path))
            construct(machine, made, name, args, kwargs)
            return made
    by_name = _BY_NAME.get(name) if name not in _MAKES or path.count(".") == 1 else None
    run = _of_package(_REST, path) or by_name or _of_package(_NUMERIC, path)
    if run is None:
        run = makers.make if path.count(".") > 1 else _plain
    return run(machine, path, args, kwargs, node)


def _of_package(packages: tuple[tuple[str, _Call], ...], path: str) -> _Call | None:
    return next((run for start, run in packages if path.startswith(start)), None)


def _plain(machine: Machine, path: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    """An operation of this name."""
    return tensors.function(machine, path.rsplit(".", 1)[-1], args, kwargs, node)


def _functional(machine: Machine, path: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    return functional(machine, path.rsplit(".", 1)[-1], args, kwargs, node)


def _parameter(machine: Machine, path: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    given = args[0] if args else kwargs.get("data")
    return nn.make_parameter(machine, given, args[1] if len(args) > 1 else kwargs.get("requires_grad", True))


def _init(machine: Machine, path: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    machine.account.only_filled(args[0] if args else None)
    return args[0] if args else None


def _data_parallel(machine: Machine, path: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    if len(args) < 2:
        return makers.make(machine, path, args, kwargs, node)
    return machine.call(args[0], list(args[1]) if isinstance(args[1], tuple) else [args[1]], {}, node)


def _backward(machine: Machine, path: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    names = ["tensors", "grad_tensors", "retain_graph", "create_graph", "grad_variables", "inputs"]
    given = dict(zip(names, args, strict=False)) | kwargs
    roots = given.get("tensors")
    return passes.backward(machine, list(roots) if isinstance(roots, (list, tuple)) else [roots], given, node)


def _as_it_is(machine: Machine, path: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    return args[0] if args else Native(lambda m, a, k: a[0] if a else m.unknown(), path.rsplit(".", 1)[-1])


def _is_tensor(machine: Machine, path: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    return isinstance(args[0], Tensor) if args and not isinstance(args[0], Unknown) else machine.unknown()


def _nothing(machine: Machine, path: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    machine.graph.elsewhere |= path.endswith(("set_default_device", "set_default_tensor_type"))
    return None


def _make(machine: Machine, path: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    """`torch.zeros(...)` and its like: a new tensor without a graph."""
    made = _leaf_or_data(machine, Tensor(), kwargs)
    made.attributes[ops.ON_PROCESSOR] = "device" not in kwargs and not machine.graph.elsewhere
    shape = _shape(path.rsplit(".", 1)[-1], args, kwargs)
    if shape:
        made.attributes["shape"] = shape
    return made


def _of_tensor(machine: Machine, path: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    if args and isinstance(args[0], Tensor):
        return tensors.method(machine, args[0], path.rsplit(".", 1)[-1], args[1:], kwargs, node)
    return _plain(machine, path, args, kwargs, node)


def _norm(machine: Machine, path: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    return tensors.function(machine, "norm", args, kwargs, node)


def _qr(machine: Machine, path: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    made = ops.generic(machine, "LinalgQrBackward0", args[:1], "own", outs=2)
    return machine.named_pair(made[0], made[1], ("Q", "R"))


def _device(machine: Machine, path: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    return machine.unknown("device", *[one for one in args if isinstance(one, str)])


def functional(machine: Machine, name: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    """`torch.nn.functional`."""
    value = args[0] if args else kwargs.get("input")
    if value is None:
        return machine.unknown()
    rest = args[1:]
    if kwargs.get("inplace") is True and isinstance(value, Tensor) and name != "dropout":
        return tensors.in_place(machine, f"{name}_", value, [], {}, node)
    if name == "linear":
        bias = rest[1] if len(rest) > 1 else kwargs.get("bias")
        weight = rest[0] if rest else kwargs.get("weight")
        op = "linear" if bias is not None else "linear_no_bias"
        return ops.apply(machine, op, [value, weight, bias] if bias is not None else [value, weight])
    if name.startswith("conv"):
        op = "conv_transpose2d" if "transpose" in name else "conv2d"
        weight = rest[0] if rest else kwargs.get("weight")
        return ops.apply(machine, op, [value, weight, rest[1] if len(rest) > 1 else kwargs.get("bias")])
    if name == "embedding":
        return ops.apply(machine, "embedding", [rest[0] if rest else kwargs.get("weight")])
    if name in ("layer_norm", "group_norm", "batch_norm", "instance_norm", "rms_norm"):
        weight, bias = kwargs.get("weight"), kwargs.get("bias")
        extra = [one for one in rest if isinstance(one, Tensor) and one.requires_grad]
        return ops.apply(machine, name if ops.known(name) else "layer_norm", [value, weight, bias], extra)
    if name in ("dropout", "dropout2d", "dropout1d", "dropout3d", "alpha_dropout"):
        training = kwargs.get("training", rest[1] if len(rest) > 1 else True)
        return ops.apply(machine, "dropout", [value]) if machine.is_true(training, node) else value
    if name in ("pad", "interpolate", "unfold", "fold", "pixel_shuffle", "avg_pool2d", "adaptive_avg_pool2d"):
        return ops.generic(machine, f"{name.capitalize()}Backward0", [value], "")
    if name == "gumbel_softmax":
        return ops.generic(machine, "SoftmaxBackward0", [value], "own")
    if name == "multi_head_attention_forward":
        return machine.unknown(), machine.unknown()
    return tensors.function(
        machine, name, args if args else [value], {k: v for k, v in kwargs.items() if k != "input"}, node
    )


def _shape(name: str, args: Args, kwargs: Kwargs) -> tuple[Value, ...]:
    """The shape that a new tensor is asked to have, where that is plain."""
    size = kwargs.get("size")
    if size is None and name in ("zeros", "ones", "randn", "rand", "empty"):
        size = args[0] if args and isinstance(args[0], (tuple, list)) else tuple(args)
    elif size is None and name == "full":
        size = args[0] if args else None
    elif size is None and name == "randint":
        size = next((one for one in args if isinstance(one, (tuple, list))), None)
    elif name in ("arange", "randperm", "eye") and len(args) == 1:
        size = (args[0],)
    elif name == "linspace":
        size = (args[2] if len(args) > 2 else kwargs.get("steps"),)
    found = tuple(size) if isinstance(size, (tuple, list)) else ()
    return found if all(isinstance(one, (int, Unknown)) for one in found) else ()


def _leaf_or_data(machine: Machine, made: Tensor, kwargs: Kwargs) -> Tensor:
    if machine.truth(kwargs.get("requires_grad", False)) is True:
        made.needs = True
        machine.graph.register(made)
    return made


def _wrap(machine: Machine, path: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    """`torch.tensor(x)`: numbers into a tensor; whatever history they had is gone."""
    name = path.rsplit(".", 1)[-1]
    given = args[0] if args else kwargs.get("data")
    if name in ("as_tensor", "asarray", "Tensor") and isinstance(given, Tensor):
        return given
    if isinstance(given, (Iter, Stream)):
        given = machine.take(machine.iterate(given, node))
    made = Tensor()
    made.cut = ops.cut_of(machine, given, f"torch.{name}(...)", node)
    made.attributes[ops.ON_PROCESSOR] = "device" not in kwargs and not machine.graph.elsewhere
    return _leaf_or_data(machine, made, kwargs)


def _variable(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """The old `Variable(x)`: the tensor itself."""
    given = args[0] if args else kwargs.get("data")
    if not isinstance(given, Tensor):
        given = Tensor()
    if kwargs.get("requires_grad") is True or (len(args) > 1 and args[1] is True):
        made = given.alias()
        made.attributes[ops.ON_PROCESSOR] = given.attributes.get(ops.ON_PROCESSOR, False)
        made.needs = True
        machine.graph.register(made)
        return made
    return given


_Call = Callable[["Machine", str, Args, Kwargs, "ast.AST | None"], Value]
_BY_PATH: dict[str, _Call] = {
    "torch.nn.Parameter": _parameter,
    "torch.nn.parameter.Parameter": _parameter,
    "torch.nn.data_parallel": _data_parallel,
    "torch.autograd.grad": lambda machine, path, args, kwargs, node: passes.grad(machine, args, kwargs, node),
    "torch.autograd.backward": _backward,
    "torch.autograd.Variable": lambda machine, path, args, kwargs, node: _variable(machine, args, kwargs),
    "torch.compile": lambda machine, path, args, kwargs, node: compiled.compile_(machine, args, kwargs),
    **dict.fromkeys(("torch.jit.script", "torch.jit.trace", "torch.jit.ignore"), _as_it_is),
    "torch.is_tensor": _is_tensor,
    "torch.is_grad_enabled": lambda machine, path, args, kwargs, node: machine.graph.records,
    **dict.fromkeys(("torch.linalg.norm", "torch.linalg.vector_norm"), _norm),
    "torch.sparse.mm": lambda machine, path, args, kwargs, node: ops.apply(machine, "mm", args[:2]),
    "torch.linalg.qr": _qr,
    "torch.broadcast_tensors": lambda machine, path, args, kwargs, node: tuple(args),
    "torch.device": _device,
}
_PACKAGES: tuple[tuple[str, _Call], ...] = (
    ("torch.nn.functional.", _functional),
    ("torch.nn.init.", _init),
    *((f"torch.{package}.", makers.make) for package in ("nn.utils", "utils", "distributions", "amp", "cuda")),
)
_CLASSES: tuple[tuple[Callable[[str], bool], Callable[..., None]], ...] = (
    (module_tree.looks_like_module, nn.construct),
    (
        optim.looks_like_optimizer,
        lambda machine, made, name, args, kwargs: optim.construct(machine, made, args, kwargs),
    ),
)
# What of these is no class.
_REST: tuple[tuple[str, _Call], ...] = tuple(
    (f"torch.{start}", makers.make) for start in ("func.", "vmap", "jit.", "distributed.", "optim.")
)
_BY_NAME: dict[str, _Call] = {
    **dict.fromkeys(_NOTHING, _nothing),
    **dict.fromkeys(_MAKES, _make),
    **dict.fromkeys(_WRAPS, _wrap),
}
_NUMERIC: tuple[tuple[str, _Call], ...] = (
    ("torch.Tensor.", _of_tensor),
    *((f"torch.{package}.", _plain) for package in ("linalg", "fft", "special", "sparse")),
)
