"""What statements and calls do to objects: attributes and items that are set, and values that leave our sight."""

from __future__ import annotations

import ast

from afterward.interpret import library
from afterward.interpret.fragments.outputs import Output
from afterward.interpret.graph.graph import Tensor
from afterward.interpret.library.python import containers
from afterward.interpret.machine.core import is_data, spelled
from afterward.interpret.machine.operators import as_key
from afterward.interpret.machine.part import Part
from afterward.interpret.machine.values import (
    OWNER,
    Class,
    Function,
    Instance,
    Lib,
    Module,
    ModuleParts,
    Native,
    PartialDict,
    Star,
    Unknown,
    Value,
)


class Effects(Part):
    """The part of the machine that changes objects."""

    def set_attribute(self, owner: Value, name: str, value: Value, node: ast.AST) -> None:
        if is_data(value) and isinstance(owner, Instance) and is_data(owner.attributes.get(name)):
            self.machine.data_effects += 1
        else:
            self.machine.effects += 1
        if isinstance(owner, Tensor):
            library.set_tensor_attribute(self.machine, owner, name, value, node)
        elif isinstance(owner, Instance):
            for base in owner.order:
                held = base.attributes.get(name) if isinstance(base, Class) else None
                if isinstance(held, Function) and held.kind == "property":
                    setter = held.attributes.get("setter")
                    if setter is not None:
                        self.machine.call(setter, [owner, value], {}, node)
                    return
            items = owner.inner.get("items")
            if (
                isinstance(items, dict) and name in items
            ):  # `setattr(layers, "0", ...)` puts it in the place of that layer
                items[name] = value
            elif isinstance(items, list) and name.isdecimal() and int(name) < len(items):
                items[int(name)] = value
            else:
                owner.attributes[name] = value
            label = spelled(node) if isinstance(node, ast.expr) else name
            self.machine.name(value, label, "attribute")
            library.attribute_set(self.machine, owner, name, value)
        elif isinstance(owner, (Class, Function)):
            self.machine.note_change(owner.attributes, name)
            owner.attributes[name] = value
            self.machine.name(value, spelled(node) if isinstance(node, ast.expr) else name, "attribute")
        elif isinstance(owner, Module):
            self.machine.note_change(owner.scope.names, name)
            owner.scope.names[name] = value
        elif isinstance(owner, Unknown):
            if name == "requires_grad" and value is True and isinstance(node, ast.Attribute):
                self.machine.store(node.value, self.machine.graph.leaf())  # a batch that is asked for its gradient
                return
            self.machine.unknown_attributes[id(owner), name] = value
            self.machine.account.lose([value])
            self.machine.kept_alive.append(owner)

    def set_item(self, owner: Value, key: Value, value: Value, node: ast.AST) -> None:
        if is_data(value) and isinstance(owner, (dict, list)) and is_data(owner):
            self.machine.data_effects += 1
        else:
            self.machine.effects += 1
        label = spelled(node) if isinstance(node, ast.expr) else "item"
        if isinstance(owner, Output) and isinstance(key, str):
            owner.parts[key] = value  # a dict, then
            return
        if isinstance(owner, Tensor):
            library.write_item(self.machine, owner, key, value, node)
            return
        if isinstance(owner, Instance):
            library.set_instance_item(self.machine, owner, key, value, node)
        elif isinstance(owner, Native) and isinstance(network := owner.attributes.get(OWNER), Instance):
            network.attributes[f"{owner.name}[{key}]"] = value  # a layer put into a part of a network out of sight
        elif isinstance(owner, ModuleParts) and isinstance(key, str):
            self.set_attribute(owner.module, key, value, node)
        elif isinstance(owner, dict):
            key = as_key(self.machine, key)
            try:
                if isinstance(key, Unknown):
                    self.machine.account.lose([owner, value])
                    for one in list(owner):
                        if not isinstance(one, Unknown):
                            owner[one] = self.machine.unknown()
                    if isinstance(owner, PartialDict):
                        containers.put_under_unknown(self.machine, owner, key, value)
                else:
                    owner[key] = value
            except TypeError:
                pass
        elif isinstance(owner, list) or hasattr(owner, "appendleft"):
            try:
                owner[key] = value
                if isinstance(value, Tensor) and self.machine.frame.iterations:
                    self.machine.renewed[self.machine.frame.iterations[-1].entry] = len(owner)
            except IndexError:  # the loop that filled it was left early
                owner.append(value)
            except (TypeError, ValueError):
                self.machine.account.lose([owner, value])
                if isinstance(key, Unknown):
                    for position in range(len(owner)):
                        owner[position] = self.machine.unknown()
        else:
            self.machine.account.lose([value])  # put where nothing can follow it
            if isinstance(owner, Unknown) and isinstance(value, Tensor) and value.node is not None:
                self.machine.account.mix(value)
        self.machine.name(value, label, "item")

    # What leaves our sight

    def escape(self, args: list[Value], kwargs: dict[str, Value]) -> None:
        """Something unknown was given these: it may have changed what they hold."""
        self.machine.account.lose((*args, *kwargs.values()))
        for value in (*args, *kwargs.values()):
            self._loosen(value, 0)

    def _loosen(self, value: Value, depth: int) -> None:
        if depth > 3:
            return
        if isinstance(value, Star):
            value = value.value
        if isinstance(value, Instance):
            own = not isinstance(value.cls, Lib)  # layers of a library keep no history; what they contain may
            for name, held in list(value.attributes.items()):
                if isinstance(held, Tensor) and held.node is not None and own:
                    value.attributes[name] = self.machine.unknown()
                elif isinstance(held, (list, dict, Instance)):
                    self._loosen(held, depth + 1)
            if library.is_module(value):
                self._loosen(value.inner.get("items"), depth)
        elif isinstance(value, list):
            for position, held in enumerate(value):
                if isinstance(held, Tensor) and held.node is not None:
                    value[position] = self.machine.unknown()
                else:
                    self._loosen(held, depth + 1)
        elif isinstance(value, dict):
            for key, held in list(value.items()):
                if isinstance(held, Tensor) and held.node is not None:
                    value[key] = self.machine.unknown()
                else:
                    self._loosen(held, depth + 1)
