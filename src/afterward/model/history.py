"""The narrow waist: what became of the graph, as plain data that two writers make and everyone reads."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from operator import attrgetter, eq

from afterward.model.built import Built
from afterward.model.gap import Gap as Gap
from afterward.model.gradients import UNSEEN, Entry, GradientLedger
from afterward.model.memory import LineBytes
from afterward.model.operations import COMPILED
from afterward.model.raised import Raised
from afterward.model.site import Site, Where
from afterward.model.timing import Timing
from afterward.model.values import GRADIENT as GRADIENT
from afterward.model.values import Kept as Kept
from afterward.model.values import LeafId as LeafId
from afterward.model.values import NodeId as NodeId
from afterward.model.values import Number as Number
from afterward.model.values import Value as Value

ERRORS = ("second_backward", "inplace", "no_grad", "ddp_ready_twice", "ddp_unfinished", "donated_buffers")


UNKNOWN_OUTPUT = -1


@dataclass(frozen=True, slots=True)
class Edge:
    """One input of a node: the node that made the value, and which of its outputs it is."""

    node: NodeId
    output: int = 0


@dataclass(frozen=True, slots=True)
class Saved:
    """A tensor that a node keeps for its backward. `leaf` names the parameter it is, where that is known."""

    name: str
    state: str = "live"  # "live", "freed" or "overwritten"
    leaf: LeafId | None = None
    bytes: int = 0
    elsewhere: bool = False  # a hook keeps it (checkpointing, offloading): it may be made again when it is needed
    rewritten: str = ""  # what a statement, no optimizer's step, has written to in place since: the memory of this


BY_GRAD = "autograd.grad(...)"  # how a value lost its history that came out of it without `create_graph=True`


@dataclass(frozen=True, slots=True)
class Node:
    """One recorded operation. `moment` is when it was made, on the clock that passes and writes share."""

    id: NodeId
    op: str
    order: int
    moment: int
    where: Where | None = None
    inputs: tuple[Edge, ...] = ()
    saved: tuple[Saved, ...] = ()
    leaf: LeafId | None = None  # an AccumulateGrad node: the leaf it feeds
    bytes: int = 0  # of the memory its value took, by the shape that autograd keeps; 0 for a view
    outputs: int = 1  # of a compiled region, which is one node; 0 where this torch does not tell

    @property
    def is_region(self) -> bool:
        """Is it a compiled region with outputs that may have nothing to do with each other?"""
        return self.op.startswith(COMPILED) and self.outputs != 1

    @property
    def saves(self) -> bool:
        return bool(self.saved)

    @property
    def freed(self) -> bool:
        return bool(self.saved) and any(saved.state == "freed" for saved in self.saved)

    @property
    def overwritten(self) -> bool:
        return any(saved.state == "overwritten" for saved in self.saved)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A tensor that gradients are accumulated into, by the dotted name the program gives it."""

    id: LeafId
    name: str
    optimizers: tuple[str, ...] = ()
    replicated: bool = False  # DistributedDataParallel keeps it alike on all ranks
    unchanged: bool = False  # passes reached it, no optimizer was seen to hold it, and at each look it was the same
    taken: Where | None = (
        None  # the statement that puts it into a graph, of the last pass for a leaf no optimizer holds
    )
    # Of what an optimizer holds, and of what stands in its place:
    shape: tuple[int, ...] | None = None
    trains: bool = True  # it asked for gradients when it was last looked at
    met: bool = True  # some pass has reached it, or it had a gradient
    moved: bool = False  # it got other values
    followed: bool = True  # nothing that is not seen can reach it
    recorded: bool = False  # something was computed from it with a graph
    module: str = ""  # whose parameters the program asked for, and got this one among them
    assigned: Site | None = None  # the statement that last gave a value to the name that holds it
    constructed: bool = False  # that stands in an `__init__`


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a larger tensor, without a graph, that a layer took one by one in what a pass goes through."""

    tensor: int  # which one; rows of another shape have another number
    at: frozenset[int]  # where they lie in it
    of: int  # how many such rows lie in it
    site: Site  # the statement that takes them
    loop: Site  # whose iterations, or the comprehension that, took them; calling no function of the program's
    name: str = ""  # what that statement gives its value to
    nodes: int = 0  # of the pass
    apart: bool = True  # no use of a parameter leads to another use of the same one


@dataclass(frozen=True, slots=True)
class Pass:
    """One run of the engine: a call of `.backward()` or of `autograd.grad()`.

    `used` holds the recorded nodes that it walked; None where it was not looked at.
    """

    id: int
    where: Where | None
    moment: int
    roots: tuple[Edge, ...] = ()
    call: str = "backward"  # or "grad"
    retains_graph: bool = False
    creates_graph: bool = False
    used: frozenset[NodeId] | None = None
    nested_in: str | None = None  # the custom function whose backward made this call
    read_in: Where | None = None  # the statement of a custom function's backward that met the error
    error: str | None = None
    message: str = ""
    caught: bool = False
    bytes: int = 0  # of saved values it found
    nodes: int = 0  # that it walked, those that are gone since too, where anyone looked
    optimizers: frozenset[str] | None = None  # whose parameters it reached, where anyone looked
    receiver: str = ""  # what it was called on, as the program writes it
    reads: frozenset[str] = frozenset()  # the names that the statements on the way to it read
    # The optimizers that the function of a broken pass steps before its next pass; "" stands for one not at hand.
    trains: frozenset[str] = frozenset()
    window: int = 0  # passes of one window were all looked at, one after the other
    reached: frozenset[LeafId] = frozenset()
    asked: frozenset[LeafId] = frozenset()  # leaves whose gradients `autograd.grad` returned
    stale: frozenset[LeafId] = frozenset()  # leaves that a step changed after the forward had used them
    # Leaves that its graph had saved and that a step changed since; torch does not notice a fused optimizer's writes.
    overwritten: frozenset[LeafId] = frozenset()
    value: float | None = None  # of the loss that it starts from, where somebody looked
    clock: float | None = None  # seconds into the watch as it began, where somebody looked
    released: float | None = None  # and when the program dropped what it started from, of one that keeps its graph
    still_held: bool = False  # what it started from was alive when the record ended
    by_library: bool = False  # a library keeps the graph on its own account, as `torch.func` does
    # The calls of a library between the program's own statement and the engine; None where it was not looked at.
    through: tuple[str, ...] | None = None
    reduced: frozenset[LeafId] = frozenset()  # leaves whose gradients DistributedDataParallel reduces across ranks
    parameter: str = ""  # the parameter that torch names in the error
    searched: bool = False  # its DistributedDataParallel module searches each forward pass for unused parameters
    nested: bool = False  # it ran inside of another pass, as a checkpoint's does
    count: int = 0  # of the passes of its kind (`backward` or `grad`), up to this one, those that are forgotten too
    rows: Rows | None = None
    open: bool = False  # it goes on to where it was not followed
    created: tuple[NodeId, ...] = ()  # first and next after last of the nodes that `create_graph=True` made


@dataclass(frozen=True, slots=True)
class Optimizer:
    """One optimizer, by the name the program has for it, and the leaves it holds (those that are known by number)."""

    id: int
    name: str
    leaves: frozenset[LeafId] = frozenset()
    step_not_run: bool = False  # the program has a statement that steps it, which was not executed
    followed: bool = False  # what it holds is known up to its end
    hidden: int = 0  # parameters that it holds besides, out of sight
    of_torch: bool = True  # a step of it changes nothing without a gradient
    had_gradient: bool = False  # some parameter of it had a gradient when it was looked at
    still: int = 0  # of its steps, up to the last one, that changed nothing
    gone: int | None = None  # the moment when the program dropped it
    unread: bool = False  # no statement of the program reads the name that it was given


@dataclass(frozen=True, slots=True)
class Step:
    """One step of an optimizer: an in-place write to the leaves it holds."""

    where: Where | None
    moment: int
    optimizer: str
    leaves: frozenset[LeafId] = frozenset()
    unnoticed: bool = False  # a fused optimizer's: torch does not notice its writes, and raises nothing
    owner: int = -1  # the optimizer's identity, where it is known
    id: int = -1  # by which the gradient ledger speaks of it


@dataclass(frozen=True, slots=True)
class Write:
    """An in-place write, other than an optimizer's, to something that a node had saved."""

    where: Where
    moment: int
    target: str
    leaf: LeafId | None = None
    sure: bool = True  # seen to share memory with what was saved; else the only write in question
    how: str = ""  # what makes a module write on being called, where no statement says it: `inplace=True`, `max_norm`


