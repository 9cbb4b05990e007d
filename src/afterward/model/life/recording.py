"""The forward pass: what an operation does to the graph.

If no argument needs a gradient, or recording is off, nothing: the result has no history. Otherwise the
table says which nodes come to be. Each takes its number from the clock *before* it asks its arguments for
their edges; asking can make a view's node again, which is then younger than the node that uses it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from afterward.model.life.faults import Fault, Refused, Unmodelled
from afterward.model.life.histories import (
    count_write,
    gradient_edge,
    needs_grad,
    rebase,
    refuse_to_record_write,
)
from afterward.model.life.parts import Edge, Kind, MadeAs, Node, Saved, Tensor
from afterward.model.life.table import NUMBER, OWN, Operation, Pattern
from afterward.model.life.tape import Tape


def apply(tape: Tape, operation: Operation, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Run an operation that makes new tensors, or views."""
    symbol = _symbol_of_call(tape, operation, inputs)
    if tape.region is not None:
        note_outside(tape, inputs)
    nodes, pattern = _record(tape, operation, inputs, symbol)
    results = _results(tape, operation, inputs, symbol)
    if pattern is None:
        cut = _cut(inputs) if tape.answers else ()
        if cut:
            for result in results:
                result.cut_from = cut
        return results
    for result, end in zip(results, pattern.ends, strict=True):
        if end is not None:
            result.node, result.slot = nodes[end[0]], end[1]
    _save_results(tape, pattern, nodes, results)
    return results


def write(tape: Tape, operation: Operation, target: Tensor, arguments: Sequence[Tensor]) -> None:
    """Run an in-place operation: the target's numbers change, and its history with them."""
    inputs = (target, *arguments)
    if target.hidden:
        raise Unmodelled(f"{operation.name} on a view of something that has no name")
    if _is_recorded(tape, inputs):
        refuse_to_record_write(target)
    symbol = _symbol_of_call(tape, operation, inputs)
    nodes, pattern = _record(tape, operation, inputs, symbol)
    count_write(tape, target, symbol)
    if pattern is None:
        if tape.answers:
            target.cut_from = (*target.cut_from, *_cut(arguments))[:32]
        return
    end = pattern.ends[0]
    assert end is not None
    rebase(tape, target, nodes[end[0]])
    _save_results(tape, pattern, nodes, (target,))


@dataclass(frozen=True, slots=True)
class Custom:
    """A Python `autograd.Function`, as far as the graph is concerned."""

    name: str
    saves: tuple[int, ...] = ()  # as in the table: -1, -2 ... an argument, 0, 1 ... a result
    reads: bool = True  # whether its backward looks at `ctx.saved_tensors`
    results: int = 1
    returns: tuple[bool, ...] = (True,)  # for which arguments backward returns more than None
    writes: bool = False  # marks its first argument dirty, and returns it


