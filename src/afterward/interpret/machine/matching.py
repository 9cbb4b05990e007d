"""`match` statements."""

from __future__ import annotations

import ast
from typing import Any

from afterward.interpret.graph.graph import Tensor
from afterward.interpret.machine.part import Part
from afterward.interpret.machine.values import Unknown, Value


class Matching(Part):
    """The part of the machine that matches patterns."""

    def match(self, statement: Any) -> Any:
        subject = self.machine.evaluate(statement.subject)
        for case in statement.cases:
            fits = self._fits(case.pattern, subject)
            if fits is None:
                fits = self.machine.decide(self.machine.unknown(), case.pattern)
            if fits and (case.guard is None or self.machine.truth(self.machine.evaluate(case.guard)) is not False):
                return self.machine.run_block(case.body)
        return None

    def _fits(self, pattern: Any, subject: Value) -> bool | None:
        if isinstance(pattern, ast.MatchValue):
            wanted = self.machine.evaluate(pattern.value)
            if isinstance(subject, (Unknown, Tensor)) or isinstance(wanted, Unknown):
                return None
            return bool(wanted == subject)
        if isinstance(pattern, ast.MatchSingleton):
            return None if isinstance(subject, Unknown) else subject is pattern.value
        if isinstance(pattern, ast.MatchAs):
            if pattern.pattern is not None and self._fits(pattern.pattern, subject) is False:
                return False
            if pattern.name:
                self.machine.frame.scope.assign(pattern.name, subject)
            return True if pattern.pattern is None else self._fits(pattern.pattern, subject)
        if isinstance(pattern, ast.MatchOr):
            answers = [self._fits(one, subject) for one in pattern.patterns]
            return True if True in answers else None if None in answers else False
        if isinstance(pattern, ast.MatchSequence) and isinstance(subject, (tuple, list)):
            if len(subject) != len(pattern.patterns):
                return False
            answers = [self._fits(one, part) for one, part in zip(pattern.patterns, subject, strict=True)]
            return False if False in answers else None if None in answers else True
        for node in ast.walk(pattern):
            if isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
                self.machine.frame.scope.assign(node.name, self.machine.unknown())
        return None
