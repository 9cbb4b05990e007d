"""Conditional expressions: one value or the other, or neither yet where it does not matter which."""

from __future__ import annotations

import ast

from afterward.interpret.machine.core import is_data
from afterward.interpret.machine.part import Part
from afterward.interpret.machine.values import Unknown, Value


class Conditions(Part):
    """The part of the machine that evaluates `a if test else b`."""

    def ifexp(self, node: ast.IfExp) -> Value:
        around, self.machine.tested_at = self.machine.tested_at, []
        try:
            value = self.machine.evaluate(node.test)
            known = self.machine.truth(value)
            if known is None:
                if isinstance(node.body, ast.Constant) and isinstance(node.orelse, ast.Constant):
                    either = self._either(value, node.body.value, node.orelse.value)
                    if either is not None:
                        return either
                known = self.machine.decide(value, node.test)
        finally:
            places, self.machine.tested_at = self.machine.tested_at, around
        result = self.machine.evaluate(node.body if known else node.orelse)
        if places:
            self.machine.settle(places, True, not is_data(result))
            for place in places:
                self.machine.choices.sides.setdefault(place, set()).add(known)
        return result

    def _either(self, value: Value, first: object, second: object) -> Value | None:
        """One of two constants: it is decided which when a test comes to it, and mostly none ever does."""
        if first is True and second is False:
            return value if isinstance(value, Unknown) and value.key is not None else None
        if first is False and second is True:
            return self.machine.negation(value) if isinstance(value, Unknown) and value.key is not None else None
        if isinstance(first, str) and isinstance(second, str):
            return self.machine.unknown("either", value, first, second)
        return None