@dataclass(frozen=True, slots=True)
class Cut:
    """The place where a value lost its history, and how: `detach`, `no_grad`, `torch.tensor`, ..."""

    where: Where
    how: str
    name: str
    site: Site
    leaves: frozenset[LeafId] = frozenset()  # what was computed from these lost its history there


@dataclass(frozen=True, slots=True)
class Fed:
    """What one pass returned, without a graph, went into what a later pass starts from."""

    early: int
    late: int
    name: str = ""  # by which it was added, where it was added to a sum
    where: Where | None = None  # the statement that added it
    linear: bool = True  # what the later pass starts from is linear in it


@dataclass(frozen=True)
class History:
    """Nodes, passes, steps, writes and gaps of one program, in order.

    `observed` tells a real run from an interpreted one: the wording of a finding depends on it.
    """

    nodes: tuple[Node, ...] = ()
    passes: tuple[Pass, ...] = ()
    steps: tuple[Step, ...] = ()
    writes: tuple[Write, ...] = ()
    cuts: tuple[Cut, ...] = ()
    leaves: tuple[Leaf, ...] = ()
    optimizers: tuple[Optimizer, ...] = ()
    gradients: tuple[Entry, ...] = ()  # the gradient ledger, of the passes and steps that were looked at
    values: tuple[Value, ...] = ()
    built: Built = field(default_factory=Built)  # by statement and execution
    kept: tuple[Kept, ...] = ()
    numbers: tuple[Number, ...] = ()  # that passes which were looked at did not use
    timings: tuple[Timing, ...] = ()  # of the statements that ran again and again at the beginning of a run
    largest: tuple[LineBytes, ...] = ()  # of the pass looked at whose graph had saved most, line by line
    raised: tuple[Raised, ...] = ()  # an error of autograd that no pass over a used-up graph raised
    gaps: tuple[Gap, ...] = ()
    observed: bool = True
    fed: tuple[Fed, ...] = ()
    # (pass, pass): the second is called on the expression of the first, and nothing that it reads was assigned between.
    repeats: frozenset[tuple[int, int]] = frozenset()

    @cached_property
    def _by_id(self) -> dict[NodeId, Node] | tuple[Node, ...]:
        """The nodes by their numbers. Those of a failing graph are numbered as they stand, and may be a million."""
        if all(map(eq, map(attrgetter("id"), self.nodes), count())):
            return self.nodes
        return {node.id: node for node in self.nodes}

    @cached_property
    def _ids(self) -> Container[NodeId]:
        return range(len(self.nodes)) if isinstance(self._by_id, tuple) else self._by_id.keys()

    @cached_property
    def _leaf_by_id(self) -> dict[LeafId, Leaf]:
        return {leaf.id: leaf for leaf in self.leaves}

    @cached_property
    def ledger(self) -> GradientLedger:
        """The gradient ledger, replayed: what each step used, and what became of what each pass produced."""
        return GradientLedger(self.gradients)

    @cached_property
    def _pass_by_id(self) -> dict[int, Pass]:
        return {run.id: run for run in self.passes}

    @cached_property
    def _step_by_id(self) -> dict[int, Step]:
        return {step.id: step for step in self.steps}

    @cached_property
    def complete_from(self) -> int:
        """The place of the first pass from which on all were looked at and none is forgotten."""
        place, later = len(self.passes), dict[str, int]()
        for run in reversed(self.passes):
            follows = later.get(run.call) in (None, 0, run.count + 1)
            if run.used is None or not follows:
                break
            later[run.call] = run.count
            place -= 1
        return place

    def run(self, number: int) -> Pass:
        """The pass of this number."""
        return self._pass_by_id[number]

    def step(self, number: int) -> Step:
        """The step of this number."""
        return self._step_by_id[number]

    def since(self, moment: int) -> History:
        """The part of this history that begins at a moment: what passes and steps before it left is not known."""
        passes = tuple(run for run in self.passes if run.moment >= moment)
        steps = tuple(step for step in self.steps if step.moment >= moment)
        runs, numbers = {run.id for run in passes}, {step.id for step in steps}
        early = [
            at
            for at, entry in enumerate(self.gradients)
            if (entry.run >= 0 and entry.run not in runs) or (entry.step >= 0 and entry.step not in numbers)
        ]
        later = self.gradients[early[-1] + 1 :] if early else self.gradients
        return replace(
            self,
            passes=passes,
            steps=steps,
            gradients=(Entry(UNSEEN), *later) if early else later,
            built=self.built.since(moment),
            fed=tuple(one for one in self.fed if {one.early, one.late} <= runs),
            numbers=tuple(one for one in self.numbers if one.run in runs),
        )

    def node(self, node_id: NodeId) -> Node:
        return self._by_id[node_id]

    def leaf(self, leaf_id: LeafId) -> Leaf:
        return self._leaf_by_id[leaf_id]

    def knows(self, node_id: NodeId) -> bool:
        return node_id in self._ids

    def broken_passes(self) -> Iterator[Pass]:
        """The passes that raised one of the errors we explain."""
        return (run for run in self.passes if run.error is not None)

    def errors(self) -> Iterator[str]:
        """The names of the errors of autograd that this history tells of."""
        yield from (run.error for run in self.broken_passes() if run.error is not None)
        yield from (one.page.replace("-", "_") for one in self.raised)

    def reached(self, starts: Iterable[NodeId], within: frozenset[NodeId] | None = None) -> frozenset[NodeId]:
        """Every node that a walk from these nodes meets."""
        seen: set[NodeId] = set()
        todo = [start for start in starts if start in self._ids]
        while todo:
            current = todo.pop()
            if current in seen or (within is not None and current not in within):
                continue
            seen.add(current)
            todo.extend(edge.node for edge in self._by_id[current].inputs if edge.node in self._ids)
        return frozenset(seen)

    def walk_of(self, run: Pass) -> frozenset[NodeId]:
        """The nodes a pass walks, or would have walked had it not failed."""
        return run.used if run.used is not None else self.reached(edge.node for edge in run.roots)

    def leaves_under(self, nodes: Iterable[NodeId]) -> frozenset[LeafId]:
        return frozenset(leaf for leaf in (self._by_id[n].leaf for n in nodes if n in self._ids) if leaf is not None)

    def optimizers_of(self, leaves: Iterable[LeafId]) -> frozenset[str]:
        return frozenset(name for leaf in leaves for name in self.leaf(leaf).optimizers)

    def feeds(self, early: Pass | None, late: Pass) -> bool:
        """Did what the first pass returned, without a graph, go into what the second starts from?"""
        return early is not None and any((one.early, one.late) == (early.id, late.id) for one in self.fed)

    def steps_between(self, earlier: int, later: int) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if earlier < step.moment < later)
