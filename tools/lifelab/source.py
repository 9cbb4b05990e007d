"""Print a program as Python: what a user would have written, with torch as its only import."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from lifelab.functions import FUNCTIONS
from lifelab.measure import values
from lifelab.operations import OPERATIONS, SHAPES
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
    Names,
    Program,
    RequiresGrad,
    SetItem,
    Statement,
    Step,
    Under,
    ZeroGrad,
)

HEAD = """import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint
"""
MODES = {
    "no_grad": "torch.no_grad()",
    "enable_grad": "torch.enable_grad()",
    "inference_mode": "torch.inference_mode()",
    "by_reference": "torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), lambda t: t)",
    "by_copy": "torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t)",
}
OPTIMIZERS = {"SGD": "torch.optim.SGD([{}], lr=0.01)", "Adam": "torch.optim.Adam([{}], lr=0.01)"}


def to_source(program: Program, guarded: bool = False) -> str:
    """The program's text. Guarded, each statement that fails is passed over, as in an agreement run."""
    used = [FUNCTIONS[name] for name in dict.fromkeys(_functions(program))]
    parts = [HEAD, *("\n\n" + inspect.getsource(function) for function in used), "\n" if used else ""]
    lines = list(_block(program, 0, guarded, 0))
    return "".join(parts) + "\n".join(lines) + "\n"


def seed_of(name: str) -> int:
    """The numbers of a leaf follow from its name."""
    return sum(ord(c) * 31**k for k, c in enumerate(name)) % 100_003


def _functions(body: tuple[Statement, ...]) -> Iterator[str]:
    for statement in body:
        if isinstance(statement, Call):
            yield statement.function
        elif isinstance(statement, Under | For | If):
            yield from _functions(statement.body)


def _block(body: tuple[Statement, ...], depth: int, guarded: bool, loops: int) -> Iterator[str]:
    pad = "    " * depth
    for statement in body:
        if isinstance(statement, Under):
            yield f"{pad}with {MODES[statement.mode]}:"
            yield from _block(statement.body, depth + 1, guarded, loops)
        elif isinstance(statement, For):
            # A loop inside a loop counts with a name of its own, and `if` asks the innermost.
            yield f"{pad}for {_counter(loops + 1)} in range({statement.count}):"
            yield from _block(statement.body, depth + 1, guarded, loops + 1)
        elif isinstance(statement, If):
            yield f"{pad}if {_counter(loops)} % 2 == {statement.parity}:"
            yield from _block(statement.body, depth + 1, guarded, loops)
        elif guarded:
            yield f"{pad}try:"
            yield from (f"{pad}    {line}" for line in _plain(statement))
            yield f"{pad}except (RuntimeError, NameError, NotImplementedError, ValueError):"
            yield f"{pad}    pass"
        else:
            yield from (pad + line for line in _plain(statement))
    if not body:
        yield pad + "pass"


def _counter(loops: int) -> str:
    return ("0", "i")[loops] if loops < 2 else f"i{loops}"  # outside of loops it is always iteration 0


def _plain(statement: Statement) -> list[str]:
    if isinstance(statement, Leaf):
        numbers = values(SHAPES[statement.shape], seed_of(statement.name))
        flag = ", requires_grad=True" if statement.needs else ""
        return [f"{statement.name} = torch.tensor({_rounded(numbers.tolist())}{flag})"]
    if isinstance(statement, Apply):
        operation = OPERATIONS[statement.operation]
        text = operation.call.format(*statement.inputs)
        return [text if operation.in_place else f"{_tuple(statement.outs)} = {text}"]
    if isinstance(statement, Call):
        text = f"{statement.function}.apply({', '.join(statement.inputs)})"
        return [f"{_tuple(statement.outs)} = {text}"]
    if isinstance(statement, Derive):
        how = {"detach": ".detach()", "data": ".data", "grad": ".grad", "alias": ""}[statement.how]
        return [f"{statement.out} = {statement.source}{how}"]
    if isinstance(statement, RequiresGrad):
        return [f"{statement.target}.requires_grad_({statement.flag})"]
    if isinstance(statement, SetItem):
        return [f"{statement.target}[0] = {statement.value}"]
    if isinstance(statement, Checkpoint):
        read = [f"{name}={name}" for name in statement.read]
        lines = [f"def stretch({', '.join([f'p{k}' for k in range(len(statement.given))] + read)}):"]
        lines += ["    " + line for inner in statement.body for line in _plain(inner)]
        lines.append(f"    return {statement.result}")
        given = ", ".join(("stretch", *statement.given, "use_reentrant=False"))
        return [*lines, f"{statement.out} = checkpoint({given})"]
    if isinstance(statement, Backward | Grad):
        return [_pass(statement)]
    if isinstance(statement, MakeOptimizer):
        return [f"{statement.name} = {OPTIMIZERS[statement.rule].format(', '.join(statement.leaves))}"]
    if isinstance(statement, Step):
        return [f"{statement.optimizer}.step()"]
    assert isinstance(statement, ZeroGrad)
    return [f"{statement.optimizer}.zero_grad(set_to_none={statement.set_to_none})"]


def _rounded(numbers: Any) -> Any:
    return [_rounded(n) for n in numbers] if isinstance(numbers, list) else round(numbers, 2)


def _pass(statement: Backward | Grad) -> str:
    options = []
    if statement.retain:
        options.append("retain_graph=True")
    if statement.create:
        options.append("create_graph=True")
    if isinstance(statement, Backward):
        if statement.inputs is not None:
            options.append(f"inputs=[{', '.join(statement.inputs)}]")
        if len(statement.roots) == 1:
            given = [g for g in statement.gradients if g is not None]
            return f"{statement.roots[0]}.backward({', '.join(given + options)})"
        arguments = [f"[{', '.join(statement.roots)}]", f"[{', '.join(map(str, statement.gradients))}]"]
        return f"torch.autograd.backward({', '.join(arguments + options)})"
    if statement.allow_unused:
        options.append("allow_unused=True")
    arguments = [
        f"[{', '.join(statement.roots)}]",
        f"[{', '.join(statement.inputs)}]",
        f"[{', '.join(map(str, statement.gradients))}]",
    ]
    names = ", ".join(statement.outs) + ("," if len(statement.outs) == 1 else "")
    return f"{names} = torch.autograd.grad({', '.join(arguments + options)})"


def _tuple(names: Names) -> str:
    return names[0] if len(names) == 1 else ", ".join(names)
