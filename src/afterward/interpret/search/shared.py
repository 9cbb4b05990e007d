"""Modules that one run has imported and the next may use: as they were when their import had ended.

Most of a large program is its imports, and they are the same in each run and for each file of a project. So each import
that only defined things is kept: the module, with those that import each other. A run that comes to its file gets
the same objects, with their contents set back: what an earlier run did to lists, dicts and objects of a module is
undone here, and what it did to classes, functions and global names it undoes itself when it ends (`Machine.undo`).

A run must not see which runs were before: it gets exactly the modules that it would have loaded, is charged for
them, and knows of unknown values what it would have known.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from types import BuiltinFunctionType, FunctionType
from typing import TYPE_CHECKING, Any

from afterward.interpret.graph.graph import Tensor, Version
from afterward.interpret.machine.values import (
    MISSING,
    Bound,
    Class,
    Function,
    Instance,
    Lib,
    Method,
    Module,
    Native,
    Scope,
    SliceOf,
    Super,
    Unknown,
    Value,
)
from afterward.model.life.parts import Storage
from afterward.model.life.parts import Tensor as Bare

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine

_MOST = 60_000  # objects of one group that are looked at
_ATOMS = (str, int, float, complex, bytes, range, slice, type(None), type(...), Lib, type, BuiltinFunctionType)


@dataclass(slots=True)
class Group:
    """What one import has loaded, but for what other groups hold, and how to set it back."""

    modules: dict[str, Module]
    cost: int  # statements
    contents: list[tuple[Any, Any]]  # each mutable container with a copy of what was in it
    grown: dict[str, Any]  # of the machine: what the import has added to its records
    needs: tuple[Group, ...]  # groups of what it imports

    def restore(self) -> None:
        for box, copy in self.contents:
            if isinstance(box, list):
                box[:] = copy
            elif isinstance(box, Tensor):
                for name, value in copy.items():
                    setattr(box, name, value)
            elif isinstance(box, Version):
                box.count, box.leaf, box.writes[:] = copy[0], None, copy[1]
            elif isinstance(box, Storage):
                box.symbol = copy
            else:
                box.clear()
                box.extend(copy) if isinstance(box, deque) else box.update(copy)


class Shelf:
    """The groups of a project, by the file that an import began with."""

    def __init__(self) -> None:
        self.groups: dict[str, list[Group]] = {}
        self.files: set[str] = set()  # all that is in the groups
        self.held: set[int] = set()  # ids of all that is in the groups, which keep it alive

    def dismantle(self) -> None:
        """Nothing will take from it any more: cut the circles in it, so that it goes at once."""
        for groups in self.groups.values():
            for group in groups:
                for module in group.modules.values():
                    module.dismantle()
        self.groups.clear()
        self.files.clear()

    def take(self, machine: Machine, file: str) -> Module | None:
        """The module of a file as an earlier run had it, if this run would have come to the same."""
        for group in self.groups.get(file, ()):
            wanted = _all_needed(group, machine)
            if wanted is None:
                continue
            cost = sum(one.cost for one in wanted)
            if not machine.budget.affords(cost):
                return None  # some of it would not have been imported
            machine.budget.charge(cost)
            for one in wanted:
                _enter(machine, one)
            return group.modules[file]
        return None

    def keep(self, machine: Machine, before: Before, file: str, cost: int, uses: Iterable[str]) -> None:
        """An import has ended: keep what it loaded, if nothing else came of it."""
        modules = before.loaded(machine)
        changes = machine.changes[before.changes :]
        if file not in modules or before.had_effects(machine) or any(id(names) in self.held for names, _, _ in changes):
            return
        needs = _needs(machine, modules, [*uses, *(one for name in modules for one in machine.used_by.get(name, ()))])
        found = _contents(modules, self.held) if needs is not None else None
        if needs is None or found is None:
            machine.used_by[file] = tuple(uses)
            machine.costs[file] = cost
            return
        contents, seen = found
        self.held |= seen
        self.files.update(modules)
        cost += sum(machine.costs.get(name, 0) for name in modules if name != file)
        grown = {name: _added(_RECORDS[name](machine), start) for name, start in before.grown.items()}
        grown["statements"] = {key: one for key, one in grown["statements"].items() if key[0] in modules}
        group = Group(modules, cost, contents, grown, needs)
        del machine.changes[before.changes :]  # they are part of what it was when its import had ended
        machine.groups.append(group)
        self.groups.setdefault(file, []).append(group)


@dataclass(slots=True)
class Before:
    """How a run stood when an import began. Of what only grows, how much there was."""

    files: set[str]
    counts: tuple[int, ...]
    changes: int
    grown: dict[str, Any]  # of each record of the machine, how long it was; of a set, what was in it

    def loaded(self, machine: Machine) -> dict[str, Module]:
        held = {file for group in machine.groups for file in group.modules}
        return {file: module for file, module in machine.modules.items() if file not in self.files and file not in held}

    def had_effects(self, machine: Machine) -> bool:
        return self.counts != _counts(machine)


# What of a machine only grows while it imports.
_RECORDS: dict[str, Callable[[Machine], Any]] = {
    name: attrgetter(name)
    for name in (
        "decided", "unknown_attributes", "unknowns", "negations", "idle", "busy", "steady", "kept_alive", "gaps",
        "executed", "statements", "account.touched", "account.strange",
    )
}  # fmt: skip


def look(machine: Machine) -> Before:
    records = {name: record(machine) for name, record in _RECORDS.items()}
    grown = {name: set(one) if isinstance(one, set) else len(one) for name, one in records.items()}
    return Before(set(machine.modules), _counts(machine), len(machine.changes), grown)


def _added(record: Any, start: Any) -> Any:
    """What has come to a record since: of a list or dict since it was so long, of a set beside what was in it."""
    if isinstance(record, set):
        return record - start
    return dict(islice(record.items(), start, None)) if isinstance(record, dict) else record[start:]


def _counts(machine: Machine) -> tuple[int, ...]:
    """What an import that only defines things leaves alone."""
    graph = machine.graph
    account = machine.account
    lists = (
        graph.leaves, machine.passes, machine.steps, machine.broken, machine.optimizers, machine.reducers,
        account.lost,
    )  # fmt: skip
    return graph.count, len(machine.started), int(account.blind), *(len(one) for one in lists)


def _needs(machine: Machine, modules: dict[str, Module], uses: Iterable[str]) -> tuple[Group, ...] | None:
    """The groups of all that some modules import, directly or not; None where something of it is in no group."""
    wanted = {file for file in uses if file not in modules}
    found = [group for group in machine.groups if not wanted.isdisjoint(group.modules)]
    if wanted - {file for group in found for file in group.modules}:
        return None
    ids = {id(one) for group in found for one in (*group.needs, group)}
    return tuple(group for group in machine.groups if id(group) in ids)


def _all_needed(group: Group, machine: Machine) -> list[Group] | None:
    """The groups to enter for this one, in order; None where a file of theirs is already loaded otherwise."""
    active = {id(one) for one in machine.groups}
    wanted = [one for one in (*group.needs, group) if id(one) not in active]
    for one in wanted:
        if any(file in machine.modules for file in one.modules):
            return None
    return wanted


def _enter(machine: Machine, group: Group) -> None:
    group.restore()
    machine.groups.append(group)
    machine.modules.update(group.modules)
    for name, more in group.grown.items():
        record = _RECORDS[name](machine)
        record.extend(more) if isinstance(record, list) else record.update(more)
    machine.ran.update(dict.fromkeys(group.grown["statements"], machine.graph.clock))


# What there is in a group


def _contents(modules: dict[str, Module], held: set[int]) -> tuple[list[tuple[Any, Any]], set[int]] | None:
    """Every list, dict and object in the modules, with a copy of what is in it, and the ids of all that was looked at;
    None where there is something that cannot be set back. What is in other groups (`held`) is theirs."""
    found: list[tuple[Any, Any]] = []
    seen: set[int] = {id(module) for module in modules.values()}
    todo: list[Value] = [module.scope for module in modules.values()]
    while todo:
        value = todo.pop()
        key = id(value)
        if isinstance(value, _ATOMS) or value is MISSING or key in seen or key in held:
            continue
        seen.add(key)
        if isinstance(value, Module) or len(seen) > _MOST:
            return None  # a module of no group: one that is still being imported
        parts = _parts(value, found)
        if parts is None:
            return None
        todo.extend(parts)
        names = getattr(value, "names", None) if isinstance(value, Scope) else getattr(value, "attributes", None)
        if isinstance(names, dict):
            seen.add(id(names))
    return found, seen


def _parts(value: Value, found: list[tuple[Any, Any]]) -> Iterator[Value] | list[Value] | None:
    """What is in a value; containers that may change go into `found`."""
    look = _LOOK.get(type(value))
    if look is not None:
        return look(value, found)
    if isinstance(value, dict):
        return _of_dict(value, found)
    if isinstance(value, (list, deque, set)):
        return _of_list(value, found)
    if isinstance(value, (tuple, frozenset)):
        return list(value)
    return None


def _of_dict(value: dict[Any, Any], found: list[tuple[Any, Any]]) -> list[Value]:
    found.append((value, dict(value)))
    maker = getattr(value, "maker", None)
    return [*value.values(), *(key for key in value if not isinstance(key, _ATOMS)), maker]


def _of_list(value: Any, found: list[tuple[Any, Any]]) -> list[Value]:
    found.append((value, list(value)))
    return list(value)


def _of_scope(value: Scope, found: list[tuple[Any, Any]]) -> list[Value]:
    inner = [scope for scope in (value.outer, *value.shared.values()) if scope is not None]
    if value.module is not None:
        inner.append(value.module)  # type: ignore[arg-type]
    return [*value.names.values(), *inner]


def _of_function(value: Function, found: list[tuple[Any, Any]]) -> list[Value]:
    return [*value.attributes.values(), *value.defaults, *value.kw_defaults.values(), value.scope, value.cls]


def _of_class(value: Class, found: list[tuple[Any, Any]]) -> list[Value]:
    fields = [one for _, one in value.fields or ()]
    return [*value.attributes.values(), *(one for one in value.order if one is not value), *fields]


def _of_instance(value: Instance, found: list[tuple[Any, Any]]) -> list[Value]:
    return [value.cls, *_of_dict(value.attributes, found), *_of_dict(value.inner, found)]


def _of_tensor(value: Tensor, found: list[tuple[Any, Any]]) -> list[Value] | None:
    """A tensor of numbers can be set back; one with a history, or that needs a gradient, belongs to its run."""
    if value.requires_grad or value.grad is not None or value.hooks:
        return None
    found.append((value, {name: getattr(value, name) for name in (*Bare.__slots__, *Tensor.__slots__)}))
    found.append((value.version, (value.version.count, list(value.version.writes))))
    found.append((value.storage, value.storage.symbol))
    return _of_dict(value.attributes, found)


def _of_native(value: Native, found: list[tuple[Any, Any]]) -> list[Value]:
    return [*value.attributes.values(), value.call]


def _of_closure(value: FunctionType, found: list[tuple[Any, Any]]) -> list[Value]:
    cells = [cell.cell_contents for cell in value.__closure__ or ()]
    return [*cells, *(value.__defaults__ or ())]


_LOOK: dict[type, Callable[[Any, list[tuple[Any, Any]]], list[Value] | None]] = {
    Scope: _of_scope,
    Function: _of_function,
    Class: _of_class,
    Instance: _of_instance,
    Native: _of_native,
    Tensor: _of_tensor,
    FunctionType: _of_closure,
    Unknown: lambda value, found: [],
    Bound: lambda value, found: [value.function, value.owner],
    Method: lambda value, found: [value.owner],
    Super: lambda value, found: [value.owner, value.after],
    SliceOf: lambda value, found: list(value.parts),
}
