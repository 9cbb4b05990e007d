"""Methods, attributes and operators of tensors, and the functions of `torch` that are named alike."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from afterward.follow.reading import whole
from afterward.interpret.graph.graph import Tensor
from afterward.interpret.history import refused
from afterward.interpret.library.python.words import words
from afterward.interpret.library.torch import ops
from afterward.interpret.library.torch.tensor_members import SPECIAL, about
from afterward.interpret.machine.core import spelled
from afterward.interpret.machine.values import (
    Args,
    Instance,
    Iter,
    Kwargs,
    Stream,
    Unknown,
    Value,
)
from afterward.model.life.table import table

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine


# Results of these are data: indices, truth values, shapes.
DATA = words(
    "all allclose any argmax argmin argsort bernoulli bincount bitwise_and bitwise_not bitwise_or bool bucketize "
    "byte char count_nonzero empty_like eq equal floor_divide full_like ge gt heaviside histc int is_nonzero "
    "isclose isfinite isin isinf isnan le logical_and logical_not logical_or logical_xor long lt multinomial ne "
    "new new_empty new_full new_ones new_tensor new_zeros nonzero one_hot ones_like rand_like randint_like randn_like "
    "searchsorted short sign_bit signbit tril_indices triu_indices uint8 unique unique_consecutive zeros_like"
)
_FRESH = words(
    "empty_like full_like new new_empty new_full new_ones new_tensor new_zeros ones_like rand_like randint_like "
    "randn_like zeros_like"
)
# The very tensor, or one with the same history: where it lies and how it is stored makes no difference here.
SAME = words(
    "bfloat16 coalesce contiguous cpu cuda double float half mps npu pin_memory refine_names rename "
    "requires_grad_same share_memory_ to to_dense to_sparse type type_as xpu"
)
# Views that save nothing.
VIEWS = words(
    "H T as_strided diagonal expand expand_as flatten imag mH mT movedim narrow permute ravel real reshape "
    "reshape_as select squeeze squeeze_ swapaxes t transpose unflatten unfold unsqueeze view view_as"
)
_NUMBERS = {"item": ".item()", "tolist": ".tolist()", "numpy": ".numpy()", "__float__": "float(...)"}
_DIMS = words("aminmax cummax cummin kthvalue max median min mode sort topk")
PLAIN = words(
    "__len__ data_ptr device dim dtype element_size get_device is_complex is_contiguous is_cuda is_floating_point "
    "is_sparse itemsize layout names nbytes ndim ndimension nelement numel shape size storage storage_offset stride "
    "type_str untyped_storage"
)


def method(machine: Machine, owner: Tensor, name: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    """Call a method of a tensor."""
    special = SPECIAL.get(name)
    if special is not None:
        return special(machine, owner, args, kwargs, node)
    if name == "size" and "shape" in owner.attributes:
        shape = owner.attributes["shape"]
        if not args:
            return shape
        if isinstance(args[0], int) and -len(shape) <= args[0] < len(shape):
            return shape[args[0]]
    if name in PLAIN:
        return about(machine, owner, name, *[arg for arg in args if isinstance(arg, (int, str))])
    if name == "numpy" and owner.requires_grad and not owner.is_doubtful and kwargs.get("force", False) is False:
        refused.converted(machine, owner, spelled(node.func.value) if isinstance(node, ast.Call) else "")  # type: ignore[attr-defined]
    if name in _NUMBERS:
        return Unknown(None, ops.cut_of(machine, owner, _NUMBERS[name], node), plain=True)
    return function(machine, name, [owner, *args], kwargs, node)


def function(machine: Machine, name: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    """An operation by name, as a function or as a method: its tensor arguments come first."""
    args = [
        *args,
        *(value for key, value in kwargs.items() if key in ("other", "target", "input2", "tensor", "weight")),
    ]
    if "input" in kwargs:
        args = [kwargs["input"], *args]
    if name in DATA:
        made = ops.data(machine, () if name in _FRESH else args, _cut_word(name), node)
        if kwargs.get("requires_grad") is True:
            made.needs = True
        return made
    if not args:
        return machine.unknown()
    first = args[0]
    if isinstance(first, Unknown) and not any(_needs(arg) for arg in args):
        return machine.unknown(cut=first.cut)
    if name in SAME:
        return ops.moved(machine, first) if name == "cuda" and not args[1:] else first
    if name in VIEWS:
        made = ops.generic(machine, f"{name.capitalize()}Backward0", [first], "", view=True)
        if name in _LENGTHS and isinstance(made, Tensor):
            made.attributes[ops.LENGTHS] = _LENGTHS[name](args[1:])
        return made
    if name.endswith("_") and not name.endswith("__") and isinstance(first, Tensor):
        return in_place(machine, name, first, args[1:], kwargs, node)
    if name in _BY_NAME:
        return _BY_NAME[name](machine, name, args, kwargs, node)
    return _by_table(machine, name, args, kwargs)


def _sizes(args: Args) -> dict[int, int]:
    """The lengths that `x.view(1, 1, -1)` asks for, by dimension."""
    sizes = args[0] if args and isinstance(args[0], (tuple, list)) else args
    return {at: size for at, size in enumerate(sizes) if isinstance(size, int) and size >= 0}


_LENGTHS: dict[str, Callable[[Args], dict[int, int]]] = {
    "unsqueeze": lambda args: {args[0]: 1} if args and isinstance(args[0], int) else {},
    **dict.fromkeys(("view", "reshape"), _sizes),
}


def _by_table(machine: Machine, name: str, args: Args, kwargs: Kwargs) -> Value:
    found = ops.resolve(name)
    if found is None:
        return machine.unknown(cut=getattr(args[0], "cut", None))
    return _of_table(machine, found, args, kwargs)


def _needs(value: Value) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_needs(one) for one in value)
    return isinstance(value, Tensor) and value.requires_grad


def _of_table(machine: Machine, op: str, args: Args, kwargs: Kwargs) -> Value:
    arity = len(table()[op].shapes)
    if op in ("dropout", "dropout2d", "alpha_dropout"):
        training = kwargs.get("training", args[2] if len(args) > 2 else True)
        if machine.truth(training) is False:
            return args[0]
    if arity == 2 and len(args) > 1 and not isinstance(args[1], (Tensor, Unknown)):
        scalar = f"{op}_scalar"
        if ops.known(scalar):
            return ops.apply(machine, scalar, args[:1])
        if not isinstance(args[0], Tensor):
            return machine.unknown()
    if arity == 1 and len(args) > 1 and op in ("clamp", "clamp_min", "clamp_max"):
        return ops.apply(machine, op, args[:1], [a for a in args[1:] if isinstance(a, Tensor)])
    extra = [value for value in args[arity:] if isinstance(value, Tensor) and value.requires_grad]
    return ops.apply(machine, op, args[:arity], extra)


def _with_indices(machine: Machine, name: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    if len(args) > 1 and isinstance(args[1], Tensor) and name in ("max", "min"):
        return ops.apply(machine, f"{name}imum", args[:2])
    by_dim = len(args) > 1 or "dim" in kwargs or "k" in kwargs or name in ("sort", "topk", "kthvalue")
    if not by_dim and ops.known(name):
        return ops.apply(machine, name, args[:1])
    made = ops.generic(machine, f"{name.capitalize()}Backward0", args[:1], "own")
    return machine.named_pair(made, ops.data(machine, args[:1], f".{name}() indices", None))


def _joined(machine: Machine, name: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    parts = args[0]
    if isinstance(parts, (Iter, Stream)):
        parts = machine.take(machine.iterate(parts, None))
    op = "CatBackward0" if name not in ("stack", "dstack") else "StackBackward0"
    if isinstance(parts, (list, tuple)) and parts:  # of nothing it raises: what filled the list was not followed
        return ops.generic(machine, op, list(parts), "")
    if isinstance(parts, Tensor):
        return ops.generic(machine, op, [parts], "")
    return machine.unknown()


def _pieces(machine: Machine, name: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    source = args[0]
    if not isinstance(source, Tensor):
        return machine.unknown()
    size = args[1] if len(args) > 1 else kwargs.get("chunks", kwargs.get("split_size_or_sections"))
    rows = ops.elements(machine, source, name if name in ("tensor_split", "unbind") else "split")
    count: int | None = None
    if name == "chunk" and isinstance(size, int):
        count = size
    elif isinstance(size, (list, tuple)):
        count = len(size)
    shape = source.attributes.get("shape")
    if count is None and shape and isinstance(shape[0], int) and "dim" not in kwargs and len(args) < 3:
        if name == "unbind" and len(args) < 2:
            count = shape[0]
        elif name == "split" and isinstance(size, int) and size > 0:
            count = -(-shape[0] // size)
    if count is not None and 0 < count <= 64:
        return tuple(next(rows) for _ in range(count))
    return Stream(lambda: next(rows))


def _where(machine: Machine, name: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    if len(args) < 3:
        return machine.unknown()
    if isinstance(args[0], Tensor) and not (_needs(args[1]) or _needs(args[2])) and node is not None:
        made = ops.data(machine, args, "a comparison", node)
        if not any(isinstance(value, Unknown) for value in args[1:3]):
            return made
    return ops.apply(machine, "where", args[1:3])


def _einsum(machine: Machine, name: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    parts = args[1] if len(args) == 2 and isinstance(args[1], (list, tuple)) else args[1:]
    return ops.generic(machine, "EinsumBackward", list(parts), "others")


def _of_several(machine: Machine, name: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    return ops.apply(machine, name, args[:1]) if ops.known(name) else _by_table(machine, name, args, kwargs)


_BY_NAME: dict[str, Callable[[Machine, str, Args, Kwargs, ast.AST | None], Value]] = {
    **dict.fromkeys(_DIMS, _with_indices),
    **dict.fromkeys(words("cat concat concatenate stack hstack vstack dstack column_stack row_stack"), _joined),
    **dict.fromkeys(words("split chunk unbind tensor_split split_with_sizes unsafe_chunk unsafe_split"), _pieces),
    "where": _where,
    "einsum": _einsum,
    **dict.fromkeys(words("std_mean var_mean svd qr eigh slogdet lstsq meshgrid"), _of_several),
}


def in_place(machine: Machine, name: str, target: Tensor, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    """`x.name_()`, `name_(x)`."""
    op = name
    if not ops.known(op) and ops.known(f"{name[:-1]}_scalar_"):
        op = f"{name[:-1]}_scalar_"
    if args and not isinstance(args[0], (Tensor, Unknown)) and ops.known(f"{name[:-1]}_scalar_"):
        op = f"{name[:-1]}_scalar_"
    others = [*args, *kwargs.values()]
    return ops.write(machine, target, others, op, node, _written(node, len(args)))


def _written(node: ast.AST | None, others: int) -> str:
    """What a statement or call changes in place, as the program writes it. Such a call takes so many other values."""
    target: ast.expr | None = None
    if isinstance(node, ast.AugAssign):
        target = node.target
    elif isinstance(node, ast.Call) and len(node.args) > others:
        target = node.args[0]  # `torch.relu_(x)`
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        target = node.func.value
    return ast.unparse(whole(target)) if target is not None else "the tensor"


def binary(machine: Machine, op: ast.operator, left: Value, right: Value, writes: bool, node: ast.AST) -> Value:
    """An arithmetic operator with a tensor on one side."""
    name = _OPERATORS.get(type(op))
    if name is None:
        return ops.data(machine, [left, right], "a comparison", node)
    if writes and isinstance(left, Tensor):
        return in_place_operator(machine, name, left, right, node, _written(node, 1))
    for side in (left, right):
        if isinstance(side, (Instance, list)):
            machine.account.lose([left, right])
            return machine.unknown()
    if isinstance(left, Tensor) and isinstance(right, (Tensor, Unknown)):
        return ops.apply(machine, name, [left, right])
    if isinstance(left, Unknown):
        return ops.apply(machine, name, [left, right])
    if isinstance(left, Tensor):
        scalar = f"{name}_scalar"
        return ops.apply(machine, scalar if ops.known(scalar) else name, [left, right])
    reverse = f"r{name}_scalar"
    if name == "mul":
        reverse = "mul_scalar"
    if ops.known(reverse):
        return ops.apply(machine, reverse, [right])
    return ops.apply(machine, name, [0.0, right])


def in_place_operator(machine: Machine, name: str, left: Tensor, right: Value, node: ast.AST, label: str) -> Value:
    op = f"{name}_"
    if not isinstance(right, (Tensor, Unknown)) and ops.known(f"{name}_scalar_"):
        op = f"{name}_scalar_"
    return ops.write(machine, left, [right], op, node, label)


def comparison(machine: Machine, left: Value, right: Value, node: ast.AST) -> Value:
    return ops.data(machine, [left, right], "a comparison", node)


def _cut_word(name: str) -> str:
    return "a comparison" if name in ("eq", "ne", "lt", "le", "gt", "ge") else f".{name}()"


_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow", ast.MatMult: "mm",
    ast.FloorDiv: "floor", ast.Mod: "remainder",
}  # fmt: skip
