"""Looks up attributes, as Python does: on an object, its class, its bases, a module."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from afterward.interpret import library
from afterward.interpret.fragments import standins
from afterward.interpret.graph.graph import Tensor
from afterward.interpret.machine.part import Part
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
    Stream,
    Super,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine


class Attributes(Part):
    """The part of the machine that finds what a name stands for on an object."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        of_tensor = partial(library.tensor_attribute, machine)
        self.table: dict[type, Callable[[Any, str], Value]] = {
            Tensor: of_tensor,
            standins.Output: of_tensor,
            Unknown: self._of_unknown,
            Instance: self._of_instance,
            Lib: partial(library.lib_attribute, machine),
            Module: self._of_module,
            Class: self._of_class,
            Super: self._of_super,
            Function: self._of_function,
            Native: self._of_native,
            Bound: self._of_bound,
            Method: lambda owner, name: MISSING,
            Stream: lambda owner, name: MISSING,
        }

    def attribute(self, owner: Value, name: str, node: ast.AST | None) -> Value:
        found = self.lookup(owner, name)
        if type(found) is Method and standins.is_network(owner):
            return standins.part_of_network(self.machine, owner, name, node)
        if found is not MISSING and not isinstance(found, Unknown):
            return found
        if found is MISSING and isinstance(owner, Instance) and not name.startswith("__"):
            fallback = self.lookup(owner, "__getattr__")
            if isinstance(fallback, Bound):
                return self.machine.call(fallback, [name], {}, node)
        assumed = self._assumed_attribute(owner, name, node)
        if assumed is not None:
            return assumed
        if found is MISSING and isinstance(owner, Instance):
            return self.machine.attribute_of(owner, name)  # the same each time, until something sets it
        return found if found is not MISSING else self.machine.unknown()

    def _assumed_attribute(self, owner: Value, name: str, node: ast.AST | None) -> Value | None:
        """What an attribute is taken for that nothing assigns, or that something unknown was assigned to."""
        if not isinstance(owner, (Instance, Unknown)) or name.startswith("__"):
            return None
        made = self.machine.assumed.attribute(self.machine, self.machine.frame, node)
        if made is not None and isinstance(owner, Instance):
            owner.attributes[name] = made
        elif made is not None:
            self.machine.unknown_attributes[id(owner), name] = made
            self.machine.kept_alive.append(owner)
        return made

    def lookup(self, owner: Value, name: str) -> Value:
        """An attribute, or MISSING."""
        look = self.table.get(type(owner))
        return look(owner, name) if look is not None else library.plain_attribute(self.machine, owner, name)

    def _of_unknown(self, owner: Unknown, name: str) -> Value:
        if name.startswith("__") and name.endswith("__"):
            return MISSING
        known = self.machine.unknown_attributes.get((id(owner), name), MISSING)
        return known if known is not MISSING else self.machine.attribute_of(owner, name, owner.cut)

    def _of_module(self, owner: Module, name: str) -> Value:
        if name in owner.scope.names:
            return owner.scope.names[name]
        sub = self.machine.submodule(owner, name)
        return sub if sub is not None else MISSING

    def _of_function(self, owner: Function, name: str) -> Value:
        if name in ("__name__", "__qualname__"):
            return owner.name
        if name == "setter" and owner.kind == "property":
            return Native(lambda machine, args, kwargs: _with_setter(owner, args[0]), "setter")
        return owner.attributes.get(name, MISSING)

    def _of_native(self, owner: Native, name: str) -> Value:
        return owner.attributes.get(name, owner.name if name == "__name__" else MISSING)

    def _of_bound(self, owner: Bound, name: str) -> Value:
        if name == "__self__":
            return owner.owner
        return owner.function if name == "__func__" else self.lookup(owner.function, name)

    def _of_instance(self, owner: Instance, name: str) -> Value:
        if name in owner.attributes:
            return owner.attributes[name]
        if name == "__class__":
            return owner.cls
        if name == "__dict__":
            return owner.attributes
        for base in owner.order:
            found = self._from(base, owner, name)
            if found is not MISSING:
                return found
        if owner.opaque and not name.startswith("__"):
            return self.machine.attribute_of(owner, name)
        return MISSING

    def _from(self, base: Value, owner: Value, name: str) -> Value:
        """What one class of an object's order has under a name, taken for that object."""
        if isinstance(base, Class):
            if name not in base.attributes:
                return MISSING
            return self.take_from_class(base.attributes[name], owner, base)
        if isinstance(base, Lib):
            return library.inherited(self.machine, owner, base, name)
        if name.startswith("__"):
            return MISSING
        return self.machine.attribute_of(owner, name)

    def take_from_class(self, value: Value, owner: Value, cls: Class) -> Value:
        if isinstance(value, Function):
            if value.kind == "static":
                return value
            if value.kind == "class":
                return Bound(value, owner.cls if isinstance(owner, Instance) else owner)
            if value.kind in ("property", "cached") and isinstance(owner, Instance):
                result = self.machine.call_function(value, [owner], {})
                if value.kind == "cached":
                    owner.attributes[value.name] = result
                    self.machine.name(result, f"{owner.label or owner.class_name}.{value.name}", "attribute")
                return result
            return Bound(value, owner)
        if isinstance(value, Native) and value.attributes.get("binds"):
            return Bound(value, owner)
        return value

    def _of_class(self, owner: Class, name: str) -> Value:
        if name == "__name__":
            return owner.name
        for base in owner.order:
            if isinstance(base, Class):
                if name in base.attributes:
                    value = base.attributes[name]
                    return Bound(value, owner) if isinstance(value, Function) and value.kind == "class" else value
            elif isinstance(base, Lib):
                found = library.class_attribute(self.machine, owner, base, name)
                if found is not MISSING:
                    return found
            else:
                return self.machine.attribute_of(owner, name)
        return MISSING

    def _of_super(self, owner: Super, name: str) -> Value:
        instance = owner.owner
        order = instance.order if isinstance(instance, (Instance, Class)) else []
        start = order.index(owner.after) + 1 if owner.after in order else len(order)
        for base in order[start:]:
            found = self._from(base, instance, name)
            if found is not MISSING:
                return found
        return Native(lambda machine, args, kwargs: None, name) if name == "__init__" else MISSING


def _with_setter(owner: Function, setter: Value) -> Value:
    owner.attributes["setter"] = setter
    return owner
