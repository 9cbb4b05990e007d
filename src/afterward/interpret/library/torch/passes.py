"""Passes: `backward()`, `autograd.grad()`, custom functions; and the record of them that the rules will read."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from afterward.interpret.graph import keeping
from afterward.interpret.graph.graph import BackwardRun, GraphNode, Tensor, Version
from afterward.interpret.history import record
from afterward.interpret.library.torch import module_tree, ops
from afterward.interpret.machine.core import spelled
from afterward.interpret.machine.values import Class, Function, Instance, Iter, Kwargs, Lib, Raised, Stream, Value
from afterward.model.history import BY_GRAD
from afterward.model.life import recording
from afterward.model.life.engine import Root, run_backward, wanted_by
from afterward.model.life.faults import Fault
from afterward.model.life.gradients import ONES
from afterward.model.life.histories import needs_grad
from afterward.model.life.parts import Saved
from afterward.model.life.recording import Custom
from afterward.model.site import Where

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine


_ERRORS = {Fault.SECOND_TIME: "second_backward", Fault.MODIFIED: "inplace"}


@dataclass(slots=True)
class PassMade:
    """A pass that was run."""

    number: int
    where: Where
    moment: int
    roots: list[tuple[GraphNode, int]]
    call: str
    retains: bool
    creates: bool
    used: frozenset[int]
    nested_in: str | None
    leaves: list[Tensor]
    receiver: str
    open: bool = False  # its graph has an input that is not known, and may lead further
    created: tuple[int, ...] = ()  # first and next after last of the nodes that `create_graph=True` made
    stale: list[Tensor] = field(default_factory=list)  # leaves that a step changed after the forward had used them
    overwritten: list[Tensor] = field(default_factory=list)  # leaves that it had saved, and a fused step changed since
    handed: list[Tensor] = field(default_factory=list)  # what `autograd.grad` was asked the gradients of


@dataclass(slots=True)
class StepMade:
    """A step of an optimizer, and the leaves that it changed for certain."""

    where: Where
    moment: int
    optimizer: Instance
    leaves: list[Tensor]


class SavedGone(Exception):
    """A custom function's backward reads saved tensors that were freed."""

    def __init__(self, where: Where) -> None:
        super().__init__()
        self.where = where


def backward(machine: Machine, roots: list[Value], given: Kwargs, node: ast.AST | None) -> Value:
    """`.backward()` and `torch.autograd.backward()`."""
    inputs = given.get("inputs")
    wanted = _tensors(machine, inputs) if inputs is not None else None
    if inputs is not None and wanted is None:
        machine.account.lose(roots)
        machine.account.blind = True
        return None
    _run(machine, roots, "backward", given, wanted, node)
    return None


def grad(machine: Machine, args: list[Value], kwargs: Kwargs, node: ast.AST | None) -> Value:
    """`torch.autograd.grad()`: hands gradients back."""
    names = ["outputs", "inputs", "grad_outputs", "retain_graph", "create_graph", "only_inputs", "allow_unused"]
    given = dict(zip(names, args, strict=False)) | kwargs
    roots = _tensors(machine, given.get("outputs"), unknown=True) or []
    inputs = _tensors(machine, given.get("inputs"))
    if inputs is None:
        machine.gap("the inputs of this pass are not known", node)
        machine.account.lose(roots)
        machine.account.blind = True
        return machine.unknown()
    creates = machine.is_true(given.get("create_graph", False), node)
    walked = _run(machine, roots, "grad", given, inputs, node)
    if walked is None:
        return machine.unknown()
    results: list[Value] = []
    before = machine.graph.count
    leaves = [one.leaf for one in machine.graph.reach(_starts(machine, roots)) if one.leaf is not None]
    for _ in inputs:
        made = Tensor()
        if creates:
            made.node = _derivative(machine, leaves, walked)
        elif machine.graph.records:
            made.cut = machine.cutting(BY_GRAD, node)
        results.append(made)
    if machine.graph.count > before:
        machine.passes[-1].created = (before + 1, machine.graph.count + 1)
    single = not isinstance(given.get("inputs"), (list, tuple, Iter, Stream, dict))
    return results[0] if single and len(results) == 1 else tuple(results)


