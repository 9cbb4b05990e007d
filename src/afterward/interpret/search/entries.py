"""Functions that nothing in the file calls, though they come to a pass: each is called by itself, as its users would.

Where several call each other, the outermost is called, so that what is around the pass (a loop, an object that lives
on) is there. One without a loop around its pass is called several times: whoever uses it has that loop. Of a pasted
class, the method that sets what another reads is called before it; and where nothing that was pasted comes to a pass,
one starts from what `forward` returns.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from afterward.follow.nodes import FUNCTIONS, inside, kept, of_file
from afterward.interpret import library
from afterward.interpret.graph.graph import Tensor
from afterward.interpret.library.frameworks.driving import iterations, loss_of
from afterward.interpret.library.torch import passes
from afterward.interpret.machine.core import Frame
from afterward.interpret.machine.machine import Machine
from afterward.interpret.machine.values import Bound, Class, Function, Instance, Module, Native, Value
from afterward.interpret.search.unexecuted import words_in
from afterward.model.methods import PASSES

_PASS = re.compile(rb"\.\s*(?:manual_)?(?:backward|grad)\b|\btraining_step\b")
MOST = 30  # functions of one file

Definition = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Entry:
    """A function or method to begin with."""

    function: Definition
    owner: ast.ClassDef | None = None
    comes_to_a_pass: bool = False

    @property
    def name(self) -> str:
        return f"{self.owner.name}.{self.function.name}" if self.owner is not None else self.function.name

    @property
    def is_forward(self) -> bool:
        return self.owner is not None and self.function.name == "forward" and not self.comes_to_a_pass

    @property
    def is_alone(self) -> bool:
        """Says it something where no pass was pasted: a `forward`, or an evaluation?"""
        return self.is_forward or "eval" in _mentioned(self.function)


def entries(tree: ast.Module, text: bytes, executed: set[int], lenient: bool) -> Iterator[Entry]:
    """The functions to call: first those that no other calls, then what was still not come to."""
    if not _PASS.search(text):
        if lenient:
            yield from (one for one in _defined(tree) if one.is_alone and id(one.function) not in executed)
        return
    defined = [one for one in _defined(tree) if id(one.function) not in executed]
    reaching = _reaching(defined)
    called = {name for one in reaching for name in _mentioned(one.function) if name != one.function.name}
    outermost = [one for one in reaching if one.function.name not in called]
    number = 0
    for one in (*outermost, *(one for one in reaching if _calls_backward(one.function))):
        if id(one.function) not in executed and number < MOST:
            number += 1
            yield one
    if lenient:  # a network whose class was copied without what makes it, beside a loop that uses it
        begun = {id(one.function) for one in reaching}
        rest = (one for one in defined if id(one.function) not in begun)
        yield from (one for one in rest if one.is_forward and id(one.function) not in executed)


def _defined(tree: ast.Module) -> Iterator[Entry]:
    for node in (tree, *of_file(tree)):
        for inner in getattr(node, "body", ()) if isinstance(node, (ast.Module, ast.If, ast.Try)) else ():
            if isinstance(inner, FUNCTIONS):
                yield Entry(inner)
            elif isinstance(inner, ast.ClassDef):
                yield from (Entry(one, inner) for one in inner.body if isinstance(one, FUNCTIONS))


def _reaching(defined: list[Entry]) -> list[Entry]:
    """Those with a pass in them, and those that mention one of these."""
    mentioned = {id(one.function): _mentioned(one.function) for one in defined}
    found = {id(one.function) for one in defined if _calls_backward(one.function)}
    grows = True
    while grows:
        names = {one.function.name for one in defined if id(one.function) in found} - PASSES
        more = {id(one.function) for one in defined if mentioned[id(one.function)] & names} | found
        grows = len(more) > len(found)
        found = more
    return [replace(one, comes_to_a_pass=True) for one in defined if id(one.function) in found]


def _calls_backward(function: Definition) -> bool:
    return function.name == "training_step" or bool(_mentioned(function) & PASSES)


_mentioned = kept(words_in)


# Calling one


def enter(machine: Machine, module: Module, entry: Entry) -> None:
    """Call a function of a module that was run as a library."""
    found = _find(module, entry)
    if isinstance(found, Function):
        machine.enter(module, lambda: _call(machine, found, found, []))
    elif isinstance(found, tuple):
        machine.enter(module, lambda: _call_method(machine, entry, *found))


def _find(module: Module, entry: Entry) -> Value:
    """The function, or the class and function, that a definition at the top of a module became."""
    for value in module.scope.names.values():
        if isinstance(value, Function) and value.node is entry.function:
            return value
        if isinstance(value, Class) and value.node is entry.owner:
            for member in value.attributes.values():
                if isinstance(member, Function) and member.node is entry.function:
                    return value, member
    return None


def _call_method(machine: Machine, entry: Entry, cls: Class, member: Function) -> None:
    if member.kind == "static" or cls.derives_from("torch.autograd.Function"):
        return
    frame = machine.frame
    maker = next(
        (one.attributes["__init__"] for one in cls.order if isinstance(one, Class) and "__init__" in one.attributes),
        None,
    )
    given = _arguments(machine, maker, 1) if isinstance(maker, Function) else []
    made = machine.instantiate(cls, given, {}, None)
    if not isinstance(made, Instance):
        return
    made.label = "self"
    machine.assumed.complete(machine, made)
    frame.scope.names[made.label] = made  # so that what it holds is held, under the name that it has in there
    driver = library.driver(made, member)
    if driver is not None:
        machine.call(driver, [], {}, None)
    elif entry.is_forward:
        _train(machine, member, made)
    else:
        setters = _setters(cls, member, made) if machine.assumed.lenient else []
        _call(machine, Bound(member, made), member, [made], setters)


def _call(
    machine: Machine, called: Value, function: Function, bound: list[Value], setters: Iterable[Function] = ()
) -> None:
    """Once, and again and again if its passes are in no loop of its own."""
    machine.frame.statement = machine.frame.statement or function.node  # type: ignore[assignment]
    before_it = [(Bound(one, bound[0]), _arguments(machine, one, 1)) for one in setters]
    standing = _arguments(machine, function, len(bound))
    for _ in iterations(machine):
        before = len(machine.passes)
        for one, given in before_it:
            machine.call(one, _these(machine, given), {}, None)
        returned = machine.call(called, _these(machine, standing), {}, None)
        machine.account.lose([returned])  # whoever calls it may go on with that
        made = machine.passes[before:]
        if not made or any(level.iterations for one in made for level in one.where.levels[1:]):
            return


def _setters(cls: Class, member: Function, made: Instance) -> list[Function]:
    """The methods that set what this one reads and a new object does not have: its users call them first."""
    read = _attributes(member.node, ast.Load) - _attributes(member.node, ast.Store)
    missing = {name for name in read if made.attributes.get(name) is None and name not in cls.attributes}
    others = (one for one in cls.attributes.values() if isinstance(one, Function) and one is not member)
    return [one for one in others if one.name != "__init__" and _attributes(one.node, ast.Store) & missing]


def _attributes(function: ast.AST, context: type[ast.expr_context]) -> set[str]:
    return {
        one.attr
        for one in inside(function)
        if isinstance(one, ast.Attribute) and isinstance(one.ctx, context)
        if isinstance(one.value, ast.Name) and one.value.id == "self"
    }


def _train(machine: Machine, forward: Function, made: Instance) -> None:
    """A pass in every step, from what a module returns. Nothing else is known of these steps: they are no program in
    which something could be missing."""
    machine.frame.statement = machine.frame.statement or forward.node  # type: ignore[assignment]
    machine.assumed.trained.append(made.class_name)
    standing = _arguments(machine, forward, 1)
    for _ in iterations(machine):
        returned = machine.call(Bound(forward, made), _these(machine, standing), {}, None)
        loss = loss_of(machine, returned)
        if isinstance(loss, Tensor):
            passes.backward(machine, [loss], {}, None)
    machine.passes.clear()


def _these(machine: Machine, standing: list[Value]) -> list[Value]:
    return [_again(machine, one, number) for number, one in enumerate(standing)]


def _again(machine: Machine, value: Value, number: int) -> Value:
    """What stands for an object is the same in each call; data is not, but it is the same all through one call."""
    if isinstance(value, (Instance, Native, list)):
        return value
    made = machine.unknown("argument", machine.calls, number)
    made.plain = machine.assumed.lenient  # a pasted function is given data, like a pasted loop
    return made


def _arguments(machine: Machine, function: Function, bound: int) -> list[Value]:
    """Values for the parameters without a default."""
    spec = function.node.args
    names = [one.arg for one in (*spec.posonlyargs, *spec.args)][bound:]
    tree = function.scope.module.tree if function.scope.module is not None else None
    wanted = names[: max(len(names) - len(function.defaults), 0)]
    return [
        machine.assumed.argument(machine, function, name, tree) if tree is not None else machine.unknown()
        for name in wanted
    ]


__all__ = ["Entry", "Frame", "enter", "entries"]
