"""Programs on PyTorch, with just enough watching to say which nodes ran and where a pass failed.

Each new node gets a pre-hook that notes its number when the engine is about to run it: the last note
before an error is the node that failed. The nodes' state is read by calling them, which runs their
backward and frees nothing.
"""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

from afterward.model.life import table
from afterward.model.life.faults import Fault
from lifelab.functions import FUNCTIONS
from lifelab.measure import flat, values
from lifelab.operations import OPERATIONS, SHAPES
from lifelab.programs import Backward, Grad
from lifelab.running import Outside
from lifelab.source import seed_of

_FAULTS = sorted(Fault, key=lambda fault: -len(fault.value))  # one message is a part of another
_VIEW_FAULTS = ("MANY_VIEWS", "NO_GRAD_VIEW", "INFERENCE_VIEW")  # of a root, or of a saved view
_HOOKS = {
    "by_reference": (lambda t: t.detach(), lambda t: t),
    "by_copy": (lambda t: t.detach().clone(), lambda t: t),
}


@cache
def function_of(operation: str) -> Any:
    entry = OPERATIONS[operation]
    names = [f"a{i}" for i in range(len(entry.shapes))]
    return eval(f"lambda {', '.join(names)}: {entry.call.format(*names)}", {"torch": torch, "F": F})


@cache
def _numbers(name: str, shape: str) -> torch.Tensor:
    return values(SHAPES[shape], seed_of(name))


