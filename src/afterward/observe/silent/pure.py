"""Tells what code of the program may be run once more without anybody noticing.

Only what is known to do nothing but compute is called harmless: layers of torch's own, and functions of the program
whose text assigns to nothing but their own names and calls nothing else. Whatever is not known is not harmless.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable
from types import FunctionType, ModuleType
from typing import Any

from afterward.observe import compat
from afterward.observe.provenance.sources import Sources

DEPTH = 6  # calls within calls that are read
UNKNOWN: Any = object()
ValueOf = Callable[[ast.expr], Any]

_METHODS = """
abs argmax argmin bmm chunk clamp clone contiguous cos cumsum detach dim div double eq exp expand expand_as
flatten float gather ge gelu gt half le log log2 log_softmax long lt masked_fill matmul max mean min mm movedim
mul narrow ne neg norm numel permute pow prod relu repeat reshape round rsqrt sigmoid sin size softmax softplus
split sqrt square squeeze std sub sum swapaxes t tanh to transpose type type_as unbind unflatten unsqueeze var
view view_as
"""
TENSOR_METHODS = frozenset(_METHODS.split())
_TENSOR_ATTRIBUTES = frozenset({"shape", "device", "dtype", "T", "mT", "ndim"})
_BUILTINS = (abs, enumerate, float, int, isinstance, len, list, max, min, range, reversed, sum, tuple, zip)
_TORCH_EXTRA = frozenset(
    {"arange", "cat", "einsum", "eye", "full", "linspace", "ones", "outer", "stack", "where", "zeros"}
)
_FUNCTIONS = """
adaptive_avg_pool1d adaptive_avg_pool2d adaptive_max_pool1d adaptive_max_pool2d avg_pool1d avg_pool2d
binary_cross_entropy binary_cross_entropy_with_logits celu conv1d conv2d conv3d cosine_similarity cross_entropy
elu gelu group_norm hardsigmoid hardswish hardtanh huber_loss interpolate kl_div l1_loss layer_norm leaky_relu
linear log_softmax logsigmoid max_pool1d max_pool2d mish mse_loss nll_loss normalize one_hot pad pixel_shuffle
relu relu6 selu sigmoid silu smooth_l1_loss soft_margin_loss softmax softplus softsign tanh tanhshrink
"""
_FUNCTIONAL = frozenset(_FUNCTIONS.split())
_LAYERS = {  # by the module of torch that defines them; () means all but those left out
    "linear": ("Linear", "Identity", "Bilinear"),
    "conv": ("Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"),
    "batchnorm": ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d"),
    "normalization": ("LayerNorm", "GroupNorm", "LocalResponseNorm", "RMSNorm"),
    "dropout": (),
    "activation": (),
    "pooling": (),
    "padding": (),
    "flatten": (),
    "container": ("Sequential", "ModuleList", "ModuleDict"),
    "sparse": ("Embedding",),
    "upsampling": (),
    "pixelshuffle": (),
    "loss": (),
}
_LEFT_OUT = frozenset({"MultiheadAttention", "FractionalMaxPool2d", "FractionalMaxPool3d"})
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def parts_of(module: Any) -> list[Any]:
    """A module and all modules in it; no method of the program's is called."""
    found, todo = dict[int, Any](), [module]
    while todo:
        one = todo.pop()
        if id(one) not in found:
            found[id(one)] = one
            todo += [part for part in vars(one).get("_modules", {}).values() if part is not None]
    return list(found.values())


