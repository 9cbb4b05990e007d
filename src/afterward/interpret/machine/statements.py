"""Executes statements: loops by iterations, branches one way or the other, exceptions as the program raises them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from afterward.interpret.graph import keeping, unused_records
from afterward.interpret.graph.graph import Tensor
from afterward.interpret.machine.budget import LONG, SHORT
from afterward.interpret.machine.core import Frame
from afterward.interpret.machine.iterations import Iterations
from afterward.interpret.machine.part import Part
from afterward.interpret.machine.values import (
    Bound,
    Class,
    Function,
    Instance,
    Iter,
    Lib,
    Method,
    Native,
    Numbers,
    Raised,
    Scope,
    Unknown,
    Unsupported,
    Value,
)
from afterward.model.life.faults import Refused

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine

BREAK, CONTINUE = object(), object()

_COUNTED_TURNS = (60, 12, 5)  # of a range, by how deep the loop lies in others
_FEW_TURNS = (3, 2, 2)
_UNKNOWN_TURNS = (3, 3, 2)
_ELEMENTS = 200  # of a container: its elements may each mean something else


class Return:
    """A function is left with a value."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value


class Statements(Part):
    """The machine: one method per kind of statement."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self.table: dict[type[ast.AST], Callable[[Any], Any]] = {
            ast.Expr: self._expr,
            ast.Assign: self._assign,
            ast.AnnAssign: self._ann_assign,
            ast.AugAssign: self._aug_assign,
            ast.Return: self._return,
            ast.Delete: self._delete,
            ast.Raise: self._raise,
            ast.Assert: self._assert,
            ast.Global: self._global,
            ast.Nonlocal: self._global,
            ast.Break: self._break,
            ast.Continue: self._continue,
            ast.If: machine.branches.if_,
            ast.For: self._loop,
            ast.AsyncFor: self._loop,
            ast.While: self._loop,
            ast.With: machine.guards.with_,
            ast.AsyncWith: machine.guards.with_,
            ast.Try: machine.guards.try_,
            ast.FunctionDef: self._function,
            ast.AsyncFunctionDef: self._function,
            ast.ClassDef: self._class,
            ast.Import: machine.imports.do_import,
            ast.ImportFrom: machine.imports.do_import_from,
        }
        if hasattr(ast, "Match"):
            self.table[ast.Match] = machine.matching.match
        if hasattr(ast, "TryStar"):
            self.table[ast.TryStar] = machine.guards.try_

    def run_block(self, body: list[ast.stmt]) -> Any:
        """Execute statements until one leaves the block; returns how."""
        for statement in body:
            self.machine.at(statement)
            run = self.table.get(type(statement))
            if run is None:
                continue
            try:
                left = run(statement)
            except Unsupported as reason:
                self.machine.gap(str(reason) or "not interpreted", statement)
                self._forget(statement)
                continue
            except Refused as refused:
                self.machine.gap(refused.fault.value, statement)
                raise Raised(Lib("builtins.RuntimeError")) from None
            if left is not None:
                return left
        return None

    def _forget(self, statement: ast.stmt) -> None:
        """What a statement that was not interpreted would have assigned is unknown."""
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self.machine.frame.scope.assign(node.id, self.machine.unknown())

    # Simple statements

    def _expr(self, statement: ast.Expr) -> None:
        self.machine.evaluate(statement.value)

    def _assign(self, statement: ast.Assign) -> None:
        value = self.machine.evaluate(statement.value)
        for target in statement.targets:
            self.machine.store(target, value)

    def _ann_assign(self, statement: ast.AnnAssign) -> None:
        if statement.value is not None:
            self.machine.store(statement.target, self.machine.evaluate(statement.value))

    def _aug_assign(self, statement: ast.AugAssign) -> None:
        target = statement.target
        before = self.machine.evaluate(target)
        if not isinstance(before, (int, float, str, Unknown)):
            self.machine.effects += 1
        operand = self.machine.evaluate(statement.value)
        if isinstance(before, list) and isinstance(statement.op, ast.Add) and isinstance(operand, (list, tuple)):
            self.machine.call(Method(before, "extend"), [operand], {}, statement)
            return
        after = self.machine.binary(statement.op, before, operand, statement, in_place=True)
        if isinstance(target, ast.Subscript) and isinstance(before, Tensor) and after is before:
            owner = self.machine.evaluate(target.value)
            if isinstance(owner, Tensor):
                return  # the view was written to, and its base with it
        self.machine.store(target, after)

    def _return(self, statement: ast.Return) -> Return:
        return Return(self.machine.evaluate(statement.value) if statement.value is not None else None)

    def _delete(self, statement: ast.Delete) -> None:
        self.machine.effects += 1
        for target in statement.targets:
            if isinstance(target, ast.Name):
                scope = self.machine.frame.scope.find(target.id)
                if scope is not None:
                    if scope is not self.machine.frame.scope:
                        self.machine.note_change(scope.names, target.id)
                    scope.names.pop(target.id, None)
            elif isinstance(target, ast.Attribute):
                owner = self.machine.evaluate(target.value)
                if isinstance(owner, Instance):
                    owner.attributes.pop(target.attr, None)
            elif isinstance(target, ast.Subscript):
                owner, key = self.machine.evaluate(target.value), self.machine.evaluate(target.slice)
                try:
                    del owner[key]
                except (TypeError, KeyError, IndexError, ValueError, AttributeError):
                    pass

    def _raise(self, statement: ast.Raise) -> None:
        value = self.machine.evaluate(statement.exc) if statement.exc is not None else self.machine.handled
        if isinstance(value, (Class, Lib)):
            value = self.machine.call(value, [], {}, statement)
        raise Raised(value, getattr(self.machine, "handled_fault", None) if statement.exc is None else None)

    def _assert(self, statement: ast.Assert) -> None:
        value = self.machine.evaluate(statement.test)
        if isinstance(value, Unknown):
            self.machine.effects += 1
            self.machine.decided[id(value)] = True
            self.machine.kept_alive.append(value)

    def _global(self, statement: ast.Global | ast.Nonlocal) -> None:
        scope = self.machine.frame.scope
        self.machine.frame.effects += 1
        for name in statement.names:
            outer: Scope | None = scope.outer
            if isinstance(statement, ast.Nonlocal):
                found = outer.find(name) if outer is not None else None
            else:
                found = scope.module.scope if scope.module is not None else None
            if found is not None and found is not scope:
                scope.shared[name] = found

    def _break(self, statement: ast.Break) -> object:
        return BREAK

    def _continue(self, statement: ast.Continue) -> object:
        return CONTINUE

    # Branches and loops

    def _limit(self, known: bool) -> int:
        depth = min(sum(len(frame.iterations) for frame in self.machine.frames), 2)
        used = self.machine.budget.used
        if used > LONG or not self.machine.graph.records:
            return 2
        if not known:
            return _UNKNOWN_TURNS[depth] if self.machine.choices.leads else _FEW_TURNS[depth]
        return _COUNTED_TURNS[depth] if self.machine.choices.leads and used < SHORT else _FEW_TURNS[depth]

    def _for(self, statement: ast.For | ast.AsyncFor, held: list[Iter]) -> Any:
        over = self.machine.evaluate(statement.iter)
        items = self.machine.iterate(over, statement.iter)
        if items.run is not None and isinstance(statement.iter, ast.Call):
            held.append(items)
        limit = self._limit(items.known)
        counts = isinstance(over, (range, Numbers)) and not _over_indices(statement.iter)
        each = items.known and items.listed and not counts
        if each:
            limit = max(limit, _ELEMENTS)
        count = len(over) if isinstance(over, range) else 0
        iterations = Iterations(self.machine, statement, self._limit(True), count)
        source = items.source
        goes_on = items.known or not _is_range(statement.iter)  # what was filled by another such loop has as many items
        while iterations.number < limit or (goes_on and iterations.shows) or iterations.goes_on() or self._is_asked():
            enough = iterations.number >= 4 and limit <= _COUNTED_TURNS[0] and not iterations.shows
            if enough and self.machine.budget.used > SHORT and not (self._is_asked() or iterations.goes_on()):
                break  # what was to happen has happened
            if not each and iterations.settled() and not self._is_asked():
                break
            try:
                item = next(source)
            except StopIteration:
                break
            if self.machine.assumed.lenient:
                self.machine.assumed.taken(statement.iter, item)
            with iterations:
                self.machine.counted[iterations.entry] = item
                self.machine.at(statement)
                self.machine.store(statement.target, item)
                left = self.run_block(statement.body)
            if left is BREAK:
                return None
            if isinstance(left, Return):
                return left
        iterations.over()
        self.machine.at(statement)
        return self.run_block(statement.orelse)

    def _is_asked(self) -> bool:
        """Is this loop in a generator that `next` takes from? It goes on as long as it is asked."""
        running = self.machine.running
        return bool(running) and running[-1].asked and running[-1].frame is self.machine.frame

    def _loop(self, statement: Any) -> Any:
        before = len(self.machine.passes)
        held: list[Iter] = []
        left = self._while(statement) if isinstance(statement, ast.While) else self._for(statement, held)
        if not self.machine.judged:
            keeping.loop_left(self.machine, before)
            unused_records.note(self.machine, statement)
        for items in held:
            items.run.finish()  # nothing else holds this generator: what it has entered is left now, a grad mode say
        return left

    def _while(self, statement: ast.While) -> Any:
        iterations = Iterations(self.machine, statement, self._limit(True))
        guesses = 0
        while True:
            value = self.machine.evaluate(statement.test)
            known = self.machine.truth(value)
            if known is None:
                guesses += 1
                known = guesses <= self._limit(False) or iterations.shows or iterations.goes_on() or self._is_asked()
            if not known:
                break
            goes_on = iterations.shows or iterations.goes_on()
            enough = iterations.number >= self._limit(guesses == 0) and not goes_on
            if (enough or iterations.settled()) and not self._is_asked():
                iterations.over()
                return None
            with iterations:
                left = self.run_block(statement.body)
            if left is BREAK:
                return None
            if isinstance(left, Return):
                return left
            self.machine.at(statement)
        iterations.over()
        return self.run_block(statement.orelse)

    # Definitions

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        made: Value = self.machine.make_function(node, node.name)
        for decorator in reversed(node.decorator_list):
            made = self.machine.decorate(self.machine.evaluate(decorator), made, decorator)
        self.machine.frame.effects += 1
        self.machine.frame.scope.assign(node.name, made)

    def _class(self, node: ast.ClassDef) -> None:
        bases: list[Value] = []
        for base in node.bases:
            if isinstance(base, ast.Starred):
                bases.append(self.machine.unknown())
                continue
            value = self.machine.evaluate(base)
            bases.append(value if isinstance(value, (Class, Lib)) else self.machine.unknown())
        for keyword in node.keywords:
            self.machine.evaluate(keyword.value)
        made = Class(node.name, bases, node)
        self.machine.frame.effects += 1
        scope = Scope(self.machine.frame.scope, self.machine.frame.scope.module)
        outer = self.machine.frame
        inner = Frame(outer.call, outer.function, outer.file, scope, hidden=True)
        inner.statement, inner.moment, inner.iterations = outer.statement, outer.moment, outer.iterations
        self.machine.frames.append(inner)
        self.machine.class_names.append(node.name)
        try:
            self.run_block(node.body)
        finally:
            self.machine.frames.pop()
            self.machine.class_names.pop()
        made.attributes = scope.names
        for value in scope.names.values():
            function = value.function if isinstance(value, Bound) else value
            if isinstance(function, Native):
                function = function.attributes.get("__wrapped__", function)
            if isinstance(function, Function) and function.cls is None:
                function.cls = made
        self.machine.declare_fields(made, node)
        value = made
        for decorator in reversed(node.decorator_list):
            value = self.machine.decorate(self.machine.evaluate(decorator), value, decorator)
        self.machine.frame.scope.assign(node.name, value)


def _is_range(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"


def _over_indices(node: ast.expr) -> bool:
    """`range(len(things))`: each iteration is about another thing, as in a loop over the things themselves."""
    if not isinstance(node, ast.Call) or not node.args:
        return False
    last = node.args[-1] if len(node.args) < 3 else node.args[1]
    return isinstance(last, ast.Call) and isinstance(last.func, ast.Name) and last.func.id == "len"
