"""What a file does with its names: what is called, iterated over, assigned, handed on, what `backward()` is called on.

A name is known by its scope and its path (`self.model`, `nets['G']`); paths that stand for one value, by assignment
or as argument and parameter, are one.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from afterward.follow.nodes import FUNCTIONS, children
from afterward.interpret.fragments.paths import gone_over, object_of, path_of, place_of, summands

Key = tuple[int, str]  # the id of the scope's node, and the path

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_PUTS = frozenset({"append", "extend", "insert", "add", "appendleft"})
SELF = "self"


@dataclass(slots=True)
class Place:
    """A module, class or function, with the names that are its own."""

    node: ast.AST
    outer: Place | None
    names: set[str] = field(default_factory=set)
    owner: ast.ClassDef | None = None  # of a method
    first: str = ""  # the parameter of a method that is the object

    def key(self, path: str) -> Key:
        """The key of a path that is written in this scope."""
        root = path.split(".", 1)[0].split("[", 1)[0]
        scope: Place | None = self
        while scope is not None and scope.outer is not None:
            if root in scope.names and not isinstance(scope.node, ast.ClassDef):
                if scope.owner is not None and root == scope.first:
                    return id(scope.owner), SELF + path[len(root) :]
                return id(scope.node), path
            scope = scope.outer
        return id(scope.node) if scope is not None else 0, path

    def is_parameter(self, key: Key) -> bool:
        """Is this a parameter of the function, or of one around it? Whoever calls it gives it data."""
        scope: Place | None = self
        while scope is not None:
            if id(scope.node) == key[0] and isinstance(scope.node, _FUNCTIONS):
                return key[1] in _parameters(scope.node)
            scope = scope.outer
        return False


@dataclass(slots=True)
class Written:
    """An expression, and the scope that it stands in."""

    node: ast.expr
    place: Place


class Uses:
    """Collected over one file."""

    def __init__(self, tree: ast.Module) -> None:
        self.calls: dict[Key, list[Written]] = {}
        self.methods: dict[Key, set[str]] = {}
        self.iterated: set[Key] = set()
        self.stepped: set[tuple[Key, Key]] = set()  # what was given to the `step` of what: an optimizer to a scaler's
        self.values: dict[Key, list[Written]] = {}  # what is assigned to it
        self.returns: dict[int, list[Written]] = {}  # by the id of the function
        self.collected: list[Written] = []  # what records are made of: `total += loss`, `outputs.append(output)`
        self.losses: list[Written] = []  # what a pass starts from
        self.retained: set[Key] = set()  # what a pass starts from that keeps its graph
        self.runs_pass: dict[Key, Written] = {}  # `accelerator.backward(loss)`: of the owner, what it is given
        self.functions: dict[Key, ast.AST] = {}  # functions and classes that the file defines
        self.methods_of: dict[int, dict[str, ast.AST]] = {}
        self.places: dict[int, Place] = {}
        self.joined: dict[Key, Key] = {}
        self._groups: dict[Key, list[Key]] = {}
        self.changed_first: set[Key] = set()  # `w -= ...` before anything is assigned to it: it was there
        self.added_to: set[Key] = set()  # `total = total + loss` before anything else is
        self.written_in_place: set[Key] = set()  # `w[0] = ...`, `w += ...`
        self.differentiated: set[Key] = set()  # whose `.grad` is read or set
        self.hands_on: set[int] = set()  # ids of calls that give back a state they were given, beside something else
        self.read: list[tuple[str, Key]] = []
        self.place = Place(tree, None, _own_names(tree.body))
        self.places[id(tree)] = self.place
        self._defined(tree.body)
        for statement in tree.body:
            self.visit(statement)
        self._hand_over()

    def visit(self, node: ast.AST) -> None:
        """One of the methods below, by the kind of the node; else what is in it."""
        method = _VISIT.get(type(node))
        if method is not None:
            method(self, node)
        else:
            self._visit_inner(node)

    def _visit_inner(self, node: ast.AST) -> None:
        for inner in children(node):
            self.visit(inner)

    # One value under several paths

    def one(self, key: Key) -> Key:
        while key in self.joined:
            key = self.joined[key]
        return key

    def _join(self, first: Key, second: Key) -> None:
        first, second = self.one(first), self.one(second)
        if first != second:
            self.joined[first] = second

    def group(self, key: Key) -> list[Key]:
        """All paths that stand for the same value. Asked for when the whole file was gone through."""
        if not self._groups:
            iterated = sorted(self.iterated, key=lambda one: one[1])  # in the same order in every process
            for one in dict.fromkeys((*self.calls, *self.methods, *self.values, *iterated, *self.joined)):
                self._groups.setdefault(self.one(one), []).append(one)
        found = self._groups.get(self.one(key), [])
        return found if key in found else [*found, key]

    # Scopes

    def _defined(self, body: list[ast.stmt]) -> None:
        for node in body:
            if isinstance(node, (*_FUNCTIONS, ast.ClassDef)) and not isinstance(node, ast.Lambda):
                self.functions[self.place.key(node.name)] = node
                if isinstance(node, ast.ClassDef):
                    self.methods_of[id(node)] = {one.name: one for one in node.body if isinstance(one, FUNCTIONS)}

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        outer = self.place
        inner = Place(node, outer, {*_parameters(node), *_own_names(node.body)})
        for name, default in _defaults(node.args):
            path = path_of(default)
            if path is not None:
                self._join(outer.key(path), inner.key(name))
        if isinstance(outer.node, ast.ClassDef):
            inner.owner = outer.node
            static = any(isinstance(one, ast.Name) and one.id == "staticmethod" for one in node.decorator_list)
            inner.first = next(iter(_parameters(node)), "") if not static else ""
        self._inside(inner, node.body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._inside(Place(node, self.place, set()), node.body)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        outer, self.place = self.place, Place(node, self.place, set(_parameters(node)))
        self.places[id(node)] = self.place
        self.returns.setdefault(id(node), []).append(Written(node.body, self.place))
        self.visit(node.body)
        self.place = outer

    def _inside(self, place: Place, body: list[ast.stmt]) -> None:
        outer, self.place = self.place, place
        self.places[id(place.node)] = place
        self._defined(body)
        for statement in body:
            self.visit(statement)
        self.place = outer

    # Statements

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None:
            self.returns.setdefault(id(self.place.node), []).append(Written(node.value, self.place))
        self._visit_inner(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if isinstance(node.value, ast.Call) and isinstance(node.targets[0], ast.Tuple):
            given = {path_of(one) for one in node.value.args}
            back = {path_of(one) for one in node.targets[0].elts}
            if given & back - {None} and back - given:
                self.hands_on.add(id(node.value))
        for target in node.targets:
            if isinstance(node.value, ast.BinOp) and path_of(target) in map(path_of, summands(node.value)):
                self._note_sum(target)
            self._assign(target, node.value)
        self._visit_inner(node)

    def _note_sum(self, target: ast.expr) -> None:
        path = path_of(target)
        key = self.place.key(path) if path is not None else None
        if key is not None and key not in self.values:
            self.added_to.add(key)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._assign(node.target, node.value)
        self._visit_inner(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        owner = node.target.value if isinstance(node.target, ast.Subscript) else None
        written = [self.place.key(path) for one in (owner, node.target) if one and (path := path_of(one)) is not None]
        self.changed_first.update(key for key in written if key not in self.values)
        self.written_in_place.update(written[:1])
        self._note_sum(node.target)
        self._assign(node.target, node.value)
        self.collected.append(Written(node.value, self.place))
        self._visit_inner(node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self._assign(node.target, node.value)
        self._visit_inner(node)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else ()
            for number, one in enumerate(target.elts):
                inner = one.value if isinstance(one, ast.Starred) else one
                self._assign(inner, parts[number] if len(parts) == len(target.elts) else value)
            return
        path = path_of(target)
        if path is None and isinstance(target, ast.Subscript):  # a tensor is made of what is written into it
            path = path_of(target.value)
            if path is not None:
                key = self.place.key(path)
                if key not in self.values:
                    self.changed_first.add(key)
                self.values.setdefault(key, []).append(Written(value, self.place))
                self.written_in_place.add(key)
            return
        if path is None:
            return
        key = self.place.key(path)
        self.values.setdefault(key, []).append(Written(value, self.place))
        same = path_of(object_of(value))
        if same is not None:
            self._join(self.place.key(same), key)

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        for over in gone_over(node.iter):
            path = path_of(over)
            if path is not None:
                self.iterated.add(self.place.key(path))
                self._join_items(path, node.target if over is node.iter else None)
        self._assign(node.target, node.iter)
        self._visit_inner(node)

    def _join_items(self, container: str, item: ast.expr | None) -> None:
        """What is put into a container, or taken from it one by one, is one of its items."""
        path = place_of(item) if item is not None else None
        if path is not None:
            self._join(self.place.key(path), self.place.key(f"{container}[*]"))

    visit_AsyncFor = visit_For

    # Expressions

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.read.append((node.id, self.place.key(node.id)))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        owner = path_of(node.value) if node.attr == "grad" else None
        if owner is not None:
            self.differentiated.add(self.place.key(owner))
        self._visit_inner(node)

    def visit_Call(self, node: ast.Call) -> None:
        path = place_of(node.func)
        if path is not None:
            self.calls.setdefault(self.place.key(path), []).append(Written(node, self.place))
        if isinstance(node.func, ast.Attribute):
            owner = place_of(node.func.value)
            if owner is not None:
                self.methods.setdefault(self.place.key(owner), set()).add(node.func.attr)
            self._pass(node, node.func, path or "")
            if owner is not None and node.func.attr in _PUTS and node.args:  # a list is made of what is put into it
                self.values.setdefault(self.place.key(owner), []).append(Written(node.args[-1], self.place))
                self.collected.append(Written(node.args[-1], self.place))
                self._join_items(owner, node.args[-1])
            given = path_of(node.args[0]) if node.func.attr == "step" and node.args else None
            if given is not None and owner is not None:
                self.stepped.add((self.place.key(owner), self.place.key(given)))
        self._visit_inner(node)

    def _pass(self, node: ast.Call, called: ast.Attribute, path: str) -> None:
        """What a pass starts from: what `backward` is called on, or what it is given."""
        if called.attr == "backward" and not path.startswith("torch."):
            self.losses.append(Written(called.value, self.place))
        owner = path_of(called.value)
        if called.attr == "backward" and owner is not None and any(_retains(one) for one in node.keywords):
            self.retained.add(self.place.key(owner))
        if (called.attr == "backward" and owner is not None) or called.attr == "manual_backward":
            self.losses += [Written(one, self.place) for one in node.args[:1]]
        if called.attr == "backward" and owner is not None and node.args:
            self.runs_pass[self.place.key(owner)] = Written(node.args[0], self.place)
        if path in ("torch.autograd.grad", "autograd.grad", "torch.autograd.backward") and node.args:
            self.losses.append(Written(node.args[0], self.place))
        if path in ("torch.autograd.grad", "autograd.grad") and len(node.args) > 1:
            inputs = map(path_of, getattr(node.args[1], "elts", node.args[1:2]))
            self.differentiated.update(self.place.key(one) for one in inputs if one is not None)

    # Arguments and parameters

    def _hand_over(self) -> None:
        for several in list(self.calls.values()):
            for call in several:
                assert isinstance(call.node, ast.Call)
                function = self.function_called(call)
                if function is not None:
                    self._hand_to(call, call.node, function)

    def function_called(self, call: Written) -> ast.AST | None:
        """The function of the file that a call comes to; of a class, its `__init__`."""
        assert isinstance(call.node, ast.Call)
        path = path_of(call.node.func)
        if path is None:
            return None
        scope, name = call.place.key(path)
        if name == SELF and scope in self.methods_of:  # an object that is called
            return self.methods_of[scope].get("__call__") or self.methods_of[scope].get("forward")
        if name.startswith(f"{SELF}.") and scope in self.methods_of:
            return self.methods_of[scope].get(name[len(SELF) + 1 :])
        place: Place | None = call.place
        while place is not None:
            found = self.functions.get((id(place.node), path))
            if found is not None:
                made = self.methods_of.get(id(found))
                return made.get("__init__") if made is not None else found
            place = place.outer
        return None

    def _hand_to(self, call: Written, node: ast.Call, function: ast.AST) -> None:
        assert isinstance(function, FUNCTIONS)
        place = self.places.get(id(function))
        if place is None:
            return
        names = list(_parameters(function))[1 if place.owner is not None and place.first else 0 :]
        pairs = [*zip(names, node.args, strict=False), *((one.arg, one.value) for one in node.keywords)]
        for name, value in pairs:
            path = path_of(value) if not isinstance(value, ast.Starred) else None
            if name in names and path is not None:
                self._join(call.place.key(path), place.key(name))


def _retains(word: ast.keyword) -> bool:
    return word.arg == "retain_graph" and isinstance(word.value, ast.Constant) and word.value.value is True


_VISIT: dict[type[ast.AST], Callable[[Uses, Any], None]] = {
    kind: getattr(Uses, f"visit_{kind.__name__}")
    for kind in (
        ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.Return, ast.Assign, ast.AnnAssign,
        ast.AugAssign, ast.NamedExpr, ast.For, ast.AsyncFor, ast.Name, ast.Attribute, ast.Call,
    )
}  # fmt: skip


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Iterator[str]:
    spec = node.args
    for one in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs, spec.vararg, spec.kwarg):
        if one is not None:
            yield one.arg


def _defaults(spec: ast.arguments) -> Iterator[tuple[str, ast.expr]]:
    names = [one.arg for one in (*spec.posonlyargs, *spec.args)]
    yield from zip(names[len(names) - len(spec.defaults) :], spec.defaults, strict=True)
    yield from ((one.arg, value) for one, value in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if value)


def _own_names(body: list[ast.stmt]) -> set[str]:
    """What the statements of a scope bind, but for what they declare global."""
    found: set[str] = set()
    foreign: set[str] = set()
    todo: list[ast.AST] = list(body)
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            foreign.update(node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            found.add(node.id)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found.update((one.asname or one.name).split(".")[0] for one in node.names)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found.add(node.name)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif not isinstance(node, ast.Lambda):
            todo.extend(children(node))
    return found - foreign