def _starts(machine: Machine, roots: list[Value]) -> list[GraphNode]:
    edges = (machine.graph.edge(root) for root in roots if isinstance(root, Tensor))
    return [edge[0] for edge in edges if edge is not None]


def _derivative(machine: Machine, leaves: list[Tensor], walked: list[GraphNode]) -> GraphNode:
    """The node of a gradient that can be differentiated: it leads to the parameters, and into the forward pass."""
    edges = (machine.graph.edge(leaf) for leaf in leaves)
    return machine.graph.derivative([*(edge for edge in edges if edge is not None), *_curved(walked)])


def _curved(walked: list[GraphNode]) -> list[tuple[GraphNode, int]]:
    """The nodes of a forward pass that a gradient taken through it is connected to, as far as that is certain."""
    found: list[tuple[GraphNode, int]] = []
    for node in walked:
        inputs = node.next_functions
        for saved in node.takes_out if len(inputs) == 1 else ():  # a derivative is computed from what was saved for it
            if saved.is_result:
                found.append((node, 0))
            elif saved.tensor is not None and needs_grad(saved.tensor):
                found += inputs
    return found


def _tensors(machine: Machine, value: Value, unknown: bool = False) -> list[Value] | None:
    """The tensors in an argument; None where they are not all known."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (Iter, Stream)):
        if isinstance(value, Stream) or not value.known:
            return None
        value = machine.take(value)
    if isinstance(value, (list, tuple)) and (unknown or all(isinstance(one, Tensor) for one in value)):
        return list(value)
    return [value] if unknown else None


def _run(
    machine: Machine, roots: list[Value], call: str, given: Kwargs, inputs: list[Value] | None, node: ast.AST | None
) -> list[GraphNode] | None:
    if "retain_variables" in given:
        machine.stop("`retain_variables` is from before torch 0.2: this call fails today")
    creates = machine.is_true(given.get("create_graph", False), node)
    asked = given.get("retain_graph")
    retains = creates if asked is None else machine.is_true(asked, node)
    known = [root for root in roots if isinstance(root, Tensor)]
    edges = []
    for root in known:
        edge = machine.graph.edge(root)
        if edge is not None:
            edges.append(edge)
    if len(known) < len(roots):
        machine.gap("a pass starts from something unknown", node)
        machine.account.blind = True
    if len(edges) < len(known):  # one root without a history is enough
        _without_graph(machine, [root for root in known if not root.requires_grad], call, node)
        return None
    if not edges:
        return None
    walked = machine.graph.reach(start for start, _ in edges)
    starts = [Root(start, slot, ONES) for start, slot in edges]
    wanted = None
    if inputs is not None:
        asked_for = [machine.graph.edge(one) for one in inputs if isinstance(one, Tensor)]
        wanted = wanted_by(starts, asked_for, capture=call == "grad")
        found = any(wanted.will_visit(one) for one in walked)
        walked = [one for one in walked if one in wanted.needed]
        if not found:  # torch would refuse: the way to them was not followed
            machine.account.blind = True
    made = PassMade(
        len(machine.passes),
        machine.here(),
        machine.graph.tick(),
        edges,
        call,
        retains,
        creates,
        frozenset(one.number for one in walked),
        machine.in_custom[-1] if machine.in_custom else None,
        [one.leaf for one in walked if one.leaf is not None],
        _receiver(node, call),
        any(one.open for one in walked),
    )
    if call == "grad":
        made.handed = [one for one in inputs or () if isinstance(one, Tensor)]
    machine.passes.append(made)
    _look_for_steps_since(machine, made, walked)
    _reduced(machine, made)
    if call == "backward":
        machine.account.before(made)
    outer, machine.graph.custom = machine.graph.custom, lambda one: _custom(machine, one, creates)
    try:
        outcome = run_backward(
            machine.graph, starts, wanted, retain=retains, create=creates, positions=len(inputs or ())
        )
    finally:
        machine.graph.custom = outer
    if outcome.fault is not None:
        error = _ERRORS.get(outcome.fault)
        if error is None:
            machine.stop(outcome.fault.value)
        culprit: GraphNode = outcome.node  # type: ignore[assignment]
        freed = {one.number for one in outcome.freed}
        machine.assumed.foresee(machine)
        done = BackwardRun(walked, error, culprit, culprit.read_in, freed)
        raise Raised(Lib("builtins.RuntimeError"), machine.breaks(record.history(machine, made, done)))
    if call == "backward":
        machine.account.after(made)
        if creates:
            _give_gradients_a_graph(machine, made, walked)
    keeping.look(machine)
    return walked


def _give_gradients_a_graph(machine: Machine, made: PassMade, walked: list[GraphNode]) -> None:
    """`backward(create_graph=True)`: what it adds to `.grad` can itself be differentiated."""
    before = machine.graph.count
    node = _derivative(machine, made.leaves, walked)
    for leaf in made.leaves:
        if isinstance(leaf.grad, Tensor):
            leaf.grad.node = node
    made.created = (before + 1, machine.graph.count + 1)


def _look_for_steps_since(machine: Machine, made: PassMade, walked: list[GraphNode]) -> None:
    """Which leaves of this graph did a step change since the last pass over them, which came after this forward?"""
    before = {
        id(leaf): machine.reached_at[id(leaf)]
        for leaf in made.leaves
        if machine.stepped_at.get(id(leaf), 0) > machine.reached_at.get(id(leaf), made.moment)
    }
    machine.reached_at.update((id(leaf), made.moment) for leaf in made.leaves)
    if not before:
        return
    overwritten: dict[int, Tensor] = {}
    fresh: set[int] = set()  # used by a forward since: whatever else leads to them, an old graph that grew say
    for node in walked:
        fresh |= {
            id(below.leaf)
            for below, _ in node.next_functions
            if node.moment >= before.get(id(below.leaf), node.moment + 1)
        }
        for kept in node.takes_out:
            leaf = kept.version.leaf if isinstance(kept.version, Version) else None
            if leaf is not None and leaf.storage.symbol != kept.symbol and not kept.is_overwritten:
                overwritten[id(leaf)] = leaf
    made.stale = [leaf for leaf in made.leaves if id(leaf) in before and id(leaf) not in fresh]
    made.overwritten = list(overwritten.values())


def _reduced(machine: Machine, made: PassMade) -> None:
    """DistributedDataParallel reduces each parameter once per forward pass; a second time is an error."""
    for reducer in machine.reducers if made.call == "backward" else ():
        inside = {id(leaf) for _, leaf in module_tree.parameters(reducer)}
        reached = {id(leaf) for leaf in made.leaves} & inside
        if reached & reducer.inner["ready"] and not reducer.inner.get("no_sync"):
            history = record.history(machine, made, BackwardRun([], "ddp_ready_twice"))
            raise Raised(Lib("builtins.RuntimeError"), machine.breaks(history))
        reducer.inner["ready"] |= reached


def _without_graph(machine: Machine, roots: list[Tensor], call: str, node: ast.AST | None) -> None:
    """A pass on data. Reported only where it is known which cut took the history away."""
    cut = next((root.cut for root in roots if root.cut is not None), None)
    opened = machine.choices.forced or machine.choices.settings  # a flag has another value than as shipped
    if cut is not None and opened and cut.depth and len(cut.where.levels) < machine.depth():
        machine.account.blind = True  # whoever switched recording off for this call may have left the flag off, too
        return
    if cut is None:
        # Either it fails here, or we have lost track: what follows is not judged by what this pass did.
        machine.gap("a pass starts from a value without history, and it is not known why", node)
        machine.account.blind = True
        return
    made = PassMade(
        len(machine.passes), machine.here(), machine.graph.tick(), [], call, False, False, frozenset(), None, [],
        _receiver(node, call),
    )  # fmt: skip
    machine.passes.append(made)
    raise Raised(Lib("builtins.RuntimeError"), machine.breaks(record.history_of_cut(machine, made, cut)))


def _receiver(node: ast.AST | None, call: str) -> str:
    if isinstance(node, ast.Call):
        if call == "backward" and isinstance(node.func, ast.Attribute) and not node.args:
            return spelled(node.func.value)
        if node.args:
            return spelled(node.args[0])
        if isinstance(node.func, ast.Attribute):
            return spelled(node.func.value)
    return ""


def read_saved(machine: Machine, node: GraphNode) -> None:
    """`tensor.grad_fn._saved_...`: an error, if a pass has freed it."""
    if not node.is_freed:
        return
    made = PassMade(
        len(machine.passes), machine.here(), machine.graph.tick(), [(node, 0)], "read", True, False,
        frozenset({node.number}), None, [], "",
    )  # fmt: skip
    machine.passes.append(made)
    history = record.history(machine, made, BackwardRun([node], "second_backward", node, machine.here()))
    raise Raised(Lib("builtins.RuntimeError"), machine.breaks(history))


# Custom functions


def apply_function(machine: Machine, cls: Class, args: list[Value], kwargs: Kwargs) -> Value:
    """`SomeFunction.apply(...)`."""
    forward = machine.lookup(cls, "forward")
    context = Instance.of_library("torch.autograd.function.FunctionCtx", saved=(), node=None)
    setup = machine.lookup(cls, "setup_context")
    with machine.graph.own_mode():
        machine.graph.records = False
        if isinstance(setup, Function):
            result = machine.call(forward, args, kwargs, None)
            machine.call(setup, [context, tuple(args), result], {}, None)
        else:
            result = machine.call(forward, [context, *args], kwargs, None)
    outputs = list(result) if isinstance(result, tuple) else [result]
    made = ops.without_history(machine, args)
    if made is not None:
        return result if isinstance(made, Tensor) else machine.unknown()
    given = [arg for arg in args if isinstance(arg, Tensor)]
    fresh: tuple[Tensor, ...]
    fresh = recording.call(machine.graph, Custom(cls.name, results=len(outputs)), given)  # type: ignore[assignment]
    node = fresh[0].node
    assert node is not None
    node.custom = (cls, context)
    context.inner["node"] = node
    node.saved = tuple(Saved(one) for one in context.inner["saved"] if isinstance(one, Tensor))
    results: list[Value] = []
    for slot, output in enumerate(outputs):
        handed_on = fresh[slot]
        if any(output is arg for arg in args) and isinstance(output, Tensor):
            handed_on = output.alias()
            handed_on.node, handed_on.slot = node, slot
        results.append(handed_on if isinstance(output, Tensor) else output)
    return tuple(results) if isinstance(result, tuple) else results[0]


def saved_tensors(machine: Machine, context: Instance) -> Value:
    """`ctx.saved_tensors`: freed with the node."""
    node = context.inner.get("node")
    if isinstance(node, GraphNode) and machine.in_custom:
        node.reads = True
        if node.released:
            raise SavedGone(machine.here())
    return tuple(context.inner["saved"])


def _custom(machine: Machine, node: GraphNode, creates: bool) -> None:
    """Run the backward of a custom function: it shows whether it reads what was saved."""
    cls, context = node.custom
    node.reads = False
    method = machine.lookup(cls, "backward")
    if not isinstance(method, Function):
        return
    machine.in_custom.append(cls.name)
    try:
        with machine.graph.own_mode():
            machine.graph.records = creates
            count = max(len(method.node.args.args) - 1, 1)
            machine.call(method, [context, *(Tensor() for _ in range(count))], {}, None)
    except SavedGone as gone:
        node.read_in = gone.where
    finally:
        machine.in_custom.pop()
