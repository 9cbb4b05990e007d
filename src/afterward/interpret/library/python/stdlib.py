"""Modules of the standard library: functools, collections, itertools, copy, contextlib, argparse, random, math."""

from __future__ import annotations

import ast
import itertools
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from afterward.interpret.graph.graph import Tensor
from afterward.interpret.history import refused
from afterward.interpret.library.python import arithmetic, reflect, workers
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
    Native,
    PartialDict,
    Stream,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine


def call(machine: Machine, path: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    """Call a function of the standard library; MISSING where it is not modelled."""
    run = _CALLS.get(path)
    if run is not None:
        return run(machine, args, kwargs, node)
    if workers.is_worker(path):
        return workers.make(machine, args, kwargs, path)
    if path.startswith("math.") and args and all(isinstance(one, (int, float)) for one in args):
        function = arithmetic.named(path[5:])
        try:
            return arithmetic.compute(function, args) if function is not None else machine.unknown()
        except arithmetic.ERRORS:
            return machine.unknown()
    if path.startswith(("typing.", "abc.")):
        return args[-1] if args else machine.unknown()
    if path.startswith("enum."):
        return machine.unknown()
    return MISSING


def _partial(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    function, first, named = args[0], args[1:], kwargs

    def run(m: Machine, more: Args, others: Kwargs) -> Value:
        return m.call(function, [*first, *more], named | others, None)

    return Native(run, "partial")


def memoised(machine: Machine, function: Value) -> Value:
    """`functools.lru_cache`: called again with the same arguments, the first result comes back."""
    kept: dict[object, Value] = {}
    alive: list[Value] = []

    def run(m: Machine, args: Args, kwargs: Kwargs) -> Value:
        key = tuple(one if isinstance(one, (int, str, float)) else id(one) for one in (*args, *kwargs.values()))
        if any(isinstance(one, Unknown) for one in args):
            key = (*key, "unknown")
        if key not in kept:
            alive.extend(args)
            kept[key] = m.call(function, args, kwargs, None)
            m.name(kept[key], f"{getattr(function, 'name', 'cache')}.cache", "attribute")
        return kept[key]

    made = Native(run, getattr(function, "name", ""))
    made.attributes.update(binds=True, __wrapped__=function)
    made.attributes["cache_clear"] = Native(lambda m, a, k: kept.clear(), "cache_clear")
    return made


def _lru_cache(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    if args and isinstance(args[0], (Function, Bound, Native)):
        return memoised(machine, args[0])
    return Native(lambda m, a, k: memoised(m, a[0]), "lru_cache")


def _wraps(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    return Native(lambda m, a, k: a[0], "wraps")


def _reduce(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    items = machine.take(machine.iterate(args[1], node))
    if len(args) > 2:
        items = [args[2], *items]
    if not items:
        return machine.unknown()
    total = items[0]
    for item in items[1:]:
        total = machine.call(args[0], [total, item], {}, node)
    return total


def _deque(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    most = kwargs.get("maxlen", args[1] if len(args) > 1 else None)
    first = machine.take(machine.iterate(args[0], node)) if args else []
    return deque(first, maxlen=most if isinstance(most, int) and 0 < most <= sys.maxsize else None)


def _defaultdict(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    made = PartialDict(kwargs)
    made.maker = args[0] if args else None
    return made


def _ordered(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    return machine.call(Lib("builtins.dict"), args, kwargs, node)


def _namedtuple(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    names = args[1] if len(args) > 1 else kwargs.get("field_names", ())
    if isinstance(names, str):
        names = names.replace(",", " ").split()
    if not isinstance(names, (list, tuple)):
        return machine.unknown()
    made = Class(str(args[0]), [Lib("collections.namedtuple")], None)
    defaults = kwargs.get("defaults")
    values = list(defaults) if isinstance(defaults, (list, tuple)) else []
    made.fields = [
        (name, values[position - len(names)] if position >= len(names) - len(values) else MISSING)
        for position, name in enumerate(names)
    ]
    made.special = "namedtuple"
    return made


def _dataclass(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    if args and isinstance(args[0], Class):
        args[0].fields = args[0].attributes.get("__fields__", [])
        args[0].special = "dataclass"
        return args[0]
    return Native(lambda m, a, k: _dataclass(m, a, k, None), "dataclass")


def _field(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    if "default_factory" in kwargs:
        maker = kwargs["default_factory"]
        return Native(lambda m, a, k: m.call(maker, [], {}, None), "default_factory")
    return kwargs.get("default", MISSING)


def _deepcopy(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    return _copied(machine, args[0] if args else None, {}, True)


def _copy(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    value = args[0] if args else None
    if isinstance(value, Instance):
        made = Instance(value.cls)
        made.attributes, made.inner = dict(value.attributes), dict(value.inner)
        return made
    return _copied(machine, value, {}, False)


def _copied(machine: Machine, value: Value, seen: dict[int, Value], deep: bool) -> Value:
    if id(value) in seen:
        return seen[id(value)]
    made: Value = value
    if isinstance(value, Tensor):
        if not deep:
            return value
        if value.node is not None and not value.is_doubtful:
            refused.copied(machine, value)
        if value.needs:
            made = machine.graph.leaf("", value.is_parameter)
        else:
            made = Tensor()
            made.is_parameter = value.is_parameter
            made.cut, made.switched = value.cut, value.switched
        seen[id(value)] = made
        return made
    if isinstance(value, Instance) and deep:
        made = seen[id(value)] = Instance(value.cls)
        made.opaque = value.opaque
        made.attributes = {key: _copied(machine, one, seen, deep) for key, one in value.attributes.items()}
        made.inner = {key: _copied(machine, one, seen, deep) for key, one in value.inner.items()}
        if value in machine.optimizers:
            machine.optimizers.append(made)
        return made
    if isinstance(value, PartialDict):
        made = PartialDict({key: _copied(machine, one, seen, deep) if deep else one for key, one in value.items()})
        made.partial, made.maker = value.partial, value.maker
    elif isinstance(value, dict):
        made = {key: _copied(machine, one, seen, deep) if deep else one for key, one in value.items()}
    elif isinstance(value, (list, tuple, set, deque)):
        parts = [_copied(machine, one, seen, deep) if deep else one for one in value]
        made = type(value)(parts)
    seen[id(value)] = made
    return made


def _manager(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    """`contextlib.contextmanager`: calling the function makes a manager that runs its generator."""
    function = args[0] if args else None

    def run(m: Machine, more: Args, named: Kwargs) -> Value:
        return Instance.of_library("contextlib._GeneratorContextManager", generator=m.call(function, more, named, None))

    made = Native(run, getattr(function, "name", ""))
    made.attributes.update(binds=True, __wrapped__=function)
    return made


def _suppress(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    return Instance.of_library("contextlib.suppress", kinds=args)


def _nullcontext(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    return Instance.of_library("contextlib.nullcontext", value=args[0] if args else None)


def _parser(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    return Instance.of_library("argparse.ArgumentParser", defaults={})


def argparse_method(machine: Machine, owner: Instance, name: str, args: Args, kwargs: Kwargs) -> Value:
    """What a program's options are when it is run without any."""
    defaults = owner.inner.setdefault("defaults", {})
    if name == "add_argument":
        flags = [one for one in args if isinstance(one, str)]
        long = next((one for one in flags if one.startswith("--")), flags[-1] if flags else "")
        key = kwargs.get("dest", long.lstrip("-").replace("-", "_"))
        action = kwargs.get("action")
        if "default" in kwargs:
            defaults[key] = kwargs["default"]
        elif action in ("store_true", "store_false"):
            defaults[key] = action == "store_false"
        elif long.startswith("-") and kwargs.get("required") is not True:
            defaults[key] = None
        return machine.unknown()
    if name == "set_defaults":
        defaults.update(kwargs)
    if name in ("add_argument_group", "add_mutually_exclusive_group"):
        return owner
    if name in ("parse_args", "parse_known_args"):
        made = Instance.of_library("argparse.Namespace", defaults)
        made.opaque = True
        return made if name == "parse_args" else (made, [])
    return machine.unknown()


def _cycle(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    found = machine.take(machine.iterate(args[0], node)) if args else []
    return Iter(itertools.cycle(found) if found else iter(()), False)


def _chain(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    items = [machine.iterate(one, node) for one in args]
    return Iter(_chained(machine, items), all(one.known for one in items))


def _chain_from(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    return _chain(machine, machine.take(machine.iterate(args[0], node)), {}, node)


def _chained(machine: Machine, items: list[Iter]) -> Iterator[Value]:
    for one in items:
        yield from one.source if one.known else machine.take(one)


def _islice(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    items = machine.iterate(args[0], node)
    bounds = args[1:]
    if all(one is None or isinstance(one, int) for one in bounds):
        limited = bool(bounds) and isinstance(bounds[-1] if len(bounds) > 1 else bounds[0], int)
        with suppress(TypeError, ValueError):  # a count that Python refuses too
            return Iter(itertools.islice(items.source, *bounds), items.known or limited)
    return items


def _pairwise(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    items = machine.iterate(args[0], node)
    return Iter(itertools.pairwise(items.source), items.known)


def _product(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    lists = [machine.take(machine.iterate(one, node), 20) for one in args]
    return Iter(itertools.product(*lists), True)


def _choice(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    source = args[0] if args else None
    return source[0] if isinstance(source, (list, tuple, deque)) and len(source) else machine.unknown()


def _sample(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    source, count = args[0] if args else None, args[1] if len(args) > 1 else kwargs.get("k")
    if isinstance(source, (list, tuple, deque)) and isinstance(count, int) and len(source) >= count:
        return list(source)[:count]
    return machine.unknown()


def _lowest(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    """A random number may be the lowest one that is asked for."""
    if args and isinstance(args[0], int):
        return args[0] if len(args) > 1 else 0
    return machine.unknown()


def _replaced(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    if not args or not isinstance(args[0], Instance):
        return machine.unknown()
    made = Instance(args[0].cls)
    made.attributes = {**args[0].attributes, **kwargs}
    return made


def _nothing(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    return None


def _leave(machine: Machine, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    from afterward.interpret.machine.values import Raised

    raise Raised(Lib("builtins.SystemExit"))


_CALLS: dict[str, Callable[..., Value]] = {
    "functools.partial": _partial, "functools.lru_cache": _lru_cache, "functools.cache": _lru_cache,
    "functools.wraps": _wraps, "functools.reduce": _reduce, "collections.deque": _deque,
    "collections.defaultdict": _defaultdict, "collections.OrderedDict": _ordered,
    "collections.namedtuple": _namedtuple, "dataclasses.dataclass": _dataclass, "dataclasses.field": _field,
    "copy.deepcopy": _deepcopy, "copy.copy": _copy, "contextlib.contextmanager": _manager,
    "importlib.import_module": reflect.import_,
    "contextlib.suppress": _suppress, "contextlib.nullcontext": _nullcontext, "argparse.ArgumentParser": _parser,
    "itertools.cycle": _cycle, "itertools.chain": _chain, "itertools.chain.from_iterable": _chain_from,
    "itertools.islice": _islice, "itertools.pairwise": _pairwise, "itertools.product": _product,
    "itertools.count": lambda m, a, k, n: Stream(itertools.count(a[0] if a and isinstance(a[0], int) else 0).__next__),
    "dataclasses.replace": _replaced, "random.randrange": _lowest, "random.randint": _lowest,
    "random.choice": _choice, "random.sample": _sample, "random.seed": _nothing, "random.shuffle": _nothing,
    "multiprocessing.spawn": workers.spawn,
    "multiprocessing.get_context": lambda m, a, k, n: Lib("multiprocessing"),
    "sys.exit": _leave, "types.SimpleNamespace": lambda m, a, k, n: Instance.of_library("types.SimpleNamespace", k),
}  # fmt: skip
