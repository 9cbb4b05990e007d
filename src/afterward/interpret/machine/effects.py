"""What statements and calls do to objects: attributes and items that are set, and values that leave our sight."""

from __future__ import annotations

import ast

from afterward.interpret import library
from afterward.interpret.graph.graph import Tensor
from afterward.interpret.machine.core import is_data, spelled
from afterward.interpret.machine.generators import Generators
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
from afterward.interpret.project.sources import Sources


class Effects(Generators):
    """The part of the machine that changes objects."""

    sources: Sources

    def set_attribute(self, owner: Value, name: str, value: Value, node: ast.AST) -> None:
        if is_data(value) and isinstance(owner, Instance) and is_data(owner.attributes.get(name)):
            self.data_effects += 1
        else:
            self.effects += 1
        if isinstance(owner, Tensor):
            library.set_tensor_attribute(self, owner, name, value, node)
        elif isinstance(owner, Instance):
            for base in owner.order:
                held = base.attributes.get(name) if isinstance(base, Class) else None
                if isinstance(held, Function) and held.kind == "property":
                    setter = held.attributes.get("setter")
                    if setter is not None:
                        self.call(setter, [owner, value], {}, node)
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
            self.name(value, label, "attribute")
            library.attribute_set(self, owner, name, value)
        elif isinstance(owner, (Class, Function)):
            self.note_change(owner.attributes, name)
            owner.attributes[name] = value
            self.name(value, spelled(node) if isinstance(node, ast.expr) else name, "attribute")
        elif isinstance(owner, Module):
            self.note_change(owner.scope.names, name)
            owner.scope.names[name] = value
        elif isinstance(owner, Unknown):
            self.unknown_attributes[id(owner), name] = value
            self.account.lose([value])
            self.kept_alive.append(owner)

    def set_item(self, owner: Value, key: Value, value: Value, node: ast.AST) -> None:
        if is_data(value) and isinstance(owner, (dict, list)) and is_data(owner):
            self.data_effects += 1
        else:
            self.effects += 1
        label = spelled(node) if isinstance(node, ast.expr) else "item"
        if isinstance(owner, Tensor):
            library.write_item(self, owner, key, value, node)
            return
        if isinstance(owner, Instance):
            library.set_instance_item(self, owner, key, value, node)
        elif isinstance(owner, Native) and isinstance(network := owner.attributes.get(OWNER), Instance):
            network.attributes[f"{owner.name}[{key}]"] = value  # a layer put into a part of a network out of sight
        elif isinstance(owner, ModuleParts) and isinstance(key, str):
            self.set_attribute(owner.module, key, value, node)
        elif isinstance(owner, dict):
            try:
                if isinstance(key, Unknown):
                    self.account.lose([owner, value])
                    for one in list(owner):
                        owner[one] = self.unknown()
                    if isinstance(owner, PartialDict):
                        owner.partial = True
                else:
                    owner[key] = value
            except TypeError:
                pass
        elif isinstance(owner, list) or hasattr(owner, "appendleft"):
            try:
                owner[key] = value
                if isinstance(value, Tensor) and self.frame.iterations:
                    self.renewed[self.frame.iterations[-1].entry] = len(owner)
            except IndexError:  # the loop that filled it was left early
                owner.append(value)
            except (TypeError, ValueError):
                self.account.lose([owner, value])
                if isinstance(key, Unknown):
                    for position in range(len(owner)):
                        owner[position] = self.unknown()
        else:
            self.account.lose([value])  # put where nothing can follow it
            if isinstance(owner, Unknown) and isinstance(value, Tensor) and value.node is not None:
                self.account.mix(value)
        self.name(value, label, "item")

    unknown_attributes: dict[tuple[int, str], Value]

    # What leaves our sight

    def escape(self, args: list[Value], kwargs: dict[str, Value]) -> None:
        """Something unknown was given these: it may have changed what they hold."""
        self.account.lose((*args, *kwargs.values()))
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
                    value.attributes[name] = self.unknown()
                elif isinstance(held, (list, dict, Instance)):
                    self._loosen(held, depth + 1)
            if library.is_module(value):
                self._loosen(value.inner.get("items"), depth)
        elif isinstance(value, list):
            for position, held in enumerate(value):
                if isinstance(held, Tensor) and held.node is not None:
                    value[position] = self.unknown()
                else:
                    self._loosen(held, depth + 1)
        elif isinstance(value, dict):
            for key, held in list(value.items()):
                if isinstance(held, Tensor) and held.node is not None:
                    value[key] = self.unknown()
                else:
                    self._loosen(held, depth + 1)