@cache
def _zeros(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    return torch.zeros(shape, dtype=dtype)


_LAYOUT = (
    "unsupported operation:",
    "view size is not compatible",
    "setStorage: sizes",
    "Cannot view a tensor",
)


def fault_of(error: Exception) -> str:
    message = str(error).replace("has been used in an in-place", "is being used in an in-place")
    if any(part in message for part in _LAYOUT):
        raise Outside from error
    for fault in _FAULTS:
        if fault.value in message:
            return fault.name
    if "can't retain_grad on Tensor that has requires_grad=False" in message:
        return Fault.INPUT_NO_GRAD.name
    return f"other: {type(error).__name__}: {message[:300]}"


class OnTorch:
    refusals = (RuntimeError, NotImplementedError, ValueError)

    def __init__(self) -> None:
        torch.default_generator.manual_seed(0)  # torch.manual_seed also sees to every other device, slowly
        self.numbers: dict[int, int] = {}
        self.kept: list[torch.Tensor] = []
        self.leaves: list[torch.Tensor] = []  # those whose gradients are looked at
        self.nodes: dict[int, int] = {}
        self.held: list[Any] = []
        self.log: list[int] = []

    def fault(self, error: Exception) -> str:
        return fault_of(error)

    def enter(self, leaf: torch.Tensor) -> torch.Tensor:
        if id(leaf) not in self.numbers:
            self.numbers[id(leaf)] = len(self.numbers)
            self.kept.append(leaf)
            # Asking a view whether it is a leaf can make its node anew, or fail.
            if not leaf._is_view():
                self.leaves.append(leaf)
        return leaf

    def leaf(self, name: str, shape: str, needs: bool) -> torch.Tensor:
        return self.enter(_numbers(name, shape).clone().requires_grad_(needs))

    def apply(self, operation: str, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
        if table()[operation].layout and not all(tensor.is_contiguous() for tensor in inputs):
            raise Outside
        if table()[operation].in_place and torch._debug_has_internal_overlap(inputs[0]):
            raise Outside  # an expanded tensor: some operations refuse, others fail in their backward
        return flat(function_of(operation)(*inputs))

    def call(self, function: str, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
        return flat(FUNCTIONS[function].apply(*inputs))

    def derive(self, how: str, tensor: torch.Tensor) -> torch.Tensor | None:
        if how == "alias":
            return tensor
        if how == "grad":
            derived = tensor.grad
        else:
            derived = tensor.detach() if how == "detach" else tensor.data
        return derived

    def requires_grad(self, tensor: torch.Tensor, flag: bool) -> None:
        tensor.requires_grad_(flag)
        self.enter(tensor)

    def set_item(self, target: torch.Tensor, value: torch.Tensor) -> None:
        target[0] = value

    def under(self, mode: str) -> AbstractContextManager[Any]:
        if mode in _HOOKS:
            return torch.autograd.graph.saved_tensors_hooks(*_HOOKS[mode])
        made: AbstractContextManager[Any] = getattr(torch, mode)()
        return made

    def checkpoint(self, body: Any, given: list[torch.Tensor]) -> torch.Tensor:
        result: torch.Tensor = checkpoint(body, *given, use_reentrant=False)
        return result

    def optimizer(self, rule: str, leaves: list[torch.Tensor]) -> Any:
        return getattr(torch.optim, rule)(leaves, lr=0.01)

    def run_pass(self, statement: Backward | Grad, env: dict[str, Any]) -> tuple[Any, list[Any]]:
        roots = [env[name] for name in statement.roots]
        gradients = [None if name is None else env[name] for name in statement.gradients]
        inputs = None if statement.inputs is None else [env[name] for name in statement.inputs]
        before = self._grads()
        self.log = []
        fault: str | None = None
        out: tuple[Any, ...] = ()
        self._touch(roots)
        try:
            if isinstance(statement, Backward):
                torch.autograd.backward(
                    roots,
                    gradients,
                    retain_graph=statement.retain or None,
                    create_graph=statement.create,
                    inputs=inputs,
                )
            else:
                assert inputs is not None
                out = torch.autograd.grad(
                    roots,
                    inputs,
                    gradients,
                    retain_graph=statement.retain or None,
                    create_graph=statement.create,
                    allow_unused=statement.allow_unused,
                )
        except RuntimeError as error:
            fault = fault_of(error)
        after = self._grads()
        reached = sorted(i for i, grad in after.items() if before.get(i) != grad)
        ran, failed = self.log, None
        if fault in ("SECOND_TIME", "MODIFIED") or (fault in _VIEW_FAULTS and ran):
            ran, failed = ran[:-1], ran[-1]
        fact = [fault, ran, failed, reached]
        if isinstance(statement, Backward):
            made = [leaf.grad for leaf in self.leaves if leaf.grad is not None] if statement.create else []
            return (*fact, self.describe(made)), []
        if fault is not None:
            return tuple(fact), []
        held = [g for g in out if g is not None]
        return (*fact, [g is not None for g in out], self.describe(held)), list(out)

    def _touch(self, roots: list[torch.Tensor]) -> None:
        """A view's node may come to be only now, and wants its number before the pass."""
        for root in roots:
            if root._is_view():
                try:
                    self.find([root.grad_fn])
                except RuntimeError:
                    pass

    def _grads(self) -> dict[int, tuple[int, int]]:
        """Which leaves have a gradient, and of which age: an arrival replaces it or moves its version."""
        found = {}
        for leaf in self.leaves:
            if leaf.grad is not None:
                self.held.append(leaf.grad)  # or its id could be used again
                found[self.numbers[id(leaf)]] = (id(leaf.grad), leaf.grad._version)
        return found

    def describe_write(self, target: torch.Tensor) -> Any:
        if not torch.is_grad_enabled():
            return None
        base = target._base if target._is_view() else None
        return self.describe([target] if base is None else [base, target])

    def describe(self, tensors: list[torch.Tensor]) -> Any:
        flags, ends = [], []
        for tensor in tensors:
            ends.append(tensor.grad_fn)
            slot = tensor.output_nr if ends[-1] is not None else 0
            flags.append((tensor.requires_grad, tensor.is_leaf, slot))
        return flags, self.find(ends)

    def find(self, ends: list[Any]) -> list[Any]:
        """Number the new nodes behind these, oldest first, and put a note-taker on each."""
        found: list[Any] = []
        stack = [node for node in ends if node is not None]
        seen: set[int] = set()
        while stack:
            node = stack.pop()
            if id(node) in self.nodes or id(node) in seen or hasattr(node, "variable"):
                continue
            seen.add(id(node))
            found.append(node)
            stack += [target for target, _ in node.next_functions if target is not None]
        found.sort(key=lambda node: node._sequence_nr())
        for node in found:
            number = self.nodes[id(node)] = len(self.nodes)
            self.held.append(node)
            node.register_prehook(lambda _, number=number: self.log.append(number))
        return [
            (
                self.nodes[id(node)],
                node.name().rpartition("::")[2],
                [self._edge(*e) for e in node.next_functions],
            )
            for node in found
        ]

    def _edge(self, node: Any, slot: int) -> Any:
        if node is None:
            return None
        if hasattr(node, "variable"):
            return ("leaf", self.numbers[id(node.variable)])
        return (self.nodes[id(node)], slot)

    def last_facts(self) -> Any:
        states = []
        with torch.no_grad():
            for node in self.held:
                if id(node) in self.nodes:
                    states.append(self._state(node))
        return states, [leaf.grad is not None for leaf in self.leaves]

    def _state(self, node: Any) -> str | None:
        zeros = [_zeros(tuple(m.shape), m.dtype) for m in node._input_metadata]
        try:
            node.apply(*zeros) if hasattr(node, "apply") else node(*zeros)
        except RuntimeError as error:
            return fault_of(error)
        return None

    def gradients(self) -> list[torch.Tensor | None]:
        return [leaf.grad for leaf in self.leaves]


def quiet() -> None:
    """Backward with create_graph warns of a reference cycle, linear algebra of its back ends."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