class Purity:
    """Answers whether functions and modules only compute."""

    def __init__(self, sources: Sources, *, own_code: bool = True) -> None:
        """Without `own_code` no function of the program's is harmless: somebody follows what is executed."""
        self.sources = sources
        self.own_code = own_code
        self._known: dict[tuple[int, int], bool] = {}
        self._modules: dict[int, bool] = {}

    def module(self, module: Any) -> bool:
        """Is it a module that can be called without a trace, once it is in evaluation mode?"""
        if not isinstance(module, compat.torch_module().nn.Module):
            return False
        if id(module) not in self._modules:
            self._modules[id(module)] = True  # its own parts lead back to it
            self._modules[id(module)] = all(self._part(one) for one in parts_of(module))
        return self._modules[id(module)]

    def _part(self, module: Any) -> bool:
        torch = compat.torch_module()
        space = vars(module)
        if any(space.get(hooks) for hooks in _HOOKS) or {"forward", "__call__"} & space.keys():
            return False
        tensors = [*space.get("_parameters", {}).values(), *space.get("_buffers", {}).values()]
        plain = (torch.Tensor, torch.nn.Parameter)
        if any(one is not None and (type(one) not in plain or one.device.type != "cpu") for one in tensors):
            return False
        kind = type(module)
        if space.get("max_norm") is not None:  # an embedding that rewrites its own weight as it is read
            return False
        package, _, file = kind.__module__.rpartition(".")
        if package == "torch.nn.modules":
            allowed = _LAYERS.get(file)
            return allowed is not None and (kind.__name__ in allowed or not allowed) and kind.__name__ not in _LEFT_OUT
        base = torch.nn.Module
        ways = ("__call__", "_call_impl", "_wrapped_call_impl", "__getattr__", "__getattribute__", "__setattr__")
        if any(getattr(kind, way, None) is not getattr(base, way, None) for way in ways):
            return False
        return self.function(member_of(kind, "forward"), module)

    def function(self, function: Any, owner: Any = None, depth: int = DEPTH) -> bool:
        """Does a function of the program's only compute? `owner` is what its first argument is, of a method."""
        if not self.own_code or type(function) is not FunctionType or depth < 0 or function.__closure__:
            return False
        code = function.__code__
        key = (id(code), id(owner))
        if key not in self._known:
            self._known[key] = True  # what calls itself does no more than it does otherwise
            definition = self.sources.definition(code.co_filename, code.co_firstlineno, code.co_name)
            self._known[key] = definition is not None and _Reading(self, function, definition, owner, depth).computes()
        return self._known[key]


def member_of(kind: type, name: str) -> Any:
    """What a class has under a name, as it stands there: no descriptor is woken."""
    return next((vars(one)[name] for one in kind.__mro__ if name in vars(one)), UNKNOWN)


def attribute_of(value: Any, name: str) -> Any:
    """An attribute, where reading it runs no code of anybody's."""
    torch = compat.torch_module()
    if isinstance(value, ModuleType):
        return vars(value).get(name, UNKNOWN)
    space = getattr(value, "__dict__", {})
    if name in space:
        return space[name]
    if isinstance(value, torch.nn.Module):
        for part in ("_parameters", "_buffers", "_modules"):
            if name in space.get(part, {}):
                return space[part][name]
    found = member_of(type(value), name)
    return UNKNOWN if hasattr(type(found), "__get__") and type(found) is not FunctionType else found


def torch_computes(function: Any) -> bool:
    """Is it an operation of torch's own that draws no random numbers and writes to nothing?"""
    torch = compat.torch_module()
    name = getattr(function, "__name__", "")
    if name in _FUNCTIONAL and vars(torch.nn.functional).get(name) is function:
        return True
    # What is a method of tensors too computes from tensors; the rest of `torch` sets options, saves, seeds or draws.
    return name in TENSOR_METHODS | _TORCH_EXTRA and vars(torch).get(name) is function


