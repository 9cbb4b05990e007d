"""Finds where a loss lost its history, by following its value back through the statements that ran."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from afterward.follow.crossing import Trail
from afterward.follow.nodes import FUNCTIONS
from afterward.follow.path import Place
from afterward.follow.reading import Name, cut_value, is_literal, parts_run, reads, targets
from afterward.model.history import BY_GRAD, Cut, Pass
from afterward.model.site import Where
from afterward.observe import compat

WhereOf = Callable[[Place], Where | None]

_METHODS = {
    "detach": ".detach()", "detach_": ".detach_()", "item": ".item()", "tolist": ".tolist()", "numpy": ".numpy()",
    "argmax": ".argmax()", "argmin": ".argmin()", "argsort": ".argsort()", "bool": ".bool()", "long": ".long()",
    "int": ".int()",
}  # fmt: skip
SAMPLE = ".sample()"
_MAKERS = {"tensor", "as_tensor", "from_numpy", "asarray", "FloatTensor", "Tensor", "LongTensor"}
_MODES = {"no_grad": "torch.no_grad()", "inference_mode": "torch.inference_mode()"}
_DECIDED = "torch.set_grad_enabled(...)"  # off or on: what is built in there says which
_NUMBERS = {"float", "int", "bool"}


def find_cuts(paths: Trail, late: Pass, trail: Sequence[Place], where: WhereOf) -> tuple[Cut, ...]:
    """The cut on the way to the value that a pass was asked to start from, and those that lie behind it."""
    return _Search(paths, trail, where).from_pass(late)


def cuts_of_history(paths: Trail, late: Pass, trail: Sequence[Place], where: WhereOf) -> list[Cut]:
    """Every cut, on the way to the value that a pass starts from, of something that had a history; nearest first."""
    search = _Search(paths, trail, where)
    search.begin(late)
    return [found.cut for found in search.found if found.had_history]


@dataclass(frozen=True, slots=True)
class _Found:
    had_history: bool  # did it cut something that had one?
    cut: Cut
    node: ast.expr | None = None
    nearer: tuple[Cut, ...] = ()  # cuts between it and the loss, with nothing built in between


class _Search:
    def __init__(self, paths: Trail, trail: Sequence[Place], where: WhereOf) -> None:
        self.paths = paths
        self.sources = paths.sources
        self.trail = trail
        self.where = where
        self.seen: set[tuple[int, str]] = set()
        self.budget = 2000
        self.found: list[_Found] = []
        self.nearer: tuple[Cut, ...] = ()  # of the cuts passed on the way here, those since which nothing was built
        # How many nodes each execution of a statement has built, calls included.
        self.built: dict[tuple[int, int], int] = {}
        for call, places in paths.by_call.items():
            for place, after in pairwise(places):
                self.built[call, place.moment] = after.order_at - place.order_at

    def from_pass(self, late: Pass) -> tuple[Cut, ...]:
        """Follow what the pass was called on; prefer a cut of something that had a history, the nearest first."""
        if not self.begin(late):
            return ()
        if not any(found.had_history for found in self.found):
            self._note_switches()
        certain = [found for found in self.found if found.had_history]
        if not certain:
            return tuple(found.cut for found in self.found[:1])
        first = certain[0].cut
        others = [*certain[0].nearer]
        others += [found.cut for found in certain[1:] if first in found.nearer or _cuts_again(found, certain[0])]
        return (first, *{cut.site: cut for cut in others if cut.site != first.site}.values())

    def begin(self, late: Pass) -> bool:
        """Follow what a pass was called on, where the statement that called it is on record."""
        if late.where is None:
            return False
        level = late.where.levels[-1]
        place = next((p for p in reversed(self.paths.by_call.get(level.call, [])) if p.moment == level.moment), None)
        if place is not None:
            self._follow(place, late.receiver, around=("grad",))
        return place is not None

    def _follow(self, place: Place, only: str = "", around: tuple[str, ...] = (), inner: int | None = None) -> None:
        """Note the cuts in a statement itself, then in what it called, then in what it read.

        `around` names a call in it: what is done with the outcome of that call comes later than the value in question.
        `inner` is that call, where it was the program's own: what it gave back comes later, too.
        """
        self.budget -= 1
        statement = self.sources.statement(place.number)
        if statement is None or self.budget < 0:
            return
        before, known = self.nearer, len(self.found)
        self._note_own_cuts(place, statement, around, only)
        own = self.found[known:]
        building = self.built.get((place.call, place.moment), 0) > 0
        calls = self.paths.children.get((place.call, place.moment), [])
        for call in reversed(calls if inner is None else self._arguments_of(inner, calls)):  # the last gave the value
            passed = tuple(found.cut for found in own if _has_call(found.node))
            self.nearer = (*before, *passed) if passed or not building else ()
            self._follow_call(call)
        names = reads(statement)
        if only:
            names = [name for name in names if name.text in only] or names
        if inner is not None:
            names = [name for name in names if _is_given_to(name.node, around, statement)]
        for name in names:
            passed = tuple(found.cut for found in own if _holds(found.node, name.node))
            self.nearer = (*before, *passed) if passed or not building else ()
            self._follow_name(name, place)
        self.nearer = before

    def _arguments_of(self, inner: int, calls: list[int]) -> list[int]:
        """Of the calls that one statement made, those that may have made an argument of one of them."""
        function = self._function(inner)
        return [call for call in calls if call < inner and self._function(call) != function]

    def _calls_own(self, place: Place, name: str) -> bool:
        calls = self.paths.children.get((place.call, place.moment), [])
        return any(self._function(call).rpartition(".")[2] == name for call in calls)

    def _function(self, call: int) -> str:
        places = self.paths.by_call.get(call, [])
        return self.sources.entry(places[0].number).function if places else ""

    def _follow_call(self, call: int) -> None:
        """A called function gives back what its last statement returned."""
        for place in reversed(self.paths.by_call.get(call, [])):
            if isinstance(self.sources.statement(place.number), ast.Return):
                self._follow(place)
                return

    def _follow_name(self, name: Name, reader: Place) -> None:
        key = (reader.moment, name.text)
        if key not in self.seen:
            self.seen.add(key)
            place = self._assigned(name, reader)
            if place is not None:
                caller = place is reader.caller and place.call != reader.call
                function = self.sources.entry(reader.number).function.rpartition(".")[2]
                self._follow(place, around=(function,) if caller else (), inner=reader.call if caller else None)

    def _assigned(self, name: Name, reader: Place) -> Place | None:
        """Where a name got its value: the last assignment, or the call that passed it as an argument."""
        if name.is_plain and reader.caller is not None and name.text in self.paths.parameters(reader):
            own = [p for p in self.paths.plain.get((reader.call, name.text), []) if p.moment < reader.moment]
            return own[-1] if own else reader.caller
        return self.paths.assigned_before(name, reader)

    def _note_own_cuts(self, place: Place, statement: ast.stmt, around: tuple[str, ...], only: str) -> None:
        spot = self.where(place)
        if spot is None:
            return
        assigned = targets(statement)
        name = only or (assigned[0].text if assigned else "")
        for node in parts_run(statement):
            how = _cutting(node) if not _calls_within(node, around) else None
            if how == SAMPLE and self._calls_own(place, "sample"):
                continue  # what the program's own method does is followed there
            if how is not None and isinstance(node, (ast.Attribute, ast.Call, ast.Compare)):
                cut = Cut(spot, how, name or self._cut_name(place, node), self.sources.site_of(spot.site.file, node))
                self.found.append(_Found(self._had_history(place, node), cut, node, self.nearer))
        mode = self._grad_mode(place, statement, spot, name) or self._mode_of_callers(place, name)
        cuts = self.built.get((place.call, place.moment), 0) == 0 and _calls(statement)
        if mode is not None and (cuts or mode.how != _DECIDED):
            self.found.append(_Found(cuts, mode, nearer=self.nearer))

    def _cut_name(self, place: Place, node: ast.expr) -> str:
        """What was cut: the first name in it that was computed with history, else as it is written."""
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name):
                made = self._assigned(Name(inner.id, inner), place)
                computed = made is not None and self.built.get((made.call, made.moment), 0) > 0
                if made is not None and computed and made is not place.caller:  # which argument that computed is open
                    return inner.id
        return cut_value(node)

    def _note_switches(self) -> None:
        """Nothing on the way cut the value: something was switched off beforehand, and is off still."""
        torch = compat.torch_module()
        for place in reversed(self.trail):
            statement = self.sources.statement(place.number)
            if statement is None:
                continue
            for node in parts_run(statement):
                how = _switched_off(node)
                if how is None or (how == "torch.set_grad_enabled(False)" and torch.is_grad_enabled()):
                    continue
                spot = self.where(place)
                if spot is not None and isinstance(node, (ast.Call, ast.Assign)):
                    name = cut_value(node) if isinstance(node, ast.Call) and how == ".requires_grad_(False)" else ""
                    cut = Cut(spot, how, name, self.sources.site_of(spot.site.file, node))
                    self.found.insert(0, _Found(True, cut))
                    return

    def _had_history(self, place: Place, cut: ast.expr) -> bool:
        """Was there a history to cut? Only if a statement that the cut value came from has built nodes."""
        if isinstance(cut, ast.Call) and _is_given(cut, "use_reentrant"):
            return True  # that of the parameters in what it runs
        if _has_call(cut) and self.built.get((place.call, place.moment), 0) > 0:
            return True
        for node in _with_values(cut):
            if isinstance(node, ast.Name) and self._computed_here(place, node.id):
                return True
            if isinstance(node, (ast.Name, ast.Attribute)) and self._came_with_history(node, place):
                return True
        return False

    def _came_with_history(self, node: ast.expr, reader: Place) -> bool:
        """Has the statement that gave a name its value built nodes; or, of an argument, what it was called with?"""
        made = self._assigned(Name(ast.unparse(node), node), reader)
        if made is None:
            return False
        if self.built.get((made.call, made.moment), 0) > 0 or self._marks_leaf(made):
            return True
        if made is not reader.caller:
            return False
        statement = self.sources.statement(made.number)
        before = self.paths.by_call[reader.call][0].order_at - made.order_at
        given = reads(statement) if statement is not None else []
        return before > 0 or any(self._came_with_history(name.node, made) for name in given)

    def _marks_leaf(self, place: Place) -> bool:
        """Does a statement ask for the gradient of what it makes: `x = x.clone().requires_grad_()`?"""
        statement = self.sources.statement(place.number)
        for call in (node for node in parts_run(statement) if isinstance(node, ast.Call)):
            method = isinstance(call.func, ast.Attribute) and call.func.attr == "requires_grad_"
            if method and not (call.args and _is_false(call.args[0])):
                return True
            if any(word.arg == "requires_grad" and not _is_false(word.value) for word in call.keywords):
                return True
        return False

    def _computed_here(self, place: Place, name: str) -> bool:
        """Does a comprehension in the statement itself go over what it computes, `[v.item() for v in net(x)]`, or over
        what came with history?"""
        statement = self.sources.statement(place.number)
        loops = [node for node in parts_run(statement) if isinstance(node, ast.comprehension)]
        mine = [one for one in loops if any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(one.target))]
        over = [node for one in mine for node in ast.walk(one.iter)]
        builds = self.built.get((place.call, place.moment), 0) > 0
        if builds and any(isinstance(n, (ast.Call, ast.BinOp)) for n in over):
            return True
        return any(isinstance(n, ast.Name) and n.id != name and self._came_with_history(n, place) for n in over)

    def _grad_mode(self, place: Place, statement: ast.stmt, spot: Where, name: str) -> Cut | None:
        """Is the statement inside `with torch.no_grad()` or a function decorated with it?"""
        entry = self.sources.entry(place.number)
        for outer in self.sources.around(entry.file, statement):
            marks: list[ast.expr] = []
            if isinstance(outer, (ast.With, ast.AsyncWith)):
                marks = [item.context_expr for item in outer.items]
            elif isinstance(outer, FUNCTIONS):
                marks = list(outer.decorator_list)
            for mark in marks:
                how = _mode(mark)
                if how is not None:
                    return Cut(spot, how, name, self.sources.site_of(spot.site.file, mark))
        return None

    def _mode_of_callers(self, place: Place, name: str) -> Cut | None:
        """Was the function called where gradients are off, as a closure is by an optimizer's own `step`?"""
        if self.built.get((place.call, place.moment), 0) > 0:
            return None
        caller = place.caller
        while caller is not None:
            statement, spot = self.sources.statement(caller.number), self.where(caller)
            if self._switched_on(place):
                return None
            mode = (
                self._grad_mode(caller, statement, spot, name) if statement is not None and spot is not None else None
            )
            if mode is not None:
                return mode
            place, caller = caller, caller.caller
        return None

    def _switched_on(self, place: Place) -> bool:
        """Is the statement inside `with torch.enable_grad()`?"""
        statement, file = self.sources.statement(place.number), self.sources.entry(place.number).file
        around = self.sources.around(file, statement) if statement is not None else ()
        items = [item.context_expr for outer in around if isinstance(outer, ast.With) for item in outer.items]
        return any("enable_grad" in ast.unparse(item) for item in items)


