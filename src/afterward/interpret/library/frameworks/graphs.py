"""Graph learning: DGL's graphs with features on nodes and edges, PyG's message passing, and the layers of both."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from afterward.interpret.graph.graph import Tensor
from afterward.interpret.library.torch import ops
from afterward.interpret.machine.values import (
    Args,
    Function,
    Instance,
    Kwargs,
    Lib,
    PartialDict,
    Raised,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine


_FRAMES = ("ndata", "edata", "srcdata", "dstdata")


def is_layer(path: str) -> bool:
    """A layer of `dgl.nn` or `torch_geometric.nn`: it has parameters, and its output depends on them and its input."""
    return path.startswith(("dgl.nn.", "torch_geometric.nn.")) and path.endswith("Conv")


def call_layer(machine: Machine, owner: Instance, args: Args, kwargs: Kwargs) -> Value:
    inputs = [one for one in (*args, *kwargs.values()) if isinstance(one, (Tensor, Unknown))]
    params = [one for one in owner.attributes.values() if isinstance(one, Tensor) and one.is_parameter]
    return ops.generic(machine, f"{owner.class_name}Backward", [*inputs, *params], "own")


# DGL


def make_graph() -> Instance:
    made = Instance(Lib("dgl.DGLGraph"))
    for name in _FRAMES:
        frame = PartialDict()
        frame.partial = True
        made.attributes[name] = frame
    made.attributes["srcdata"] = made.attributes["dstdata"] = made.attributes["ndata"]
    return made


def method(machine: Machine, owner: Instance, name: str, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
    """A method of a DGL graph."""
    if name == "update_all" and len(args) >= 2:
        messages = _messages(machine, owner, args[0])
        _reduce(machine, owner, messages, args[1])
        if len(args) > 2:
            _apply(machine, owner, "ndata", args[2])
        return None
    if name == "apply_edges" and args:
        for key, value in _messages(machine, owner, args[0]).items():
            _put(machine, owner, "edata", key, value)
        return None
    if name == "apply_nodes" and args:
        _apply(machine, owner, "ndata", args[0])
        return None
    if name in ("local_var", "to", "int", "long", "cpu", "clone", "add_self_loop", "remove_self_loop"):
        return _copied(owner) if name in ("local_var", "clone") else owner
    if name == "local_scope":
        return Instance.of_library("dgl.local_scope", graph=owner)
    if name in ("num_nodes", "num_edges", "number_of_nodes", "number_of_edges", "in_degrees", "out_degrees", "edges"):
        return machine.unknown("attr", owner, name)
    machine.escape([owner, *args], kwargs)
    return machine.unknown()


def scope(manager: Instance) -> tuple[Value, Callable[[Raised | None], bool]]:
    """`with graph.local_scope():` the features are as before when it ends."""
    graph = manager.inner["graph"]
    before = {name: dict(graph.attributes[name]) for name in _FRAMES}

    def leave(error: Raised | None) -> bool:
        for name, values in before.items():
            graph.attributes[name].clear()
            graph.attributes[name].update(values)
        return False

    return graph, leave


def _copied(owner: Instance) -> Instance:
    made = make_graph()
    for name in _FRAMES:
        made.attributes[name].update(owner.attributes[name])
    return made


def builtin(path: str, args: Args, kwargs: Kwargs) -> Instance:
    """`dgl.function.copy_u("h", "m")`: what it reads and where it writes."""
    given = [*args, *(value for key, value in kwargs.items() if key != "out"), *_last(kwargs)]
    fields = [one for one in given if isinstance(one, str)]
    return Instance.of_library("dgl.function.Message", name=path.rsplit(".", 1)[-1], fields=fields)


def _last(kwargs: Kwargs) -> Args:
    return [kwargs["out"]] if "out" in kwargs else []


def _messages(machine: Machine, owner: Instance, function: Value) -> dict[str, Value]:
    nodes, edges = owner.attributes["ndata"], owner.attributes["edata"]
    if isinstance(function, Instance) and "fields" in function.inner:
        *fields, out = function.inner["fields"] or [""]
        name = function.inner["name"]
        words = name.removeprefix("copy_").split("_")
        sides = [words[0]] if name.startswith("copy_") else [words[0], words[-1]]
        inputs = [(edges if side == "e" else nodes).get(field) for side, field in zip(sides, fields, strict=False)]
        if not inputs or any(one is None for one in inputs):
            _forget(machine, owner, {})
        known = [one if one is not None else machine.unknown() for one in inputs]
        return {out: ops.generic(machine, "GSDDMMBackward", known, "own")}
    if isinstance(function, Unknown):
        machine.account.lose([nodes, edges])
        return {}
    rows = {"src": _rows(machine, nodes), "dst": _rows(machine, nodes), "data": _rows(machine, edges)}
    batch = Instance.of_library("types.SimpleNamespace", rows)
    result = machine.call(function, [batch], {}, None)
    return dict(result) if isinstance(result, dict) else {}


def _rows(machine: Machine, frame: Value) -> PartialDict:
    """Features of the ends of edges: copies by index."""
    made = PartialDict(
        {k: ops.generic(machine, "GatherRowsBackward", [v], "own") for k, v in frame.items() if isinstance(v, Tensor)}
    )
    made.partial = True
    return made


def _reduce(machine: Machine, owner: Instance, messages: dict[str, Value], function: Value) -> None:
    if isinstance(function, Instance) and "fields" in function.inner:
        fields = function.inner["fields"]
        if len(fields) == 2 and fields[0] in messages:
            value = messages[fields[0]]
            made = ops.generic(machine, "GSpMMBackward", [value], "own")
            _put(machine, owner, "ndata", fields[1], made)
        else:
            _forget(machine, owner, messages)
        return
    if isinstance(function, Unknown):
        machine.account.lose([owner])
        return
    received = {"mailbox": PartialDict(messages), "data": owner.attributes["ndata"]}
    batch = Instance.of_library("types.SimpleNamespace", received)
    result = machine.call(function, [batch], {}, None)
    for key, value in result.items() if isinstance(result, dict) else ():
        made = ops.generic(machine, "ScatterBackward", [value], "own") if isinstance(value, Tensor) else value
        _put(machine, owner, "ndata", key, made)


def _forget(machine: Machine, owner: Instance, messages: dict[str, Value]) -> None:
    """What is done to the features is not known: neither is what they depend on from here."""
    machine.account.lose([*messages.values(), *(owner.attributes[name] for name in _FRAMES)])
    for name in _FRAMES:
        for key in list(owner.attributes[name]):
            owner.attributes[name][key] = machine.unknown()


def _apply(machine: Machine, owner: Instance, frame: str, function: Value) -> None:
    batch = Instance.of_library("types.SimpleNamespace", {"data": owner.attributes[frame]})
    result = machine.call(function, [batch], {}, None)
    for key, value in result.items() if isinstance(result, dict) else ():
        _put(machine, owner, frame, key, value)


def _put(machine: Machine, owner: Instance, frame: str, key: str, value: Value) -> None:
    owner.attributes[frame][key] = value
    machine.name(value, f"{owner.label or 'graph'}.{frame}[{key!r}]", "item")


# PyG


def propagate(machine: Machine, owner: Instance, args: Args, kwargs: Kwargs) -> Value:
    """`MessagePassing.propagate`: `message` gets the rows of the ends, `update` what was gathered at each node."""
    given: dict[str, Value] = {}
    for name, value in kwargs.items():
        source = value[0] if isinstance(value, tuple) and value else value
        given[name] = value
        if isinstance(source, (Tensor, Unknown)):
            given[f"{name}_j"] = ops.generic(machine, "IndexSelectBackward0", [source], "own")
            given[f"{name}_i"] = ops.generic(machine, "IndexSelectBackward0", [source], "own")
    message = _called(machine, owner, "message", given)
    if message is None:
        message = given.get("x_j", machine.unknown())
    gathered = ops.generic(machine, "ScatterAddBackward0", [message], "own")
    updated = _called(machine, owner, "update", given, gathered)
    return updated if updated is not None else gathered


def _called(machine: Machine, owner: Instance, name: str, given: dict[str, Value], *first: Value) -> Value:
    method = machine.lookup(owner, name)
    function = getattr(method, "function", None)
    if not isinstance(function, Function):
        return None
    names = [one.arg for one in function.node.args.args][1 + len(first) :]
    return machine.call(method, [*first, *(given.get(one, machine.unknown()) for one in names)], {}, None)
