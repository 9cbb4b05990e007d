"""What libraries do, as far as the life of the graph is concerned: one file per part, found here by name."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from afterward.interpret.graph.graph import Tensor
from afterward.interpret.history import refused
from afterward.interpret.library.frameworks import graphs, lightning, transformers
from afterward.interpret.library.python import builtins as python
from afterward.interpret.library.python import containers
from afterward.interpret.library.python.words import words
from afterward.interpret.library.torch import (
    data,
    functions,
    layers,
    makers,
    module_tree,
    modules,
    nn,
    objects,
    ops,
    optim,
    ready,
    tensor_members,
    tensors,
)
from afterward.interpret.machine.values import (
    MISSING,
    Args,
    Bound,
    Class,
    Function,
    Instance,
    Iter,
    Kwargs,
    Lib,
    Method,
    Native,
    PartialDict,
    Unknown,
    Value,
)

is_module = module_tree.is_module
call_module: Callable[..., Any] = nn.call
tensor_operator: Callable[..., Any] = tensors.binary
tensor_method: Callable[..., Any] = tensors.method
tensor_attribute: Callable[..., Any] = tensor_members.attribute
set_tensor_attribute: Callable[..., Any] = tensor_members.set_attribute
comparison: Callable[..., Any] = tensors.comparison
tensor_item: Callable[..., Any] = ops.item
write_item: Callable[..., Any] = ops.write_item
used_as_gradient: Callable[..., None] = refused.used_as_gradient
elements: Callable[..., Any] = ops.elements
builtin: Callable[..., Any] = python.builtin
iterate_instance: Callable[..., Any] = data.iterate
call_object: Callable[..., Any] = objects.call
class_attribute: Callable[..., Any] = objects.class_attribute


# Calls whose result, where it is not known, has nothing to do with the history of what they were given.
_KEEPS = words(
    "abs bool breakpoint callable delattr dir eval exec float format globals hasattr hash help id input int isinstance "
    "issubclass len locals open print range repr round setattr str type vars"
)
_SIDE = words(
    "PIL argparse csv cv2 datetime gc glob gym gymnasium h5py hashlib imageio io json logging loguru matplotlib mlflow "
    "neptune networkx nltk numpy os pandas pathlib pickle platform psutil random re rich scipy seaborn shutil sklearn "
    "socket spacy statistics string subprocess sys tensorboard tensorboardX textwrap time tokenizers tqdm typing uuid "
    "visdom wandb warnings yaml"
)
_TORCH_SIDE = (
    "torch.save", "torch.load", "torch.cuda.", "torch.nn.utils.clip_grad", "torch.manual_seed", "torch.utils.data.",
    "torch.optim.", "torch.backends.", "torch.distributed.", "torch.utils.tensorboard.", "torch.nn.init.",
    "torch.allclose", "torch.equal", "torch.onnx.", "torch.profiler.",
)  # fmt: skip


def call(machine: Any, path: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    """Call something of a library by its full name."""
    result = _call(machine, path, args, kwargs, node)
    if path.endswith((".backward", ".manual_backward")) and not path.startswith("torch."):
        machine.account.blind = True
    if is_unknown(result) and not _beside(path):
        machine.account.lose((*args, *kwargs.values()))
    elif path.startswith("numpy.") and isinstance(result, Unknown) and any(_with_graph(one) for one in args):
        machine.account.lose(args)  # an array of tensors, each still with its graph
    return result


def _with_graph(value: Value) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_with_graph(one) for one in value)
    return isinstance(value, Tensor) and value.node is not None


def is_unknown(result: Value) -> bool:
    if isinstance(result, tuple):
        return any(isinstance(one, Unknown) for one in result)
    return isinstance(result, Unknown) and result.cut is None


def _beside(path: str) -> bool:
    top, _, rest = path.partition(".")
    if top == "builtins":
        return rest in _KEEPS
    return top in _SIDE or path.startswith(_TORCH_SIDE)


def _call(machine: Any, path: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    top = path.split(".", 1)[0]
    if top == "builtins":
        return python.call(machine, path[9:], args, kwargs, node)
    if top == "torch":
        return functions.call(machine, path, args, kwargs, node)
    found = python.standard(machine, path, args, kwargs, node)
    if found is not MISSING:
        return found
    found = makers.elsewhere(machine, path, args, kwargs, node)
    if found is not MISSING:
        return found
    if top not in python.HARMLESS:
        machine.escape(args, kwargs)
    if top == "numpy" and any(map(_holds_graph, args)):  # `np.sum` of losses is a loss: what it leads to is not known
        machine.account.mix(args)
    # Of numbers that were read out of a tensor come numbers; what `math` gives is never anything else.
    cut = (
        next((one.cut for one in args if isinstance(one, Unknown) and one.cut), None)
        if top in ("numpy", "math")
        else None
    )
    return Unknown(None, cut, plain=top == "math")


def _holds_graph(value: Value) -> bool:
    """Is it a tensor with a graph, or a few of them?"""
    if isinstance(value, (list, tuple)):
        return any(map(_holds_graph, value[:50]))
    return isinstance(value, Tensor) and value.node is not None


def call_method(machine: Any, owner: Value, name: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    """Call a method of a tensor, of a container or of a modelled object."""
    if isinstance(owner, Tensor):
        fields = getattr(owner, "fields", None)
        if fields is not None and name in ("values", "items"):  # of something that stands in for what a network returns
            return fields() if name == "values" else [(machine.unknown(), one) for one in fields()]
        result = tensors.method(machine, owner, name, args, kwargs, node)
        if is_unknown(result) and name not in tensors.PLAIN:
            machine.account.lose([owner, *args])
    elif isinstance(owner, Instance):
        result = objects.method(machine, owner, name, args, kwargs, node)
        if is_unknown(result) and not (isinstance(owner.cls, Lib) and _beside(owner.cls.path)):
            machine.account.lose([owner, *args, *kwargs.values()])
    else:
        result = containers.method(machine, owner, name, args, kwargs, node)
        if is_unknown(result) and not isinstance(owner, (str, Iter)):
            machine.account.lose([owner])
    return result


def plain_attribute(machine: Any, owner: Value, name: str) -> Value:
    """An attribute of a built-in value: nearly always a method."""
    if isinstance(owner, Iter):
        return Method(owner, name) if name in ("send", "close", "throw", "__next__", "__iter__") else MISSING
    if isinstance(owner, (list, dict, set, tuple, str, deque, bytes, frozenset, int, float, range)):
        fields = getattr(owner, "fields", None)
        if fields is not None and name in fields:
            return owner[fields.index(name)]  # type: ignore[index]
        return Method(owner, name) if hasattr(type(owner), name) or name in ("_asdict", "_replace") else MISSING
    return MISSING


def lib_attribute(machine: Any, owner: Lib, name: str) -> Value:
    """Something in a library module or class."""
    if owner.path == "math":
        constant = python.MATH.get(name)
        if constant is not None:
            return constant
    if name == "__name__":
        return owner.name
    if name == "TYPE_CHECKING" and owner.path == "typing":
        return False
    if name.startswith("__") and name not in ("__init__", "__version__"):
        return MISSING
    if name == "__version__":
        return machine.unknown("version", owner.path)
    return _part(owner.path, name)


@lru_cache(maxsize=16_384)
def _part(path: str, name: str) -> Lib:
    return Lib(objects.canonical(f"{path}.{name}"))


def inherited(machine: Any, owner: Value, base: Lib, name: str) -> Value:
    """What an object has from a class of a library."""
    if not isinstance(owner, Instance):
        return class_attribute(machine, owner, base, name)
    if base.name == "LightningModule":
        found = lightning.inherited(machine, owner, name)
        if found is not MISSING:
            return found
    if base.name == "MessagePassing" and name == "propagate":
        return Native(lambda m, args, kwargs: graphs.propagate(m, owner, args, kwargs), name)
    if module_tree.looks_like_module(base.path):
        found = modules.inherited(machine, owner, base, name)
        if found is not MISSING:
            return found
        return objects.attribute(machine, owner, base, name)
    if optim.looks_like_optimizer(base.path):
        return optim.inherited(machine, owner, base, name)
    return objects.attribute(machine, owner, base, name)


def prepare(machine: Any, made: Instance) -> None:
    """Before `__init__`: what an object of such a class has from the start."""
    if isinstance(made.cls, Class) and any(_not_known(base) for base in made.order):
        machine.account.strange.append(made)  # its inherited methods may do anything to what it holds
    if module_tree.is_module(made):
        made.attributes["training"] = True
        bases = [base for base in made.order if isinstance(base, Lib) and module_tree.looks_like_module(base.path)]
        made.inner["layer"] = bases[0].name if bases else "Module"
        if made.inner["layer"] in layers.CONTAINERS:
            made.inner["items"] = [] if "Dict" not in made.inner["layer"] else PartialDict()
    elif any(isinstance(base, Lib) and base.path.startswith("builtins.") for base in made.order):
        kinds = {base.path for base in made.order if isinstance(base, Lib)}
        if "builtins.list" in kinds:
            made.inner["items"] = []
        elif kinds & {"builtins.dict", "collections.OrderedDict", "collections.defaultdict", "collections.UserDict"}:
            made.inner["items"] = PartialDict()


_KNOWN_BASES = (
    "torch.",
    "builtins.",
    "abc.",
    "typing.",
    "collections.",
    "enum.",
    "dataclasses.",
    "argparse.",
    "json.",
    "multiprocessing.",
    "threading.",
)


def _not_known(base: Value) -> bool:
    if isinstance(base, Lib):
        return not base.path.startswith(_KNOWN_BASES)
    return not isinstance(base, Class)


def construct(machine: Any, made: Instance, args: Args, kwargs: Kwargs, node: ast.AST | None) -> None:
    """The `__init__` that a class of the program has from a library."""
    if optim.is_optimizer(made):
        optim.construct(machine, made, args, kwargs)
    elif isinstance(made.cls, Class) and transformers.derives(made.cls):
        transformers.construct(machine, made, args, kwargs)
    elif module_tree.is_module(made):
        nn.construct(machine, made, made.inner.get("layer", "Module"), args, kwargs)
    else:
        if args and isinstance(made.inner.get("items"), list):
            made.inner["items"].extend(machine.take(machine.iterate(args[0], node)))
        made.attributes.setdefault("args", tuple(args))


def attribute_set(machine: Any, owner: Instance, name: str, value: Value) -> None:
    """A module's parameters are named after the place they are put into."""
    if isinstance(value, Tensor) and value.is_parameter and not value.label.endswith(name):
        value.label = f"{owner.label}.{name}" if owner.label else name


