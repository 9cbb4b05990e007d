"""The functions of `torch`, by name."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from afterward.interpret.graph.graph import Tensor
from afterward.interpret.library.python.words import words
from afterward.interpret.library.torch import compiled, module_tree, nn, objects, ops, optim, passes, tensors
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
    """Call a function or class of torch."""
    name = path.rsplit(".", 1)[-1]
    if path in _MODES:
        return objects.mode(machine, _MODES[path], f"torch.{name}()", args, kwargs)
    if name == "set_grad_enabled":
        return objects.set_grad(machine, args[0] if args else kwargs.get("mode", True), node)
    if path in ("torch.nn.Parameter", "torch.nn.parameter.Parameter"):
        given = args[0] if args else kwargs.get("data")
        flag = args[1] if len(args) > 1 else kwargs.get("requires_grad", True)
        return nn.make_parameter(machine, given, flag)
    if path.startswith("torch.nn.functional."):
        return functional(machine, name, args, kwargs, node)
    if path.startswith(("torch.nn.utils.", "torch.utils.", "torch.distributions.", "torch.amp.", "torch.cuda.")):
        return objects.make(machine, path, args, kwargs, node)
    if path.startswith("torch.nn.init."):
        machine.account.only_filled(args[0] if args else None)
        return args[0] if args else None
    if path == "torch.nn.data_parallel" and len(args) > 1:
        return machine.call(args[0], list(args[1]) if isinstance(args[1], tuple) else [args[1]], {}, node)
    if module_tree.looks_like_module(path):
        made = Instance(Lib(path))
        nn.construct(machine, made, name, args, kwargs)
        return made
    if optim.looks_like_optimizer(path):
        made = Instance(Lib(path))
        optim.construct(machine, made, args, kwargs)
        return made
    if path == "torch.autograd.grad":
        return passes.grad(machine, args, kwargs, node)
    if path == "torch.autograd.backward":
        names = ["tensors", "grad_tensors", "retain_graph", "create_graph", "grad_variables", "inputs"]
        given_all = dict(zip(names, args, strict=False)) | kwargs
        roots = given_all.get("tensors")
        listed = list(roots) if isinstance(roots, (list, tuple)) else [roots]
        return passes.backward(machine, listed, given_all, node)
    if path == "torch.autograd.Variable":
        return _variable(machine, args, kwargs)
    if path == "torch.compile":
        return compiled.compile_(machine, args, kwargs)
    if path in ("torch.jit.script", "torch.jit.trace", "torch.jit.ignore"):
        return args[0] if args else Native(lambda m, a, k: a[0] if a else m.unknown(), name)
    if path.startswith(("torch.func.", "torch.vmap", "torch.jit.", "torch.distributed.", "torch.optim.")):
        return objects.make(machine, path, args, kwargs, node)
    if path in ("torch.is_tensor",):
        return isinstance(args[0], Tensor) if args and not isinstance(args[0], Unknown) else machine.unknown()
    if path == "torch.is_grad_enabled":
        return machine.graph.records
    if name in _NOTHING:
        machine.graph.elsewhere |= name in ("set_default_device", "set_default_tensor_type")
        return None
    if name in _MAKES and path.count(".") == 1:
        made_data = _leaf_or_data(machine, Tensor(), kwargs)
        made_data.attributes[ops.ON_PROCESSOR] = "device" not in kwargs and not machine.graph.elsewhere
        shape = _shape(name, args, kwargs)
        if shape:
            made_data.attributes["shape"] = shape
        return made_data
    if name in _WRAPS:
        return _wrap(machine, name, args, kwargs, node)
    if path.startswith("torch.Tensor.") and args and isinstance(args[0], Tensor):
        return tensors.method(machine, args[0], name, args[1:], kwargs, node)
    if path.startswith(("torch.linalg.", "torch.fft.", "torch.special.", "torch.sparse.", "torch.Tensor.")):
        if path == "torch.linalg.norm" or path == "torch.linalg.vector_norm":
            return tensors.function(machine, "norm", args, kwargs, node)
        if path == "torch.sparse.mm":
            return ops.apply(machine, "mm", args[:2])
        if name == "qr":
            made_q = ops.generic(machine, "LinalgQrBackward0", args[:1], "own", outs=2)
            return machine.named_pair(made_q[0], made_q[1], ("Q", "R"))
        return tensors.function(machine, name, args, kwargs, node)
    if path.count(".") > 1:
        return objects.make(machine, path, args, kwargs, node)
    if name == "broadcast_tensors":
        return tuple(args)
    if name == "device":
        return machine.unknown("device", *[one for one in args if isinstance(one, str)])
    return tensors.function(machine, name, args, kwargs, node)


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
        known = machine.truth(training)
        if known is None:
            known = machine.decide(training, node or ast.Pass())
        return ops.apply(machine, "dropout", [value]) if known else value
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


def _wrap(machine: Machine, name: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    """`torch.tensor(x)`: numbers into a tensor; whatever history they had is gone."""
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
        made.needs = True
        machine.graph.register(made)
        return made
    return given
