"""Finds where a loss lost its history, by following its value back through the statements that ran."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from afterward.model.history import Cut, Pass
from afterward.model.site import Where
from afterward.observe.replay import Place
from afterward.observe.sources import Sources, head, reads, targets

_METHODS = {
    "detach": ".detach()", "detach_": ".detach_()", "item": ".item()", "tolist": ".tolist()", "numpy": ".numpy()",
    "argmax": ".argmax()", "argmin": ".argmin()", "argsort": ".argsort()", "bool": ".bool()", "long": ".long()",
    "int": ".int()",
}  # fmt: skip
_MAKERS = {"tensor", "as_tensor", "from_numpy", "asarray", "FloatTensor", "Tensor", "LongTensor"}
_MODES = {"no_grad": "torch.no_grad()", "inference_mode": "torch.inference_mode()"}
_NUMBERS = {"float", "int", "bool"}


def find_cut(
    sources: Sources, late: Pass, trail: Sequence[Place], where: Callable[[Place], Where | None]
) -> Cut | None:
    """The cut on the way to the value that a pass was asked to start from; None where none can be shown."""
    return _Search(sources, trail, where).from_pass(late)


class _Search:
    def __init__(self, sources: Sources, trail: Sequence[Place], where: Callable[[Place], Where | None]) -> None:
        self.sources = sources
        self.trail = list(trail[-200_000:])
        self.where = where
        self.seen: set[tuple[int, str]] = set()
        self.budget = 2000
        # One entry per execution of a statement: several marks (a call's return) may name the same one.
        self.by_call: dict[int, list[Place]] = {}
        self.children: dict[tuple[int, int], list[int]] = {}
        for place in self.trail:
            mine = self.by_call.setdefault(place.call, [])
            if not mine or mine[-1].moment != place.moment:
                if not mine and place.caller is not None:
                    self.children.setdefault((place.caller.call, place.caller.moment), []).append(place.call)
                mine.append(place)

    def from_pass(self, late: Pass) -> Cut | None:
        if late.where is None:
            return None
        level = late.where.levels[-1]
        place = next((p for p in reversed(self.by_call.get(level.call, [])) if p.moment == level.moment), None)
        if place is None:
            return None
        found = self._in_statement(place, late.receiver)
        return found

    def _in_statement(self, place: Place, only: str = "") -> Cut | None:
        """Cuts in a statement itself, then in what it called, then in what it read."""
        self.budget -= 1
        statement = self.sources.statement(place.number)
        if statement is None or self.budget < 0:
            return None
        own = self._own_cut(place, statement)
        if own is not None:
            return own
        for call in self.children.get((place.call, place.moment), ()):
            cut = self._in_call(call)
            if cut is not None:
                return cut
        names = [name.text for name in reads(statement)]
        if only:
            names = [name for name in names if name in only] or names
        for name in dict.fromkeys(names):
            cut = self._of_name(name, place)
            if cut is not None:
                return cut
        return None

    def _in_call(self, call: int) -> Cut | None:
        """A called function gives back what its last statement returned."""
        for place in reversed(self.by_call.get(call, [])):
            if isinstance(self.sources.statement(place.number), ast.Return):
                return self._in_statement(place)
        return None

    def _of_name(self, name: str, reader: Place) -> Cut | None:
        """The last statement before the reader that assigned the name: in the same call, or outside of it."""
        key = (reader.moment, name)
        if key in self.seen:
            return None
        self.seen.add(key)
        call: Place | None = reader
        while call is not None:
            for place in reversed(self.by_call.get(call.call, [])):
                if place.moment >= call.moment:
                    continue
                statement = self.sources.statement(place.number)
                if statement is not None and any(target.text == name for target in targets(statement)):
                    return self._in_statement(place)
            if "." not in name:
                parameter = self._argument(name, call)
                if parameter is not None:
                    return parameter
            call = call.caller
        return self._attribute(name, reader) if "." in name else None

    def _attribute(self, name: str, reader: Place) -> Cut | None:
        """An attribute may have been assigned in any call."""
        for place in reversed(self.trail):
            if place.moment < reader.moment:
                statement = self.sources.statement(place.number)
                if statement is not None and any(t.text == name for t in targets(statement)):
                    return self._in_statement(place)
        return None

    def _argument(self, name: str, call: Place) -> Cut | None:
        """The name may be a parameter: then its value came from the calling statement's own names."""
        if call.caller is None:
            return None
        caller = self.sources.statement(call.caller.number)
        if caller is None:
            return None
        return self._in_statement_values(call.caller, caller)

    def _in_statement_values(self, place: Place, statement: ast.stmt) -> Cut | None:
        for name in dict.fromkeys(read.text for read in reads(statement)):
            cut = self._of_name(name, place)
            if cut is not None:
                return cut
        return None

    def _own_cut(self, place: Place, statement: ast.stmt) -> Cut | None:
        spot = self.where(place)
        if spot is None:
            return None
        assigned = targets(statement)
        name = assigned[0].text if assigned else ""
        for part in head(statement):
            for node in ast.walk(part):
                how = _cutting(node)
                if how is not None and isinstance(node, (ast.Attribute, ast.Call)):
                    inner = node.value if isinstance(node, ast.Attribute) else None
                    cut_name = name or (ast.unparse(inner) if inner is not None else "")
                    return Cut(spot, how, cut_name, self.sources.site_of(spot.site.file, node))
        return self._grad_mode(place, statement, spot, name)

    def _grad_mode(self, place: Place, statement: ast.stmt, spot: Where, name: str) -> Cut | None:
        """Is the statement inside `with torch.no_grad()` or a function decorated with it?"""
        entry = self.sources.statements.table[place.number]
        for outer in self.sources.around(entry.file, statement):
            marks: list[ast.expr] = []
            if isinstance(outer, (ast.With, ast.AsyncWith)):
                marks = [item.context_expr for item in outer.items]
            elif isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef)):
                marks = list(outer.decorator_list)
            for mark in marks:
                how = _mode(mark)
                if how is not None:
                    return Cut(spot, how, name, self.sources.site_of(entry.file, mark))
        return None


def _cutting(node: ast.AST) -> str | None:
    """How an expression drops history, if it does."""
    if isinstance(node, ast.Attribute) and node.attr == "data" and isinstance(node.ctx, ast.Load):
        return ".data"
    if not isinstance(node, ast.Call):
        return None
    function = node.func
    if isinstance(function, ast.Attribute):
        if function.attr in _METHODS:
            return _METHODS[function.attr]
        if function.attr in _MAKERS and isinstance(function.value, ast.Name) and node.args:
            return f"{function.value.id}.{function.attr}(...)" if not _literal(node.args[0]) else None
        if function.attr == "requires_grad_" and node.args and _is_false(node.args[0]):
            return ".requires_grad_(False)"
    if isinstance(function, ast.Name) and function.id in _NUMBERS and node.args and not _literal(node.args[0]):
        return f"{function.id}(...)"
    return None


def _literal(node: ast.expr) -> bool:
    return all(isinstance(n, (ast.Constant, ast.List, ast.Tuple, ast.Load, ast.UnaryOp, ast.USub)) for n in ast.walk(node))


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


def _mode(node: ast.expr) -> str | None:
    called = node.func if isinstance(node, ast.Call) else node
    name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
    if name == "set_grad_enabled" and isinstance(node, ast.Call) and node.args and _is_false(node.args[0]):
        return "torch.set_grad_enabled(False)"
    return _MODES.get(name)
