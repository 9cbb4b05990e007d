"""Python's own functions and the parts of the standard library that training code leans on."""

from __future__ import annotations

import ast
import builtins
import itertools
import math
from collections import deque
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from afterward.interpret.graph.graph import Tensor
from afterward.interpret.library.python import arithmetic, reflect, stdlib
from afterward.interpret.library.python.words import words
from afterward.interpret.machine.values import (
    Args,
    Bound,
    Instance,
    Iter,
    Kwargs,
    Lib,
    Method,
    PartialDict,
    Raised,
    Stream,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine


MATH = {"pi": math.pi, "e": math.e, "inf": math.inf, "tau": math.tau}
standard = stdlib.call
argparse_method = stdlib.argparse_method

# Libraries whose functions change nothing that they are given.
HARMLESS = words(
    "PIL argparse builtins collections csv cv2 datasets datetime dgl evaluate functools gc glob gym gymnasium h5py "
    "hashlib imageio io itertools json logging loguru math matplotlib mlflow neptune networkx nltk numpy operator "
    "os pandas pathlib pickle platform psutil random re rich scipy seaborn shutil sklearn socket spacy statistics "
    "string subprocess sys tensorboard tensorboardX textwrap time tokenizers torch torch_geometric torchmetrics "
    "torchvision tqdm transformers typing uuid visdom wandb warnings yaml"
)
_MOST = 200  # elements that are summed and compared
_NAMES = {name: Lib(f"builtins.{name}") for name in dir(builtins)}


def builtin(name: str, machine: Machine) -> Value:
    """A name that the program did not define."""
    if name == "__name__":
        return "__main__"
    if name == "__file__":
        return machine.frame.file
    if name in _NAMES:
        return _NAMES[name]
    if name == "torch":  # in a notebook or a snippet, the import may be elsewhere
        return Lib("torch")
    return machine.unknown("name", machine.frame.file, name)


def call(machine: Machine, name: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    """Call a built-in function or class."""
    run = _CALLS.get(name)
    if run is not None:
        return run(machine, args, kwargs, node) if args or name in _BARE else machine.unknown()
    if name == "print":
        return None
    if name.endswith(("Error", "Exception", "Interrupt", "Exit", "Iteration", "Warning")):
        return Instance.of_library(f"builtins.{name}", {"args": tuple(args)})
    known = getattr(builtins, name, None)
    if callable(known) and name in ("abs", "round", "pow", "divmod", "ord", "chr", "hash", "bin", "hex", "repr"):
        if args and isinstance(args[0], Tensor):
            if name in ("abs", "round", "pow"):
                return machine.call(Method(args[0], name), args[1:], kwargs, node)
        elif name != "hash" and all(isinstance(one, (int, float, str)) for one in args):
            try:
                return arithmetic.compute(known, args)
            except arithmetic.ERRORS:
                pass
        return machine.unknown(name, *args) if args else machine.unknown()
    return machine.unknown()


def _len(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    value = args[0] if args else None
    if isinstance(value, Instance):
        items = value.inner.get("items")
        if isinstance(items, (list, dict)):
            return len(items)
        method = machine.lookup(value, "__len__")
        return machine.call(method, [], {}, node) if isinstance(method, Bound) else machine.unknown("len", value)
    if isinstance(value, (list, tuple, dict, set, str, deque, bytes, frozenset)):
        return len(value)
    if isinstance(value, range):
        return max(0, -((value.start - value.stop) // value.step))  # `len` cannot say more than `sys.maxsize`
    if isinstance(value, Tensor) and value.attributes.get("shape"):
        return value.attributes["shape"][0]
    return machine.unknown("len", value)


def _range(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    if args and all(isinstance(one, int) for one in args):
        try:
            return range(*args)
        except (TypeError, ValueError):
            return machine.unknown()
    start = args[0] if len(args) > 1 and isinstance(args[0], int) else 0
    numbers = itertools.count(start)
    return Stream(lambda: next(numbers))


def _iterated(machine: Machine, value: Value) -> Iter:
    return machine.iterate(value, None)


def _whole(machine: Machine, value: Value) -> list[Value] | None:
    """All that a value gives; None where there is too much of it, or an unknown amount. Tensors are taken all the
    same, a few for many: what they lead to is what counts."""
    items = _iterated(machine, value)
    found = machine.take(items, _MOST)
    if len(found) < _MOST or any(isinstance(one, Tensor) for one in found):
        return found
    return None


def _enumerate(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    start = args[1] if len(args) > 1 else kwargs.get("start", 0)
    items = _iterated(machine, args[0])
    first = start if isinstance(start, int) else 0
    return Iter(((number, item) for number, item in enumerate(items.source, first)), items.known, listed=items.listed)


def _are_listed(items: list[Iter]) -> bool:
    """Does one that ends by itself stand in a container? The others are taken as far as it goes."""
    return any(one.known and one.listed for one in items)


def _zip(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    items = [_iterated(machine, one) for one in args]
    sources = [one.source for one in items]
    return Iter(zip(*sources, strict=False), any(one.known for one in items), listed=_are_listed(items))


def _map(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    items = [_iterated(machine, one) for one in args[1:]]
    function = args[0]
    made = (machine.call(function, list(parts), {}, node) for parts in zip(*(i.source for i in items), strict=False))
    return Iter(made, any(one.known for one in items), listed=_are_listed(items))


def _filter(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    items = _iterated(machine, args[1])

    def kept() -> Iterator[Value]:
        for number, item in enumerate(items.source):
            machine.spend()
            if not items.known and number > 20:
                return
            value = item if args[0] is None else machine.call(args[0], [item], {}, node)
            if machine.is_true(value, node):
                yield item

    return Iter(kept(), items.known, listed=items.listed)


def _listed(kind: Callable[[Any], Value]) -> Callable[..., Value]:
    def run(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
        if not args:
            return kind([])
        if isinstance(args[0], Unknown):
            return machine.unknown(cut=args[0].cut)
        try:
            return kind(machine.take(_iterated(machine, args[0])))
        except TypeError:
            return machine.unknown()

    return run


def _dict(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    made = PartialDict()
    if args and isinstance(args[0], dict):
        made.update(args[0])
        made.partial = getattr(args[0], "partial", False)
    elif args:
        for pair in machine.take(_iterated(machine, args[0])):
            if isinstance(pair, (tuple, list)) and len(pair) == 2 and isinstance(pair[0], (str, int)):
                made[pair[0]] = pair[1]
            else:
                made.partial = True
    made.update(kwargs)
    return made


def _from_keys(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    """`dict.fromkeys(names, value)`: one value under each name."""
    made = PartialDict()
    items = _iterated(machine, args[0])
    for key in machine.take(items):
        if isinstance(key, (str, int)):
            made[key] = args[1] if len(args) > 1 else None
        else:
            made.partial = True
    made.partial = made.partial or not items.known
    return made


def _sorted(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    if isinstance(args[0], Unknown):
        return machine.unknown(cut=args[0].cut)
    found = machine.take(_iterated(machine, args[0]))
    try:
        if "key" not in kwargs and not any(isinstance(one, (Unknown, Tensor, Instance)) for one in found):
            return sorted(found, reverse=bool(kwargs.get("reverse", False)))
    except arithmetic.ERRORS:
        pass
    return found


def _reversed(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    items = _iterated(machine, args[0])
    return Iter(iter(machine.take(items)[::-1]), items.known)


def _sum(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    if isinstance(args[0], Unknown):
        return machine.unknown(cut=args[0].cut)
    total: Value = args[1] if len(args) > 1 else kwargs.get("start", 0)
    found = _whole(machine, args[0])
    if found is None:
        return machine.unknown()
    for item in found:
        total = machine.binary(ast.Add(), total, item, node or ast.Pass())
    return total


def _extreme(name: str) -> Callable[..., Value]:
    def run(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
        values = args if len(args) > 1 else _whole(machine, args[0]) if args else []
        if values is None:
            return machine.unknown()
        if values and all(isinstance(one, (int, float)) for one in values):
            return min(values) if name == "min" else max(values)
        if len(values) == 1:
            return values[0]
        tensors_only = [one for one in values if isinstance(one, Tensor)]
        if tensors_only:
            one_of = len(tensors_only) > 1 and any(one.requires_grad for one in tensors_only)
            return tensors_only[0] if not one_of else machine.unknown()  # `max(loss, 0)`: the loss, where it counts
        cut = next((one.cut for one in values if isinstance(one, Unknown) and one.cut is not None), None)
        return machine.unknown(name, *values, cut=cut) if len(values) <= 4 else machine.unknown(cut=cut)

    return run


def _quantified(wants: bool) -> Callable[..., Value]:
    def run(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
        found = _whole(machine, args[0])
        unsure = found is None
        for item in found or ():
            known = machine.truth(item)
            if known is wants:
                return wants
            unsure = unsure or known is None
        return machine.unknown() if unsure else not wants

    return run


def _number(kind: Callable[[Any], Value], word: str) -> Callable[..., Value]:
    def run(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
        value = args[0] if args else 0
        if isinstance(value, Tensor):
            from afterward.interpret.library.torch import ops

            return machine.unknown(cut=ops.cut_of(machine, value, f"{word}(...)", node))
        try:
            if isinstance(value, (int, float, str)):
                return arithmetic.compute(kind, (value,))
        except arithmetic.ERRORS:
            pass
        return machine.unknown(word, value, cut=getattr(value, "cut", None))

    return run


def _bool(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    known = machine.truth(args[0]) if args else False
    return known if known is not None else (args[0] if isinstance(args[0], Unknown) else machine.unknown())


def _str(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    if not args:
        return ""
    try:
        return arithmetic.compute(str, args[:1]) if isinstance(args[0], (str, int, float)) else machine.unknown()
    except arithmetic.ERRORS:
        return machine.unknown()


def _iter(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    return _iterated(machine, args[0]) if args else machine.unknown()


def _next(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    machine.trail = hash((machine.trail, machine.graph.clock))  # each time something else
    value = args[0] if args else None
    if isinstance(value, Instance):
        return machine.call(machine.attribute(value, "__next__", node), [], {}, node)
    if isinstance(value, Iter):
        if value.run is not None:
            value.run.asked = True
        try:
            return next(value.source)
        except StopIteration:
            if len(args) > 1:
                return args[1]
            raise Raised(Lib("builtins.StopIteration")) from None
    return machine.unknown()


_CALLS: dict[str, Callable[..., Value]] = {
    "len": _len, "range": _range, "enumerate": _enumerate, "zip": _zip, "map": _map, "filter": _filter,
    "list": _listed(list), "tuple": _listed(tuple), "set": _listed(set), "frozenset": _listed(frozenset),
    "dict": _dict, "dict.fromkeys": _from_keys,
    "sorted": _sorted, "reversed": _reversed, "sum": _sum, "min": _extreme("min"),
    "max": _extreme("max"), "any": _quantified(True), "all": _quantified(False), "int": _number(int, "int"),
    "float": _number(float, "float"), "bool": _bool, "str": _str, "isinstance": reflect.isinstance_,
    "getattr": reflect.getattr_, "hasattr": reflect.hasattr_, "setattr": reflect.setattr_, "super": reflect.super_,
    "type": reflect.type_, "iter": _iter, "next": _next, "__import__": reflect.import_,
    "callable": reflect.callable_, "id": lambda m, a, k, n: id(a[0]) if a else m.unknown(),
    "object": lambda m, a, k, n: Instance(Lib("builtins.object")), "property": reflect.of_kind_("property"),
    "staticmethod": reflect.of_kind_("static"), "classmethod": reflect.of_kind_("class"),
}  # fmt: skip


def _takes_nothing(name: str) -> bool:
    """May it be called without an argument? Python itself knows: `list()` may, `sum()` may not."""
    try:
        attrgetter(name)(builtins)()
    except TypeError:
        return False
    except RuntimeError:  # `super()`, outside of a class
        return True
    return True


_BARE = frozenset(filter(_takes_nothing, _CALLS))
