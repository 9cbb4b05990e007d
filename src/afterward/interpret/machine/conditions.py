"""Conditional expressions: one value or the other, or neither yet where it does not matter which."""

from __future__ import annotations

import ast

from afterward.interpret.machine.core import is_data
from afterward.interpret.machine.operators import Operators
from afterward.interpret.machine.values import Unknown, Value


class Conditions(Operators):
    """The part of the machine that evaluates `a if test else b`."""

    def _ifexp(self, node: ast.IfExp) -> Value:
        around, self.tested_at = self.tested_at, []
        try:
            value = self.evaluate(node.test)
            known = self.truth(value)
            if known is None:
                if isinstance(node.body, ast.Constant) and isinstance(node.orelse, ast.Constant):
                    either = self._either(value, node.body.value, node.orelse.value)
                    if either is not None:
                        return either
                known = self.decide(value, node.test)
        finally:
            places, self.tested_at = self.tested_at, around
        result = self.evaluate(node.body if known else node.orelse)
        if places:
            self.settle(places, True, not is_data(result))
            for place in places:
                self.choices.sides.setdefault(place, set()).add(known)
        return result

    def _either(self, value: Value, first: object, second: object) -> Value | None:
        """One of two constants: it is decided which when a test comes to it, and mostly none ever does."""
        if first is True and second is False:
            return value if isinstance(value, Unknown) and value.key is not None else None
        if first is False and second is True:
            return self.negation(value) if isinstance(value, Unknown) and value.key is not None else None
        if isinstance(first, str) and isinstance(second, str):
            return self.unknown("either", value, first, second)
        return None
