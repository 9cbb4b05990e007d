"""Gives values to names, attributes and items, one by one or unpacked."""

from __future__ import annotations

import ast

from afterward.interpret import library
from afterward.interpret.fragments import standins
from afterward.interpret.graph.graph import Tensor
from afterward.interpret.machine.core import is_data
from afterward.interpret.machine.part import Part
from afterward.interpret.machine.values import Instance, Unknown, Value


class Assigning(Part):
    """The part of the machine that stores."""

    def store(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            frame = self.machine.frames[-1]
            scope = frame.scope
            if type(value) is Unknown:
                value = self._assumed_of(target, scope.names.get(target.id), value)
            if scope.shared and target.id in scope.shared:
                self.machine.note_change(scope.shared[target.id].names, target.id)
                self.machine.effects += 1
                scope.assign(target.id, value)
            else:
                before = scope.names.get(target.id)
                if before is not value:
                    if is_data(value) and is_data(before):
                        frame.data_effects += 1
                    else:
                        frame.effects += 1
                scope.names[target.id] = value
            self.machine.name(value, target.id, "global" if frame.function == "" else "local")
        elif isinstance(target, ast.Attribute):
            owner = self.machine.evaluate(target.value)
            if type(value) is Unknown:
                before = owner.attributes.get(target.attr) if isinstance(owner, Instance) else None
                value = self._assumed_of(target, before, value)
            self.machine.set_attribute(owner, target.attr, value, target)
        elif isinstance(target, ast.Subscript):
            owner, key = self.machine.evaluate(target.value), self.machine.evaluate(target.slice)
            self.machine.set_item(owner, key, value, target)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target.elts, value)
        elif isinstance(target, ast.Starred):
            self.store(target.value, value)

    def _assumed_of(self, target: ast.expr, before: Value, value: Unknown) -> Value:
        made = self.machine.assumed.stored(self.machine, self.machine.frames[-1], target, before, value)
        return value if made is None else made

    def _unpack(self, targets: list[ast.expr], value: Value) -> None:
        if isinstance(value, Unknown):
            for position, target in enumerate(targets):
                part = (
                    self.machine.unknown("item", value, position)
                    if value.key
                    else Unknown(None, value.cut, value.plain)
                )
                self.store(target, part)
            return
        if isinstance(value, standins.Output) and not any(isinstance(one, ast.Starred) for one in targets):
            parts: list[Value] = [value.part(number) for number in range(len(targets))]
        elif isinstance(value, Tensor):
            parts = library.tensor_parts(self.machine, value, len(targets))
        else:
            items = self.machine.iterate(value, None)
            parts = []
            for item in items.source:
                parts.append(item)
                if len(parts) > 300 or (not items.known and len(parts) >= len(targets)):
                    break
        star = next((i for i, one in enumerate(targets) if isinstance(one, ast.Starred)), None)
        if star is not None:
            after = len(targets) - star - 1
            parts = [*parts[:star], parts[star : len(parts) - after], *parts[len(parts) - after :]]
        if len(parts) != len(targets):
            parts = [self.machine.unknown() for _ in targets]
        for target, part in zip(targets, parts, strict=True):
            self.store(target, part)
