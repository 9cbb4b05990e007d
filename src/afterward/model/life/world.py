"""The model's front door: a world of tensors, a graph behind them, and passes over it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from zlib import crc32

from afterward.model.life import recording
from afterward.model.life.engine import Outcome, Root, run_backward, wanted_by
from afterward.model.life.faults import Fault, Refused, Unmodelled
from afterward.model.life.gradients import ONES, PRIME, zero
from afterward.model.life.histories import count_write, grad_fn, gradient_edge, needs_grad
from afterward.model.life.parts import Node, Region, Tensor
from afterward.model.life.recording import Custom
from afterward.model.life.table import table
from afterward.model.life.tape import Packing, Tape


class World:
    """Everything one thread of one program has made. Methods are named after PyTorch's."""

    def __init__(self) -> None:
        self.tape = Tape()

    # Tensors

    def tensor(self, name: str = "", requires_grad: bool = False, elements: int | None = None) -> Tensor:
        """A tensor from outside: data, or a parameter. Its name stands for its numbers."""
        made = self.tape.fresh(crc32(name.encode()), name)
        made.needs = requires_grad
        made.elements = elements
        return made

    def apply(self, operation: str, *inputs: Tensor) -> tuple[Tensor, ...]:
        """Run an operation of the table (`mul`, `linear`, `unbind`, ...), in place if its name ends in _."""
        entry = table()[operation]
        if entry.in_place:
            recording.write(self.tape, entry, inputs[0], inputs[1:])
            return (inputs[0],)
        return recording.apply(self.tape, entry, inputs)

    def call(self, function: Custom, *inputs: Tensor) -> tuple[Tensor, ...]:
        """Run a custom `autograd.Function`."""
        return recording.call(self.tape, function, inputs)

    def checkpoint(self, body: Callable[..., tuple[Tensor, ...]], *inputs: Tensor) -> tuple[Tensor, ...]:
        """`torch.utils.checkpoint` without reentry: the body's nodes save nothing but a way to recompute."""
        if not self.tape.records:
            return body(*inputs)
        outer = self.tape.region
        if any(tensor.is_inference for tensor in inputs):
            raise Refused(Fault.INFERENCE_SAVED)
        self.tape.region = None
        kept = tuple(self.tape.save(tensor) for tensor in inputs)
        self.tape.region = Region(kept)
        try:
            return body(*inputs)
        finally:
            self.tape.region = outer

    def detach(self, tensor: Tensor) -> Tensor:
        return recording.detach(self.tape, tensor)

    def data(self, tensor: Tensor) -> Tensor:
        return recording.data(self.tape, tensor)

    def requires_grad_(self, tensor: Tensor, flag: bool = True) -> None:
        if not flag and not tensor.is_leaf:
            raise Refused(Fault.NOT_LEAF)
        if tensor.hidden:
            raise Unmodelled("requires_grad_ on a tensor whose memory belongs to something hidden")
        if flag and tensor.is_inference and self.tape.watches:
            raise Refused(Fault.INFERENCE_NEEDS)
        tensor.needs = flag

    def requires_grad(self, tensor: Tensor) -> bool:
        return needs_grad(tensor)

    def grad_fn(self, tensor: Tensor) -> Node | None:
        return grad_fn(self.tape, tensor)

    # Modes

    @contextmanager
    def grad_mode(self, records: bool, watches: bool = True) -> Iterator[None]:
        before = self.tape.records, self.tape.watches
        self.tape.records, self.tape.watches = records, watches
        try:
            yield
        finally:
            self.tape.records, self.tape.watches = before

    def no_grad(self) -> AbstractContextManager[None]:
        return self.grad_mode(False, self.tape.watches)

    def enable_grad(self) -> AbstractContextManager[None]:
        return self.grad_mode(True, self.tape.watches)

    def inference_mode(self) -> AbstractContextManager[None]:
        return self.grad_mode(False, False)

    @contextmanager
    def saved_tensors_hooks(self, packing: Packing) -> Iterator[None]:
        before, self.tape.packing = self.tape.packing, packing
        try:
            yield
        finally:
            self.tape.packing = before

    # Passes

    def backward(
        self,
        roots: Sequence[Tensor],
        gradients: Sequence[Tensor | None] | None = None,
        *,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Sequence[Tensor] | None = None,
    ) -> Outcome:
        """`torch.autograd.backward`; the outcome says what ran, what was freed, and where it failed."""
        retain = create_graph if retain_graph is None else retain_graph
        return self._run(roots, gradients, inputs, retain, create_graph)

    def grad(
        self,
        roots: Sequence[Tensor],
        inputs: Sequence[Tensor],
        gradients: Sequence[Tensor | None] | None = None,
        *,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        allow_unused: bool = False,
    ) -> Outcome:
        """`torch.autograd.grad`: hands gradients back, and leaves every `.grad` alone."""
        retain = create_graph if retain_graph is None else retain_graph
        outcome = self._run(roots, gradients, inputs, retain, create_graph, capture=True)
        if outcome.succeeded and not allow_unused and None in outcome.gradients:
            outcome.fault = Fault.UNUSED  # noticed last: by then the pass has run, and has freed
        return outcome

    def foresee(
        self,
        roots: Sequence[Tensor],
        gradients: Sequence[Tensor | None] | None = None,
        *,
        inputs: Sequence[Tensor] | None = None,
        retain_graph: bool = False,
        capture: bool = False,
    ) -> Outcome:
        """What the next pass would do. Nothing is freed, accumulated or numbered by asking."""
        touched = [(t, t.node, t.slot, t.seen) for t in (*roots, *(inputs or ()))]
        clock = self.tape.clock
        try:
            return self._run(roots, gradients, inputs, retain_graph, False, capture, only_look=True)
        finally:
            self.tape.clock = clock
            for tensor, node, slot, seen in touched:
                tensor.node, tensor.slot, tensor.seen = node, slot, seen

    def _run(
        self,
        roots: Sequence[Tensor],
        gradients: Sequence[Tensor | None] | None,
        inputs: Sequence[Tensor] | None,
        retain: bool,
        create: bool,
        capture: bool = False,
        only_look: bool = False,
    ) -> Outcome:
        try:
            starts = self._starts(roots, gradients or [None] * len(roots), create)
            targets = None if inputs is None else [self._target(tensor) for tensor in inputs]
        except Refused as refused:
            return Outcome(fault=refused.fault)
        if inputs is not None and not capture and not all(tensor.is_leaf for tensor in inputs):
            raise Unmodelled("backward(inputs=) with a tensor that is not a leaf, whose .grad it would retain")
        wanted = None if targets is None else wanted_by(starts, targets, capture)
        with self.grad_mode(create, self.tape.watches):
            return run_backward(
                self.tape,
                starts,
                wanted,
                retain=retain,
                create=create,
                only_look=only_look,
                positions=len(targets) if targets is not None and capture else 0,
            )

    def _starts(self, roots: Sequence[Tensor], gradients: Sequence[Tensor | None], create: bool) -> list[Root]:
        for root, gradient in zip(roots, gradients, strict=True):
            if gradient is None and needs_grad(root) and root.elements not in (None, 1):
                raise Refused(Fault.NOT_SCALAR)
        starts = []
        for root, gradient in zip(roots, gradients, strict=True):
            edge = gradient_edge(self.tape, root)
            if edge is None:
                raise Refused(Fault.NO_GRAD)
            number = ONES if gradient is None else hash((13, gradient.symbol)) % PRIME
            tensor = (gradient or self.tape.fresh(hash((13, ONES)))) if create else None
            starts.append(Root(edge[0], edge[1], number, tensor))
        return starts

    def _target(self, tensor: Tensor) -> tuple[Node, int] | None:
        node = grad_fn(self.tape, tensor)
        if not needs_grad(tensor):
            raise Refused(Fault.INPUT_NO_GRAD)
        if node is not None:
            return node, tensor.slot
        if tensor.accumulator is not None and tensor.needs:
            return tensor.accumulator, 0
        return None  # never used: no pass can get there

    # Between passes

    def zero_grad(self, leaves: Sequence[Tensor], set_to_none: bool = True) -> None:
        for leaf in leaves:
            zero(self.tape, leaf, set_to_none)


class Optimizer:
    """An optimizer, for the graph's purposes: it writes to its leaves in place, unrecorded."""

    def __init__(self, world: World, leaves: Sequence[Tensor], rule: str = "SGD", has_state: bool = False) -> None:
        if any(grad_fn(world.tape, leaf) is not None for leaf in leaves):
            raise Refused(Fault.NOT_OPTIMIZED)
        self.world = world
        self.leaves = list(leaves)
        self.rule = crc32(rule.encode())
        self.has_state = has_state
        self.state: dict[int, int] = {}

    def step(self) -> None:
        """Write to every leaf that has a gradient. What a graph saved of it is then out of date."""
        for i, leaf in enumerate(self.leaves):
            if leaf.grad is not None:
                state = self.state.get(i, 0)
                if self.has_state:
                    self.state[i] = hash((state, leaf.grad.symbol))
                symbol = hash((self.rule, leaf.symbol, leaf.grad.symbol, state))
                count_write(self.world.tape, leaf, symbol)

    def zero_grad(self, set_to_none: bool = True) -> None:
        self.world.zero_grad(self.leaves, set_to_none)
