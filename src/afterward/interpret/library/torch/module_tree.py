"""The tree that modules make: which values are modules, what is under one, its parameters by their dotted names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from afterward.interpret.graph.graph import Tensor
from afterward.interpret.library.frameworks import graphs
from afterward.interpret.machine.values import Instance, Lib, Unknown, Value


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
        name = path.rsplit(".", 1)[-1]
        return name not in ("Parameter", "UninitializedParameter") and not name[:1].islower()
    if graphs.is_layer(path):
        return True
    return path.rsplit(".", 1)[-1] in ("LightningModule", "PreTrainedModel", "MessagePassing", "ScriptModule")


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


def as_written(name: str) -> str:
    """The dotted name of a part as a program writes it: `body[2].weight` for `body.2.weight`."""
    return _NUMBER.sub(r"[\1]", name)


_NUMBER = re.compile(r"\.(\d+)(?=\.|$)")


def is_opaque(owner: Instance) -> bool:
    """Does the module have parts that are not known?"""
    return any(
        module.opaque
        or module.inner.get("partial")
        or any(isinstance(value, Unknown) for value in module.attributes.values())
        or (isinstance(module.cls, object) and any(isinstance(base, Unknown) for base in module.order))
        for _, module in walk(owner)
    )
