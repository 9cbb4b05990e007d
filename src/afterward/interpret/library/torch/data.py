"""Data loaders and datasets: the batches that a loop over them gets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from afterward.interpret.graph.graph import Tensor
from afterward.interpret.library.torch import ops, ready
from afterward.interpret.machine.values import Bound, Class, Instance, Iter, Lib, PartialDict, Unknown, Value

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine


def iterate(machine: Machine, owner: Instance) -> Iter | None:
    if ready.is_ready(owner):
        return Iter(iter([one for _, one in ready.parts(machine, owner)]), False)
    items = owner.inner.get("items")
    if isinstance(items, (list, dict)) and not isinstance(machine.lookup(owner, "__iter__"), Bound):
        return machine.iterate(items, None)
    if owner.cls == Lib("torch.utils.data.DataLoader") or owner.is_a("torch.utils.data.DataLoader"):
        return Iter(_batches(machine, owner), False)
    if isinstance(owner.cls, Lib) and owner.cls.path.startswith("torch.utils.data."):
        return Iter(_samples(machine, owner), False)
    if isinstance(owner.cls, Class) and owner.cls.special == "namedtuple":
        return Iter(iter(list(owner.attributes.values())))
    return None


def _samples(machine: Machine, source: Value) -> Iterator[Value]:
    """The samples of a dataset."""
    if isinstance(source, Instance) and source.cls == Lib("torch.utils.data.TensorDataset"):
        rows = [ops.elements(machine, one) if isinstance(one, Tensor) else None for one in source.inner["args"]]
        while True:
            yield tuple(next(one) if one is not None else machine.unknown() for one in rows)
    if isinstance(source, Instance) and isinstance(source.cls, Lib) and source.inner.get("source") is not None:
        yield from _samples(machine, source.inner["source"])
        return
    if isinstance(source, (list, tuple)) and source:
        while True:
            yield from source
    if isinstance(source, Instance):
        getter = machine.lookup(source, "__getitem__")
        length = machine.lookup(source, "__len__")
        most = machine.call(length, [], {}, None) if isinstance(length, Bound) else None
        number = 0
        while isinstance(getter, Bound):
            yield machine.call(getter, [number], {}, None)
            number = (number + 1) % most if isinstance(most, int) and most > 0 else number + 1
    while True:
        yield machine.unknown()


def _batches(machine: Machine, loader: Instance) -> Iterator[Value]:
    source = loader.inner.get("source")
    samples = _samples(machine, source)
    collate = loader.inner.get("collate")
    while True:
        few = [next(samples), next(samples)]
        if collate is not None and not isinstance(collate, Unknown):
            yield machine.call(collate, [few], {}, None)
        else:
            yield _collated(machine, few)


def _collated(machine: Machine, few: list[Any]) -> Value:
    first = few[0]
    if all(isinstance(one, Tensor) for one in few):
        return ops.generic(machine, "StackBackward0", few, "")
    if isinstance(first, (tuple, list)) and all(isinstance(o, (tuple, list)) and len(o) == len(first) for o in few):
        return [_collated(machine, list(parts)) for parts in zip(*few, strict=True)]
    if isinstance(first, dict) and all(isinstance(o, dict) and o.keys() == first.keys() for o in few):
        return PartialDict({key: _collated(machine, [one[key] for one in few]) for key in first})
    if isinstance(first, (int, float)):
        return Tensor()
    return machine.unknown()
