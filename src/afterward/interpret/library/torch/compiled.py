"""`torch.compile`: a compiled region is one node of the graph, whatever it has inside."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from afterward.interpret.graph.graph import GraphNode, Tensor, Version
from afterward.interpret.machine.values import Args, Bound, Function, Instance, Kwargs, Native, Value
from afterward.model.life.parts import Saved

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine


# These leave the region, so that what follows is another one: how many there are is not known then.
_LEAVING = frozenset({"item", "tolist", "numpy", "backward", "print", "cpu", "grad", "breakpoint", "graph_break"})


def compile_(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """`torch.compile(model)`, `torch.compile(function)` and the decorators of that name."""
    plain = kwargs.get("disable") is True or kwargs.get("backend", "inductor") not in ("inductor", "aot_eager")
    given = args[0] if args else kwargs.get("model")
    if given is None:
        return Native(lambda m, a, k: compile_(m, a, k | kwargs) if a else m.unknown(), "compile")
    if plain:
        return given
    if isinstance(given, Instance):
        # The compiled module is another object with the same state: the module itself may still be called as it is.
        made = Instance(given.cls)
        made.attributes, made.opaque, made.label = given.attributes, given.opaque, given.label
        made.inner = {**given.inner, "compiled": True}
        return made
    if isinstance(given, (Function, Bound, Native)):
        made_function = Native(lambda m, a, k: region(m, given, lambda: m.call(given, a, k, None)), "compiled")
        made_function.attributes.update(binds=isinstance(given, Function), __wrapped__=given)
        return made_function
    return given


def region(machine: Machine, function: Value, run: Callable[[], Value]) -> Value:
    """Run something compiled: its outputs come out of one node, which keeps all that was saved inside."""
    graph = machine.graph
    before = graph.count
    result = run()
    outputs = [one for one in _tensors(result) if one.node is not None and one.node.number > before]
    if not outputs or not _is_one(function):
        return result
    inside = [n for n in graph.reach(one.node for one in outputs if one.node is not None) if n.number > before]
    node = graph.node("CompiledFunctionBackward")
    node.outputs = len(outputs)
    numbers = {one.number for one in inside}
    edges: dict[tuple[int, int], tuple[GraphNode, int]] = {}
    for one in inside:
        edges.update(
            {(below.number, slot): (below, slot) for below, slot in one.next_functions if below.number not in numbers}
        )
    node.edges = list(edges.values())
    kept = [saved for one in inside for saved in one.takes_out]
    node.saved = tuple(one if isinstance(one.version, Version) and one.version.leaf else Saved(None) for one in kept)
    for slot, output in enumerate(outputs):
        output.node, output.slot, output.base = node, slot, None
    return result


def _tensors(value: Value, depth: int = 0) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif depth < 4:
        parts: list[Value] = []
        if isinstance(value, (list, tuple)):
            parts = list(value)
        elif isinstance(value, dict):
            parts = list(value.values())
        elif isinstance(value, Instance):
            parts = list(value.attributes.values())
        for one in parts:
            yield from _tensors(one, depth + 1)


def _is_one(function: Value) -> bool:
    """Does nothing in the function itself leave the region?"""
    function = function.function if isinstance(function, Bound) else function
    if not isinstance(function, Function):
        return True
    words = {
        one.id if isinstance(one, ast.Name) else one.attr
        for one in ast.walk(function.node)
        if isinstance(one, (ast.Name, ast.Attribute))
    }
    return not words & _LEAVING
