"""Context managers and `try`: what is left in the end, however a block is left."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any

from afterward.interpret.machine.part import Part
from afterward.interpret.machine.values import Raised


class Guards(Part):
    """The part of the machine that runs blocks under a context manager or in a `try`."""

    def with_(self, statement: ast.With | ast.AsyncWith) -> Any:
        leaving: list[Callable[[Raised | None], bool]] = []
        try:
            self.machine.effects += 1
            for item in statement.items:
                manager = self.machine.evaluate(item.context_expr)
                value, leave = self.machine.enter_context(manager, item.context_expr)
                leaving.append(leave)
                if item.optional_vars is not None:
                    self.machine.store(item.optional_vars, value)
            left = self.machine.run_block(statement.body)
        except Raised as error:
            swallowed = False
            while leaving:
                swallowed = leaving.pop()(error) or swallowed
            if not swallowed:
                raise
            self._caught(error)
            return None
        except BaseException:
            while leaving:
                leaving.pop()(None)
            raise
        while leaving:
            leaving.pop()(None)
        return left

    def _caught(self, error: Raised) -> None:
        if error.fault is not None:
            self.machine.broken[error.fault].caught = True

    def try_(self, statement: ast.Try) -> Any:
        left: Any = None
        try:
            left = self._guarded(statement)
        except Raised as error:
            handler = self._handler(statement.handlers, error)
            if handler is None:
                raise
            self._caught(error)
            before = self.machine.handled
            self.machine.handled = error.value
            if handler.name:
                self.machine.frame.scope.assign(handler.name, error.value)
            left = self.machine.run_block(handler.body)
            self.machine.handled = before
        finally:
            if statement.finalbody:
                last = self.machine.run_block(statement.finalbody)
                left = last if last is not None else left
        return left

    def _guarded(self, statement: ast.Try) -> Any:
        self.machine.guarded += 1
        self.machine.guarding.append(self.machine.frame.call)
        try:
            left = self.machine.run_block(statement.body)
            return left if left is not None else self.machine.run_block(statement.orelse)
        finally:
            self.machine.guarded -= 1
            self.machine.guarding.pop()

    def _handler(self, handlers: Iterable[ast.ExceptHandler], error: Raised) -> ast.ExceptHandler | None:
        for handler in handlers:
            if handler.type is None:
                return handler
            wanted = self.machine.evaluate(handler.type)
            for one in wanted if isinstance(wanted, tuple) else (wanted,):
                if self.machine.catches(one, error.value):
                    return handler
        return None
