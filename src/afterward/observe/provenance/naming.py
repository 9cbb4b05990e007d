"""Finds the names that the running program has for its tensors, parameters and optimizers.

It looks where a person would: the locals of the calls on the stack, then globals, then what depends on them.
No property is called and no code of the program runs.
"""

from __future__ import annotations

import gc
import re
import sys
import types
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from afterward.model.records import WINDOW
from afterward.observe import compat
from afterward.observe.looking import (
    attribute,
    classes_of,
    elements,
    entries,
    fields_of,
    is_a,
    members_of,
    mro_of,
    name_of,
    space_of,
)
from afterward.observe.marks.stack import locals_of
from afterward.observe.plainly import plainly
from afterward.observe.provenance.owners import NOT_OURS, Owners, answered_from, held_by_libraries, is_private

LIMIT = 150_000  # objects looked at
DEPTH = 7
_PLAIN = (str, bytes, bytearray, int, float, complex, bool, type(None), type, types.ModuleType)
_SHELL_NAMES = re.compile(r"_+|_[io]h|_dh|_i*\d*|_\d+|In|Out|get_ipython|exit|quit|open")
QUALIFIED = type.__dict__["__qualname__"]
MODULE_INTERNALS = frozenset(
    {
        "training", "call_super_init", "_parameters", "_buffers", "_modules", "_non_persistent_buffers_set",
        "_backward_pre_hooks", "_backward_hooks", "_is_full_backward_hook", "_forward_hooks",
        "_forward_hooks_with_kwargs", "_forward_hooks_always_called", "_forward_pre_hooks",
        "_forward_pre_hooks_with_kwargs", "_state_dict_hooks", "_state_dict_pre_hooks",
        "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Held:
    """A tensor with history that the program can reach under this name now."""

    name: str
    kind: str
    node: Any
    output: int
    depth: int  # how many attributes or items away from a variable
    tensor: int  # its identity


@dataclass
class Names:
    """What one search found."""

    held: list[Held] = field(default_factory=list)
    leaves: dict[int, str] = field(default_factory=dict)  # id of the tensor -> shortest name
    owned: dict[int, str] = field(default_factory=dict)  # id of a leaf -> its name as an attribute of something
    optimizers: dict[int, tuple[str, Any]] = field(default_factory=dict)
    storages: dict[int, set[str]] = field(default_factory=dict)  # address of a storage -> names of tensors in it
    modules: dict[int, str] = field(default_factory=dict)
    kinds: dict[str, type] = field(default_factory=dict)  # of modules, by name
    windows: set[str] = field(default_factory=set)  # names of queues that forget their oldest
    complete: bool = True


def search(frames: Iterable[types.FrameType], is_user: Any) -> Names:
    """Look through the frames (innermost first) and the globals of the program's modules."""
    torch = compat.torch_module()
    names = Names()
    seen: set[int] = set()
    todo: deque[tuple[Any, str, str, int]] = deque()
    spaces: set[int] = set()
    keep_alive: list[Any] = []  # ids in `seen` stay valid only while the objects live
    owners = Owners(is_user)
    frames = list(frames)
    roots = list(_roots(frames, is_user))
    for space, kind in roots:
        if id(space) in spaces:
            continue
        spaces.add(id(space))
        keep_alive.append(space)
        for name, value in _own_names(space):
            if type(name) is str and not (name.startswith("__") and name.endswith("__")):
                todo.append((value, name, kind, 0))
        _drain(todo, seen, names, torch, keep_alive, owners)
    for value in (*owners.library_generators, *held_by_libraries(frames, is_user)):
        todo.append((value, NOT_OURS, "attribute", 0))
        _drain(todo, seen, names, torch, keep_alive, owners)
    for name, tensor in _parametrized(names):
        _note_tensor(tensor, name, "attribute", 1, names)
    return names


def _own_names(space: dict[str, Any]) -> list[tuple[Any, Any]]:
    """What the program itself has put there. IPython adds names for its history and for itself: of these only `Out`
    is told, for it may be what holds a graph; and last, for a variable of the program's is the better name."""
    if "_oh" not in space or space.get("Out") is not space["_oh"]:
        return list(space.items())
    shown = {id(value) for value in space["Out"].values()}
    own = [
        (name, value)
        for name, value in list(space.items())
        if type(name) is str and (not _SHELL_NAMES.fullmatch(name) or (set(name) == {"_"} and id(value) not in shown))
    ]
    return [*own, ("Out", space["Out"])]


def _parametrized(names: Names) -> Iterator[tuple[str, Any]]:
    """What `parametrize.cached()` keeps: the program reads it as an attribute of the module."""
    parametrize = sys.modules.get("torch.nn.utils.parametrize")
    for (module, name), tensor in list(getattr(parametrize, "_cache", {}).items()):
        if tensor is not None:
            yield f"{names.modules.get(module, 'module')}.{name}", tensor


def _roots(frames: Iterable[types.FrameType], is_user: Any) -> Iterator[tuple[dict[str, Any], str]]:
    spaces: list[dict[str, Any]] = []
    for frame in frames:
        space = locals_of(frame)
        if space is frame.f_globals or frame.f_code.co_name == "<module>":
            yield frame.f_globals, "global"
        else:
            yield dict(space), "local"
        spaces.append(frame.f_globals)
    for space in spaces:
        yield space, "global"
    installed: dict[str, bool] = {}  # by package: what it holds is installed with it, no need to ask for each file
    for name, module in list(sys.modules.items()):
        package = name.partition(".")[0]
        if package not in installed:
            home = attribute(sys.modules.get(package), "__file__")
            installed[package] = isinstance(home, str) and not is_user(home)
        if installed[package]:
            continue
        file = attribute(module, "__file__")
        if (isinstance(file, str) and is_user(file)) or (file is None and name == "__main__"):
            yield vars(module), "global"


def _drain(
    todo: deque[tuple[Any, str, str, int]],
    seen: set[int],
    names: Names,
    torch: Any,
    keep_alive: list[Any],
    owners: Owners,
) -> None:
    while todo:
        value, path, kind, depth = todo.popleft()
        if is_a(value, _PLAIN) and not (is_a(value, type) and owners.is_class(value)):
            continue
        if is_a(value, torch.Tensor):  # named once per name: two names for one tensor are both good
            if not path.startswith(NOT_OURS):
                _note_tensor(value, path, kind, depth, names)
            continue
        if id(value) in seen:
            continue
        if not path.startswith(NOT_OURS) and owners.is_library_generator(value):
            owners.library_generators.append(value)  # its locals are no names of the program's: last of all
            continue
        if len(seen) > LIMIT:
            names.complete = False
            return
        seen.add(id(value))
        keep_alive.append(value)
        path = owners.path(value, path)
        if is_a(value, torch.nn.Module):
            names.modules.setdefault(id(value), path)
            names.kinds.setdefault(path, type(value))
        if is_a(value, deque) and (length := deque.maxlen.__get__(value)) is not None and length <= WINDOW:
            names.windows.add(path)
        if is_a(value, torch.optim.Optimizer):
            names.optimizers.setdefault(id(value), (name_of(type(value)) if is_private(path) else path, value))
            continue
        if is_a(value, type):
            todo.extend((item, f"{path}.{name}", "attribute", depth + 1) for name, item in owners.attributes(value))
            continue
        if depth < DEPTH:
            for kept in classes_of(value) if owners.is_class(type(value)) else ():
                shared = owners.attributes(kept) if owners.is_class(kept) else ()
                todo.extend((item, f"{path}.{name}", "attribute", depth + 1) for name, item in shared)
            for child, name, how, deeper in _children(value, path, depth + 1, torch):
                todo.append((child, name, "item" if kind == "item" else how, deeper))


def _note_tensor(tensor: Any, path: str, kind: str, depth: int, names: Names) -> None:
    node = compat.grad_fn_of(tensor)
    if node is not None:
        names.held.append(Held(path, kind, node, int(plainly(tensor).output_nr), depth, id(tensor)))
    elif plainly(tensor).requires_grad:
        known = names.leaves.get(id(tensor))
        if known is None or _length(path) < _length(known):
            names.leaves[id(tensor)] = path
        if kind == "attribute":
            names.owned.setdefault(id(tensor), path)
    pointer = storage_pointer(tensor)
    if pointer is not None:
        names.storages.setdefault(pointer, set()).add(path)


def attributes_on_the_way(name: str, kinds: dict[str, type]) -> frozenset[str]:
    """`Student.features` for `run.student.features[0].weight`: of each module on the way to it, by its classes, the
    attribute that leads on. Two networks of one program often have attributes of the same name."""
    found = set()
    for place in re.finditer(r"[.\[]", name):
        attribute = re.match(r"\.(\w+)", name[place.start() :])
        kind = kinds.get(name[: place.start()])
        if attribute is not None and kind is not None:
            found |= {f"{QUALIFIED.__get__(one)}.{attribute[1]}" for one in mro_of(kind)}
    return frozenset(found)


def living_optimizers(names: Names) -> dict[int, tuple[str, Any]]:
    """Every living optimizer; those that no name was found for go by their class."""
    kinds = {id(kind) for kind in _kinds_of(compat.torch_module().optim.Optimizer)}
    found = dict(names.optimizers)
    for thing in [thing for thing in gc.get_objects() if id(type(thing)) in kinds]:
        found.setdefault(id(thing), (name_of(type(thing)), thing))
    return found


def _kinds_of(kind: type) -> Iterator[type]:
    """A class and all that inherit from it. To look a class up is quicker than to ask each thing what it inherits."""
    yield kind
    one: type
    for one in type.__subclasses__(kind):
        yield from _kinds_of(one)


def storage_pointer(tensor: Any) -> int | None:
    """Where a tensor's numbers lie in memory; None for tensors that have no storage of their own."""
    found = compat.memory_of(tensor)
    return found[0] if found is not None else None


def _length(path: str) -> tuple[bool, int, int]:
    """What ranks names of one parameter: `model.head.weight` says more than `parameters[3]`, and than private names."""
    return is_private(path) or path.endswith("]"), path.count(".") + path.count("["), len(path)


def _children(value: Any, path: str, depth: int, torch: Any) -> Iterator[tuple[Any, str, str, int]]:
    if is_a(value, dict):
        for key, item in entries(value)[:5000]:
            yield item, f"{path}[{_shown(key)}]", "item", depth
    elif is_a(value, (list, tuple, deque)):
        fields = fields_of(value)
        for index, item in enumerate(elements(value)[:5000]):
            if fields and index < len(fields):
                yield item, f"{path}.{fields[index]}", "attribute", depth
            elif is_a(value, tuple):  # a tuple is one value in several parts, not a memory
                yield item, f"{path}[{index}]", "attribute" if "." in path else "local", depth
            else:
                yield item, f"{path}[{index}]", "item", depth
    elif type(value) is types.GeneratorType:
        if value.gi_frame is not None:
            for name, item in dict(locals_of(value.gi_frame)).items():
                yield item, NOT_OURS if path.startswith(NOT_OURS) else name, "local", depth
    elif type(value) is types.FunctionType:
        for name, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=False):
            try:
                yield cell.cell_contents, name, "local", depth
            except ValueError:  # an empty cell
                continue
    elif type(value) is types.MethodType:
        yield value.__self__, path, "attribute", depth
    else:
        yield from _attributes(value, path, depth, torch)


def _shown(key: Any) -> str:
    """A dictionary key as a person would write it; other objects' `repr` is the program's own code."""
    if type(key) is str and '"' not in key:
        return f'"{key}"'
    return repr(key) if type(key) in (str, int, float, bool) else "..."


def _named(space: Any) -> Iterator[tuple[str, Any]]:
    """What lies under names. A name of a class of the program's, with a hash or a text of its own, is left out."""
    return ((name, item) for name, item in entries(space) if type(name) is str)


def _attributes(value: Any, path: str, depth: int, torch: Any) -> Iterator[tuple[Any, str, str, int]]:
    space = space_of(value)
    if is_a(value, torch.nn.Module):
        for part in ("_parameters", "_buffers"):
            for name, item in _named(dict.get(space, part)):
                yield item, f"{path}.{name}", "attribute", depth
        for name, item in _named(dict.get(space, "_modules")):
            yield item, f"{path}[{name}]" if name.isdigit() else f"{path}.{name}", "attribute", depth
        answered = answered_from(value)
        for name, item in _named(space):
            if name in answered:
                yield from ((one, f"{path}.{key}", "attribute", depth) for key, one in _named(item))
            elif name not in MODULE_INTERNALS:
                yield item, f"{path}.{name}", "attribute", depth
    else:
        for name, item in _named(space):
            yield item, f"{path}.{name}", "attribute", depth
    for kind in classes_of(value):
        members = members_of(kind)
        for name, member in list(members.items()) if "__slots__" in members else ():
            if type(member) is types.MemberDescriptorType:
                try:
                    yield member.__get__(value), f"{path}.{name}", "attribute", depth
                except AttributeError:
                    continue