class _Reading:
    """Reads the text of one function."""

    def __init__(self, purity: Purity, function: FunctionType, node: ast.FunctionDef, owner: Any, depth: int) -> None:
        self.purity, self.function, self.node, self.owner, self.depth = purity, function, node, owner, depth
        arguments = node.args
        names = [one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        self.first = names[0] if names and owner is not None else None
        stored = [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        self.local = {*names, *stored} - {self.first}
        self.overwritten = self.first in stored
        loops = [one for one in ast.walk(node) if isinstance(one, ast.For) and isinstance(one.target, ast.Name)]
        self.layers = {  # `for layer in self.layers`
            loop.target.id
            for loop in loops
            if isinstance(loop.target, ast.Name)
            and stored.count(loop.target.id) == 1
            and loop.target.id not in names
            and self._is_module(self.value(loop.iter))
        }

    def computes(self) -> bool:
        if self.overwritten or self.node.args.vararg or self.node.args.kwarg:
            return False
        return all(self._statement(one) for one in self.node.body)

    def _statement(self, statement: ast.stmt) -> bool:
        if isinstance(statement, (ast.Pass, ast.Break, ast.Continue)):
            return True
        if isinstance(statement, ast.Expr):
            return isinstance(statement.value, ast.Constant)
        if isinstance(statement, ast.Return):
            return statement.value is None or self._expression(statement.value)
        if isinstance(statement, ast.Assign):
            return all(own_names(target) for target in statement.targets) and self._expression(statement.value)
        if isinstance(statement, ast.If):
            return self._expression(statement.test) and self._all(statement.body) and self._all(statement.orelse)
        if isinstance(statement, ast.For):
            return own_names(statement.target) and self._expression(statement.iter) and self._all(statement.body)
        return False

    def _all(self, statements: list[ast.stmt]) -> bool:
        return all(self._statement(one) for one in statements)

    def _expression(self, expression: ast.expr) -> bool:
        return expression_computes(self.purity, expression, self.value, self.depth, self.layers)

    def _is_module(self, value: Any) -> bool:
        return isinstance(value, compat.torch_module().nn.Module)

    def value(self, expression: ast.expr) -> Any:
        """What an expression stands for, where that is known before the function runs."""
        if isinstance(expression, ast.Name):
            if expression.id == self.first:
                return self.owner
            if expression.id in self.local:
                return UNKNOWN
            return self.function.__globals__.get(expression.id, getattr(builtins, expression.id, UNKNOWN))
        if isinstance(expression, ast.Attribute):
            value = self.value(expression.value)
            return UNKNOWN if value is UNKNOWN else attribute_of(value, expression.attr)
        return UNKNOWN


def expression_computes(
    purity: Purity, expression: ast.expr, value_of: ValueOf, depth: int = DEPTH, layers: Iterable[str] = ()
) -> bool:
    """Does an expression only compute? `value_of` tells what its parts stand for, `layers` are names of modules."""
    for node in ast.walk(expression):
        if isinstance(node, (ast.Await, ast.Yield, ast.YieldFrom, ast.Lambda, ast.NamedExpr, ast.GeneratorExp)):
            return False
        if isinstance(node, ast.Call):
            if any(word.arg in ("out", "inplace", None) for word in node.keywords):
                return False
            if not _call_computes(purity, node.func, value_of, depth, layers):
                return False
        if isinstance(node, ast.Attribute) and not _attribute_is_known(node, value_of):
            return False
    return True


def _attribute_is_known(node: ast.Attribute, value_of: ValueOf) -> bool:
    """Does reading it run no code?"""
    if value_of(node) is not UNKNOWN:
        return True
    owner = value_of(node.value)
    return (owner is UNKNOWN or _is_tensor(owner)) and node.attr in TENSOR_METHODS | _TENSOR_ATTRIBUTES


def _is_tensor(value: Any) -> bool:
    torch = compat.torch_module()
    return type(value) in (torch.Tensor, torch.nn.Parameter)


def _call_computes(purity: Purity, called: ast.expr, value_of: ValueOf, depth: int, layers: Iterable[str]) -> bool:
    value = value_of(called)
    if value is UNKNOWN:
        if isinstance(called, ast.Subscript):  # `self.layers[0](x)`
            return purity.module(value_of(called.value))
        if isinstance(called, ast.Attribute):
            receiver = value_of(called.value)
            return (receiver is UNKNOWN or _is_tensor(receiver)) and called.attr in TENSOR_METHODS
        return isinstance(called, ast.Name) and called.id in layers
    if purity.module(value):
        return True
    if any(value is one for one in _BUILTINS):
        return True
    if type(value) is FunctionType and value.__code__.co_filename in purity.sources.statements.sources:
        receiver = value_of(called.value) if isinstance(called, ast.Attribute) else None
        method = receiver if receiver is not None and not isinstance(receiver, ModuleType) else None
        return purity.function(value, method, depth - 1)
    return torch_computes(value)


def own_names(target: ast.expr) -> bool:
    """Is this an assignment to plain names alone?"""
    if isinstance(target, (ast.Tuple, ast.List)):
        return all(own_names(one) for one in target.elts)
    return isinstance(target, ast.Name)