def _cuts_again(one: _Found, other: _Found) -> bool:
    """Does it cut the same value in the same call: `x.data / x.data.norm()`?"""
    apart = one.cut.where.levels[-1].call != other.cut.where.levels[-1].call
    if one.node is None or other.node is None or apart or _has_call(one.node):
        return False
    return ast.unparse(one.node) == ast.unparse(other.node)


# What these give are numbers, keys and sizes, whatever the tensors in there are: `torch.tensor(sorted(memory))`.
_COUNT = {"len", "range", "sorted"}
_KEYS_AND_SIZES = {"keys", "size", "dim", "numel", "shape", "ndim", "dtype", "device"}


def _with_values(node: ast.AST) -> Iterator[ast.AST]:
    """All of an expression, without what is only counted, sorted or asked for its keys or its size."""
    function = node.func if isinstance(node, ast.Call) else None
    if isinstance(function, ast.Name) and function.id in _COUNT:
        return
    if isinstance(node, ast.Attribute) and node.attr in _KEYS_AND_SIZES:
        return
    yield node
    for inner in ast.iter_child_nodes(node):
        yield from _with_values(inner)


def _holds(outer: ast.expr | None, inner: ast.expr) -> bool:
    return outer is not None and any(node is inner for node in ast.walk(outer))


