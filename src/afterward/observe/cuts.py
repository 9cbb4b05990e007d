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
    def __init__(
        self, sources: Sources, trail: Sequence[Place], where: Callable[[Place], Where | None]
    ) -> None:
        self.sources = sources
        self.trail = list(trail[-200_000:])
        self.where = where
        self.seen: set[tuple[int, str]] = set()
        self.budget = 2000
        self.found: list[tuple[bool, Cut]] = []  # (did it cut something that had a history?, cut)
        # One entry per execution of a statement: several marks (a call's return) may name the same one.
        self.by_call: dict[int, list[Place]] = {}
        self.children: dict[tuple[int, int], list[int]] = {}
        for place in self.trail:
            mine = self.by_call.setdefault(place.call, [])
            if not mine or mine[-1].moment != place.moment:
                if not mine and place.caller is not None:
                    self.children.setdefault((place.caller.call, place.caller.moment), []).append(place.call)
                mine.append(place)
        # How many nodes each execution of a statement has built, calls included.
        self.built: dict[tuple[int, int], int] = {}
        for call, places in self.by_call.items():
            for place, after in zip(places, places[1:], strict=False):
                self.built[call, place.moment] = after.order_at - place.order_at

    def from_pass(self, late: Pass) -> Cut | None:
        """Follow what the pass was called on; prefer a cut of something that had a history, the nearest first."""
        if late.where is None:
            return None
        level = late.where.levels[-1]
        place = next(
            (p for p in reversed(self.by_call.get(level.call, [])) if p.moment == level.moment), None
        )
        if place is None:
            return None
        self._follow(place, late.receiver)
        certain = [cut for had_history, cut in self.found if had_history]
        return next(iter(certain or [cut for _, cut in self.found]), None)

    def _follow(self, place: Place, only: str = "") -> None:
        """Note the cuts in a statement itself, then in what it called, then in what it read."""
        self.budget -= 1
        statement = self.sources.statement(place.number)
        if statement is None or self.budget < 0:
            return
        self._note_own_cuts(place, statement)
        for call in reversed(
            self.children.get((place.call, place.moment), [])
        ):  # the last call gave the value
            self._follow_call(call)
        names = [name.text for name in reads(statement)]
        if only:
            names = [name for name in names if name in only] or names
        for name in dict.fromkeys(names):
            self._follow_name(name, place)

    def _follow_call(self, call: int) -> None:
        """A called function gives back what its last statement returned."""
        for place in reversed(self.by_call.get(call, [])):
            if isinstance(self.sources.statement(place.number), ast.Return):
                self._follow(place)
                return

    def _follow_name(self, name: str, reader: Place) -> None:
        key = (reader.moment, name)
        if key not in self.seen:
            self.seen.add(key)
            place = self._assigned(name, reader)
            if place is not None:
                self._follow(place)

    def _assigned(self, name: str, reader: Place) -> Place | None:
        """The last execution before the reader of a statement that assigned the name.

        It is looked for in the same call, then in the calls around it (a closure, a parameter); an attribute may
        have been assigned anywhere.
        """
        call: Place | None = reader
        while call is not None:
            for place in reversed(self.by_call.get(call.call, [])):
                if place.moment < call.moment and self._assigns(place, name):
                    return place
            if call.caller is not None and "." not in name and name in self._parameters(call):
                return call.caller
            call = call.caller
        if "." in name:
            earlier = (p for p in reversed(self.trail) if p.moment < reader.moment)
            return next((p for p in earlier if self._assigns(p, name)), None)
        return None

    def _assigns(self, place: Place, name: str) -> bool:
        statement = self.sources.statement(place.number)
        return statement is not None and any(target.text == name for target in targets(statement))

    def _parameters(self, place: Place) -> set[str]:
        """The parameters of the function that a place is in."""
        entry = self.sources.statements.table[place.number]
        statement = self.sources.statement(place.number)
        for outer in self.sources.around(entry.file, statement) if statement is not None else ():
            if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef)):
                every = [*outer.args.posonlyargs, *outer.args.args, *outer.args.kwonlyargs]
                return {argument.arg for argument in every}
        return set()

    def _note_own_cuts(self, place: Place, statement: ast.stmt) -> None:
        spot = self.where(place)
        if spot is None:
            return
        assigned = targets(statement)
        name = assigned[0].text if assigned else ""
        for part in head(statement):
            for node in ast.walk(part):
                how = _cutting(node)
                if how is not None and isinstance(node, (ast.Attribute, ast.Call)):
                    cut = Cut(
                        spot, how, name or _inner_name(node), self.sources.site_of(spot.site.file, node)
                    )
                    self.found.append((self._had_history(place, node), cut))
        mode = self._grad_mode(place, statement, spot, name)
        if mode is not None:
            self.found.append(
                (self.built.get((place.call, place.moment), 0) == 0 and _calls(statement), mode)
            )

    def _had_history(self, place: Place, cut: ast.Attribute | ast.Call) -> bool:
        """Was there a history to cut? Only if a statement that the cut value came from has built nodes."""
        if any(isinstance(node, ast.Call) and node is not cut for node in ast.walk(cut)):
            if self.built.get((place.call, place.moment), 0) > 0:
                return True
        for node in ast.walk(cut):
            if isinstance(node, (ast.Name, ast.Attribute)):
                made = self._assigned(ast.unparse(node), place)
                if made is not None and self.built.get((made.call, made.moment), 0) > 0:
                    return True
        return False

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


def _inner_name(node: ast.Attribute | ast.Call) -> str:
    inner = node.value if isinstance(node, ast.Attribute) else node.func
    return (
        ast.unparse(inner.value)
        if isinstance(node, ast.Call) and isinstance(inner, ast.Attribute)
        else ast.unparse(inner)
    )


def _calls(statement: ast.stmt) -> bool:
    return any(isinstance(node, ast.Call) for part in head(statement) for node in ast.walk(part))


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
    if (
        isinstance(function, ast.Name)
        and function.id in _NUMBERS
        and node.args
        and not _literal(node.args[0])
    ):
        return f"{function.id}(...)"
    return None


def _literal(node: ast.expr) -> bool:
    return all(
        isinstance(n, (ast.Constant, ast.List, ast.Tuple, ast.Load, ast.UnaryOp, ast.USub))
        for n in ast.walk(node)
    )


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


def _mode(node: ast.expr) -> str | None:
    called = node.func if isinstance(node, ast.Call) else node
    name = (
        called.attr
        if isinstance(called, ast.Attribute)
        else called.id
        if isinstance(called, ast.Name)
        else ""
    )
    if name == "set_grad_enabled" and isinstance(node, ast.Call) and node.args and _is_false(node.args[0]):
        return "torch.set_grad_enabled(False)"
    return _MODES.get(name)