def instance_item(machine: Any, owner: Instance, key: Value, node: ast.AST) -> Value:
    """`object[key]`."""
    method = machine.lookup(owner, "__getitem__")
    if isinstance(method, Bound):
        return machine.call(method, [key], {}, node)
    if ready.is_ready(owner):  # `features[:21]`, `features[0]`
        return ready.parts(machine, owner)[0][1]
    items = owner.inner.get("items")
    if items is not None:
        missing = machine.lookup(owner, "__missing__") if isinstance(items, dict) else None
        if isinstance(missing, Bound) and isinstance(key, (str, int)) and key not in items:
            return machine.call(missing, [key], {}, node)
        if isinstance(items, list) and isinstance(key, slice):
            made = Instance(Lib("torch.nn.Sequential") if owner.inner.get("layer") == "Sequential" else owner.cls)
            made.inner.update(owner.inner, items=items[key])
            made.attributes["training"] = True
            return made
        return machine.item(items, key, node)
    if isinstance(owner.cls, Class) and owner.cls.special == "namedtuple" and isinstance(key, int):
        values = list(owner.attributes.values())
        return values[key] if -len(values) <= key < len(values) else machine.unknown()
    return machine.unknown()


def set_instance_item(machine: Any, owner: Instance, key: Value, value: Value, node: ast.AST) -> None:
    """`object[key] = value`."""
    method = machine.lookup(owner, "__setitem__")
    if isinstance(method, Bound):
        machine.call(method, [key, value], {}, node)
    elif owner.inner.get("items") is not None:
        machine.set_item(owner.inner["items"], key, value, node)
    else:
        machine.account.lose([value])


def tensor_parts(machine: Any, value: Tensor, count: int) -> list[Value]:
    """`a, b = tensor`."""
    rows = ops.elements(machine, value)
    return [next(rows) for _ in range(count)]


def driver(owner: Instance, member: Function) -> Native | None:
    """The loop of a library that calls this method again and again, where there is one."""
    if member.name != "training_step" or not lightning.is_module(owner):
        return None

    def run(machine: Any, args: Args, kwargs: Kwargs) -> None:
        machine.frame.statement = machine.frame.statement or member.node
        lightning.train(machine, owner, None)

    return Native(run, member.name)