def _is_given_to(node: ast.expr, functions: tuple[str, ...], statement: ast.stmt) -> bool:
    """Is an expression part of the call of one of these; or is there no such call, by that name, in the statement?"""
    calls = [each for each in parts_run(statement) if isinstance(each, ast.Call)]
    named = [call for call in calls if _name_of(call) in functions]
    return not named or any(_holds(call, node) for call in named)


def _name_of(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _has_call(cut: ast.expr | None) -> bool:
    """Does the expression that is cut call something?"""
    return cut is not None and any(isinstance(node, ast.Call) and node is not cut for node in ast.walk(cut))


def _calls_within(node: ast.AST, names: tuple[str, ...]) -> bool:
    """Does the expression call one of these, itself or within?"""
    return bool(names) and any(_name_of(inner) in names for inner in ast.walk(node) if isinstance(inner, ast.Call))


def switch_of(node: ast.AST) -> tuple[str, ast.expr, str] | None:
    """`p.requires_grad_(flag)` or `p.requires_grad = flag`: how it is told, the flag, and what is switched."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "requires_grad_":
        return (".requires_grad_(False)", node.args[0], ast.unparse(node.func.value)) if node.args else None
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Attribute) and target.attr == "requires_grad":
                return ".requires_grad = False", node.value, ast.unparse(target.value)
    return None


def _switched_off(node: ast.AST) -> str | None:
    """How a call or assignment switches gradients off for what comes after it, if it does."""
    switch = switch_of(node)
    if switch is not None:
        return switch[0] if _is_false(switch[1]) else None
    called = node.func if isinstance(node, ast.Call) and node.args and _is_false(node.args[0]) else None
    is_mode = isinstance(called, ast.Attribute) and called.attr == "set_grad_enabled"
    return "torch.set_grad_enabled(False)" if is_mode else None


def _calls(statement: ast.stmt) -> bool:
    return any(isinstance(node, ast.Call) for node in parts_run(statement))


def _cutting(node: ast.AST) -> str | None:
    """How an expression drops history, if it does."""
    if isinstance(node, ast.Attribute) and node.attr == "data" and isinstance(node.ctx, ast.Load):
        return ".data"
    if isinstance(node, ast.Compare) and not isinstance(node.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn)):
        return "a comparison" if not _compares_words(node) else None
    if not isinstance(node, ast.Call):
        return None
    function = node.func
    if isinstance(function, ast.Attribute):
        if function.attr in _METHODS:
            return _METHODS[function.attr]
        if function.attr == "sample" and not node.args:  # of a distribution; `random.sample(memory, 8)` cuts nothing
            return SAMPLE
        if function.attr in _MAKERS and isinstance(function.value, ast.Name) and node.args:
            return f"{function.value.id}.{function.attr}(...)" if not is_literal(node.args[0]) else None
        if function.attr == "requires_grad_" and node.args and _is_false(node.args[0]):
            return ".requires_grad_(False)"
    called = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if called == "grad" and "autograd" in ast.unparse(function) and not _is_given(node, "create_graph"):
        return BY_GRAD
    if called == "checkpoint" and _is_given(node, "use_reentrant"):
        return "checkpoint(use_reentrant=True)"
    if isinstance(function, ast.Name) and function.id in _NUMBERS and node.args and not is_literal(node.args[0]):
        return f"{function.id}(...)"
    return None


def _compares_words(node: ast.Compare) -> bool:
    """`reduction == "mean"` compares no tensors."""
    sides = (node.left, *node.comparators)
    return any(isinstance(side, ast.Constant) and not isinstance(side.value, (int, float)) for side in sides)


def _is_given(call: ast.Call, flag: str) -> bool:
    """Is a flag passed, as anything but False?"""
    return any(keyword.arg == flag and not _is_false(keyword.value) for keyword in call.keywords)


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


def _mode(node: ast.expr) -> str | None:
    called = node.func if isinstance(node, ast.Call) else node
    name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
    if name == "set_grad_enabled" and isinstance(node, ast.Call) and node.args:
        given = node.args[0]
        return "torch.set_grad_enabled(False)" if _is_false(given) else None if is_literal(given) else _DECIDED
    return _MODES.get(name)