def call(tape: Tape, function: Custom, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Run a custom function: one node whatever happens inside."""
    symbol = hash((function.name.__len__(), *map(ord, function.name), *(t.symbol for t in inputs)))
    node = None
    if tape.region is not None:
        note_outside(tape, inputs)
    if tape.records and any(map(needs_grad, inputs)):
        edges = [gradient_edge(tape, tensor) for tensor in inputs]  # here, for once, before the number
        node = tape.node(function.name + "Backward", Kind.CUSTOM)
        node.edges = edges
        node.symbol, node.reads, node.returns = symbol, function.reads, function.returns
    if function.writes:
        target = inputs[0]
        if target.base is not None or target.hidden:
            raise Unmodelled("a custom function that writes to a view")
        count_write(tape, target, symbol)
        if node is not None:
            refuse_to_record_write(target)  # too late: the function's forward has run
        # Unrecorded, the function still returns its argument, but without the history.
        is_cut = node is None and needs_grad(target)
        results: tuple[Tensor, ...] = (detach(tape, target) if is_cut else target,)
    else:
        results = tuple(tape.fresh(hash((symbol, i))) for i in range(function.results))
    if node is None:
        for result in results:
            result.cut_from = _cut(inputs)
        return results
    for slot, result in enumerate(results):
        result.node, result.slot = node, slot
    node.saved = tuple(
        _save(tape, inputs[-1 - owner] if owner < 0 else results[owner], owner >= 0) for owner in function.saves
    )
    return results


def note_outside(tape: Tape, inputs: Sequence[Tensor]) -> None:
    """Remember what a checkpointed stretch reads: computed again, it will read it as it is then."""
    if tape.region is not None:
        tape.region.outside.extend(map(Saved, inputs))


def _symbol_of_call(tape: Tape, operation: Operation, inputs: Sequence[Tensor]) -> int:
    if not tape.answers:  # other numbers than any before: nothing asks whether they are the same
        tape.draws += 1
        return tape.draws
    if operation.random:
        tape.draws = hash((tape.draws, operation.code))
        return hash((operation.code, tape.draws, *[tensor.symbol for tensor in inputs]))
    return hash((operation.code, *[tensor.symbol for tensor in inputs]))


def _record(
    tape: Tape, operation: Operation, inputs: Sequence[Tensor], symbol: int
) -> tuple[list[Node], Pattern | None]:
    """Build the nodes, their edges, and what they save of the arguments."""
    if not _is_recorded(tape, inputs):
        return [], None
    needs = tuple([t.needs or t.node is not None or needs_grad(t) for t in inputs])
    pattern = operation.pattern(needs)
    if True in [n and t.node is None and not t.needs for n, t in zip(needs, inputs, strict=True)]:
        pattern = _without_edges(tape, operation, pattern, inputs, needs)
    nodes: list[Node] = []
    for plan in pattern.nodes:
        node = tape.node(plan.name)
        edges: list[Edge] = []
        for edge in plan.edges:
            if edge is None:
                edges.append(None)
            elif edge.__class__ is int:
                edges.append(gradient_edge(tape, inputs[-1 - edge]))
            else:
                index, slot = edge  # type: ignore[misc]
                edges.append((nodes[index], slot))
        node.edges = edges
        node.symbol = hash((symbol, plan.code))
        node.scales = plan.scales
        if plan.saves:
            node.saved = tuple([_save_for(tape, inputs, owner) for owner in plan.saves])
        for tensor in inputs:
            if tensor.cut_from:
                node.cut_from += tensor.cut_from
        nodes.append(node)
    return nodes, pattern


def _is_recorded(tape: Tape, inputs: Sequence[Tensor]) -> bool:
    """With recording on, if an argument needs a gradient; but inference tensors alone never get that far."""
    if not tape.records:
        return False
    for tensor in inputs:
        if tensor.needs or tensor.node is not None or needs_grad(tensor):
            return any(other.version is not None for other in inputs)
    return False


def _without_edges(
    tape: Tape, operation: Operation, pattern: Pattern, inputs: Sequence[Tensor], needs: tuple[bool, ...]
) -> Pattern:
    """An argument may need a gradient for its base's sake and yet lead nowhere: a view made under no_grad.

    The node comes to be all the same, but does not save what only that gradient would have called for.
    """
    leads = []
    for tensor, needed in zip(inputs, needs, strict=True):
        is_stale = tensor.version is not None and tensor.seen != tensor.version.count
        leads.append(needed and (tensor.needs or tensor.node is not None or is_stale))
    if tuple(leads) == needs or len(inputs) == 1:
        return pattern
    reduced = operation.patterns.get(tuple(leads))
    if reduced is None or len(pattern.nodes) != 1 or len(reduced.nodes) != 1:
        if not tape.exact:
            return pattern
        raise Unmodelled(f"{operation.name} on a view that was made under no_grad")
    return Pattern((replace(pattern.nodes[0], saves=reduced.nodes[0].saves),), pattern.ends)


def _save_for(tape: Tape, inputs: Sequence[Tensor], owner: int) -> Saved:
    """A value saved before the results exist: an argument, or something of the operation's own."""
    if owner < 0:
        return _save(tape, inputs[-1 - owner])
    return Saved(None) if owner == NUMBER else tape.save(None)


def _save(tape: Tape, tensor: Tensor, is_result: bool = False) -> Saved:
    if tensor.version is None:
        raise Refused(Fault.INFERENCE_SAVED)
    return tape.save(tensor, is_result)


def _save_results(tape: Tape, pattern: Pattern, nodes: list[Node], results: Sequence[Tensor]) -> None:
    """Saved results are filled in last: they exist, and after a write the version is the new one."""
    for node, plan in zip(nodes, pattern.nodes, strict=True):
        for i, owner in enumerate(plan.saves):
            if 0 <= owner < OWN:
                saved = _save(tape, results[owner], is_result=True)
                node.saved = (*node.saved[:i], saved, *node.saved[i + 1 :])


def _results(tape: Tape, operation: Operation, inputs: Sequence[Tensor], symbol: int) -> tuple[Tensor, ...]:
    if not operation.has_views:
        results = []
        for i, same in enumerate(operation.same):
            results.append(tape.fresh(hash((symbol, i))) if same is None else inputs[same])
        return tuple(results)
    made = []
    for i, owner in enumerate(operation.views):
        if owner is None or owner < 0:
            result = tape.fresh(hash((symbol, i)))
            result.hidden = owner is not None and tape.exact
            made.append(result)
        else:
            made.append(view_of(tape, inputs[owner], operation, i))
    return tuple(made)


def view_of(tape: Tape, parent: Tensor, operation: Operation, index: int) -> Tensor:
    """The part of a tensor that an operation gives as its result of this number."""
    view = tape.handle(parent.storage, parent.version)
    view.path = hash((parent.path, operation.code, index))
    if parent.version is None:
        return view
    view.hidden = parent.hidden
    view.base = parent.base or parent
    view.seen = parent.version.count
    if not tape.watches:
        view.made = MadeAs.IN_INFERENCE
    elif not tape.records:
        view.made = MadeAs.UNDER_NO_GRAD
    elif operation.one_of_many:
        view.made = MadeAs.ONE_OF_MANY
    else:
        view.made = parent.made
    return view


def _cut(inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The histories that end here: those of the arguments, and those cut before that they stand for."""
    cut: tuple[Tensor, ...] = ()
    for tensor in inputs:
        if needs_grad(tensor):
            cut += (tensor,)
        cut += tensor.cut_from
    return cut[:32]


def detach(tape: Tape, tensor: Tensor) -> Tensor:
    """`tensor.detach()`: the same memory and the same counter, no history."""
    result = tape.handle(tensor.storage, tensor.version)
    result.path = tensor.path
    result.cut_from = _cut((tensor,)) if tape.answers else ()
    return result


def data(tape: Tape, tensor: Tensor) -> Tensor:
    """`tensor.data`: the same memory, but a counter of its own, so writes through it go unnoticed."""
    result = detach(tape, tensor)
    if tensor.version is not None:  # what comes from an inference tensor is one
        result.version = tape.fresh(0).version
    return result
