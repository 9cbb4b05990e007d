"""Run a program, statement by statement, on whatever can make tensors and passes: the model or torch.

The run leaves a list of facts, one for each statement executed, in terms that both sides share: tensors
and nodes go by the order in which they came to be.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol

from lifelab.programs import (
    Apply,
    Backward,
    Call,
    Checkpoint,
    Derive,
    For,
    Grad,
    If,
    Leaf,
    MakeOptimizer,
    Program,
    RequiresGrad,
    SetItem,
    Statement,
    Step,
    Under,
    ZeroGrad,
)

Fact = Any


class Machine(Protocol):
    """What a program runs on. `refusals` are the exceptions that stand for PyTorch saying no."""

    refusals: tuple[type[Exception], ...]

    def fault(self, error: Exception) -> str: ...
    def leaf(self, name: str, shape: str, needs: bool) -> Any: ...
    def apply(self, operation: str, inputs: list[Any]) -> list[Any]: ...
    def call(self, function: str, inputs: list[Any]) -> list[Any]: ...
    def derive(self, how: str, tensor: Any) -> Any: ...
    def requires_grad(self, tensor: Any, flag: bool) -> None: ...
    def set_item(self, target: Any, value: Any) -> None: ...
    def under(self, mode: str) -> AbstractContextManager[Any]: ...
    def checkpoint(self, body: Any, given: list[Any]) -> Any: ...
    def run_pass(self, statement: Backward | Grad, env: dict[str, Any]) -> tuple[Fact, list[Any]]: ...
    def optimizer(self, rule: str, leaves: list[Any]) -> Any: ...
    def describe(self, tensors: list[Any]) -> Fact: ...
    def describe_write(self, target: Any) -> Fact: ...
    def last_facts(self) -> Fact: ...


class Outside(Exception):
    """What happens here depends on how tensors lie in memory, which is not modelled: left out."""


def names_in(statement: Statement) -> tuple[str, ...]:
    """The names a statement must find bound."""
    if isinstance(statement, Apply | Call):
        return statement.inputs
    if isinstance(statement, Derive):
        return (statement.source,)
    if isinstance(statement, RequiresGrad):
        return (statement.target,)
    if isinstance(statement, SetItem):
        return (statement.target, statement.value)
    if isinstance(statement, Checkpoint):
        return (*statement.given, *statement.read)
    if isinstance(statement, Backward | Grad):
        given = tuple(g for g in statement.gradients if g is not None)
        return (*statement.roots, *given, *(statement.inputs or ()))
    if isinstance(statement, MakeOptimizer):
        return statement.leaves
    if isinstance(statement, Step | ZeroGrad):
        return (statement.optimizer,)
    return ()


class Runner:
    def __init__(self, machine: Machine, leave_out: frozenset[int] = frozenset()) -> None:
        self.machine = machine
        self.leave_out = leave_out
        self.env: dict[str, Any] = {}
        self.facts: list[Fact] = []
        self.count = 0
        self.iteration = 0

    def run(self, program: Program) -> list[Fact]:
        self._block(program)
        self.facts.append(("at the end", self.machine.last_facts()))
        return self.facts

    def _block(self, body: tuple[Statement, ...]) -> None:
        for statement in body:
            if isinstance(statement, Under):
                with self.machine.under(statement.mode):
                    self._block(statement.body)
            elif isinstance(statement, For):
                before = self.iteration
                for self.iteration in range(statement.count):
                    self._block(statement.body)
                self.iteration = before
            elif isinstance(statement, If):
                if self.iteration % 2 == statement.parity:
                    self._block(statement.body)
            else:
                self._one(statement)

    def _one(self, statement: Statement) -> None:
        self.count += 1
        if self.count in self.leave_out or any(name not in self.env for name in names_in(statement)):
            return
        try:
            fact = self._do(statement)
        except self.machine.refusals as error:
            fact = ("refused", self.machine.fault(error))
        self.facts.append((self.count, fact))

    def _do(self, statement: Statement) -> Fact:
        machine, env = self.machine, self.env
        if isinstance(statement, Leaf):
            env[statement.name] = machine.leaf(statement.name, statement.shape, statement.needs)
            return None
        if isinstance(statement, Apply | Call):
            inputs = [env[name] for name in statement.inputs]
            if isinstance(statement, Apply):
                results = machine.apply(statement.operation, inputs)
            else:
                results = machine.call(statement.function, inputs)
            if isinstance(statement, Apply) and statement.operation.endswith("_"):
                return machine.describe_write(inputs[0])
            env.update(zip(statement.outs, results, strict=True))
            return machine.describe(results)
        if isinstance(statement, Derive):
            derived = machine.derive(statement.how, env[statement.source])
            if derived is None:
                return "none"
            env[statement.out] = derived
            return None
        if isinstance(statement, RequiresGrad):
            return machine.requires_grad(env[statement.target], statement.flag)
        if isinstance(statement, SetItem):
            machine.set_item(env[statement.target], env[statement.value])
            return machine.describe_write(env[statement.target])
        if isinstance(statement, Checkpoint):
            return self._checkpoint(statement)
        if isinstance(statement, Backward | Grad):
            fact, gradients = machine.run_pass(statement, env)
            if isinstance(statement, Grad):
                env.update((n, g) for n, g in zip(statement.outs, gradients, strict=False) if g is not None)
            return fact
        if isinstance(statement, MakeOptimizer):
            leaves = [env[name] for name in statement.leaves]
            env[statement.name] = machine.optimizer(statement.rule, leaves)
        elif isinstance(statement, Step):
            env[statement.optimizer].step()
        elif isinstance(statement, ZeroGrad):
            env[statement.optimizer].zero_grad(set_to_none=statement.set_to_none)
        return None

    def _checkpoint(self, statement: Checkpoint) -> Fact:
        around = {name: self.env[name] for name in statement.read}

        def body(*given: Any) -> Any:
            inside = dict(around)
            inside.update((f"p{k}", tensor) for k, tensor in enumerate(given))
            for inner in statement.body:
                assert isinstance(inner, Apply)
                results = self.machine.apply(inner.operation, [inside[name] for name in inner.inputs])
                inside.update(zip(inner.outs, results, strict=True))
            return inside[statement.result]

        result = self.machine.checkpoint(body, [self.env[name] for name in statement.given])
        self.env[statement.out] = result
        return self.machine.describe([result])


def statements(program: Program) -> list[Statement]:
    """All of them, blocks opened."""
    found: list[Statement] = []
    for statement in program:
        found.append(statement)
        if isinstance(statement, Under | For | If | Checkpoint):
            found += statements(statement.body)
    return found
