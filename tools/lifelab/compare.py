"""Run one program on both sides and find the first fact they do not share."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import torch

from afterward.model.life import Unmodelled
from afterward.model.life.gradients import PRIME
from lifelab.on_model import OnModel
from lifelab.on_torch import OnTorch
from lifelab.programs import Backward, For, If, Program, Statement, Under
from lifelab.running import Fact, Outside, Runner


@dataclass(slots=True)
class Tally:
    """What a run of many programs has seen: so that agreeing on nothing cannot pass for agreement."""

    programs: int = 0
    statements: int = 0
    nodes: int = 0
    passes: dict[str, int] = field(default_factory=dict)
    refusals: dict[str, int] = field(default_factory=dict)
    left_out: int = 0
    pairs_equal: int = 0
    pairs_doubled: int = 0
    operations: set[str] = field(default_factory=set)
    features: dict[str, int] = field(default_factory=dict)

    def add(self, other: Tally) -> None:
        self.programs += other.programs
        self.statements += other.statements
        self.nodes += other.nodes
        self.left_out += other.left_out
        self.pairs_equal += other.pairs_equal
        self.pairs_doubled += other.pairs_doubled
        self.operations |= other.operations
        for mine, theirs in (
            (self.passes, other.passes),
            (self.refusals, other.refusals),
            (self.features, other.features),
        ):
            for key, count in theirs.items():
                mine[key] = mine.get(key, 0) + count


class Disagreement(AssertionError):
    """The model says one thing, PyTorch another."""


def on_model(program: Program, left_out: frozenset[int] = frozenset()) -> tuple[Runner, frozenset[int]]:
    """Run on the model; statements it does not model are found, left out, and the run begun again."""
    while True:
        runner = Runner(OnModel(), left_out)
        try:
            runner.run(program)
            return runner, left_out
        except Unmodelled:
            if runner.count in left_out:
                raise
            left_out |= {runner.count}


def on_both(program: Program) -> tuple[Runner, Runner, frozenset[int]]:
    left_out: frozenset[int] = frozenset()
    while True:
        model, left_out = on_model(program, left_out)
        real = Runner(OnTorch(), left_out)
        try:
            real.run(program)
            return model, real, left_out
        except Outside:
            if real.count in left_out:
                raise
            left_out |= {real.count}


def compare(program: Program, tally: Tally | None = None) -> tuple[Runner, Runner]:
    """Raise Disagreement at the first difference."""
    model, real, left_out = on_both(program)
    for mine, theirs in zip(model.facts, real.facts, strict=False):
        if _plain(mine) != _plain(theirs):
            raise Disagreement(f"statement {mine[0]}:\n  model {mine[1]}\n  torch {theirs[1]}")
    if len(model.facts) != len(real.facts):
        raise Disagreement(f"{len(model.facts)} facts on the model, {len(real.facts)} on torch")
    if tally is not None:
        _count(tally, model, left_out)
    return model, real


def _plain(fact: Fact) -> Fact:
    if isinstance(fact, tuple | list):
        return [_plain(part) for part in fact]
    return fact


def _count(tally: Tally, model: Runner, left_out: frozenset[int]) -> None:
    tally.programs += 1
    tally.statements += model.count
    tally.left_out += len(left_out)
    tally.nodes += len(model.machine.nodes)  # type: ignore[attr-defined]
    for _, fact in model.facts[:-1]:
        if isinstance(fact, tuple) and len(fact) == 2 and fact[0] == "refused":
            tally.refusals[fact[1]] = tally.refusals.get(fact[1], 0) + 1
        elif isinstance(fact, tuple) and len(fact) >= 4:
            outcome = fact[0] or "succeeded"
            tally.passes[outcome] = tally.passes.get(outcome, 0) + 1


# Pairs of programs


def retained(program: Program) -> Program:
    """The same with `retain_graph=True` in every pass: equal, unless something had failed for want of it."""
    return _map(program, lambda s: (replace(s, retain=True),) if isinstance(s, Backward) else (s,))


def combined(program: Program) -> Program:
    """Two passes in a row made one, from both roots."""
    out: list[Statement] = []
    for statement in program:
        last = out[-1] if out else None
        if (
            isinstance(statement, Backward)
            and isinstance(last, Backward)
            and not (statement.inputs or last.inputs or statement.create or last.create)
            and not set(statement.roots) & set(last.roots)
        ):
            out[-1] = replace(
                last,
                roots=last.roots + statement.roots,
                gradients=last.gradients + statement.gradients,
                retain=statement.retain,
            )
        else:
            out.append(statement)
    return tuple(out)


def twice(program: Program) -> Program:
    """Each pass made two: what arrives is doubled."""
    return _map(
        program,
        lambda s: (replace(s, retain=True), s) if isinstance(s, Backward) and not s.create else (s,),
    )


def _map(body: tuple[Statement, ...], change: Any) -> tuple[Statement, ...]:
    out: list[Statement] = []
    for statement in body:
        if isinstance(statement, Under | For | If):
            out.append(replace(statement, body=_map(statement.body, change)))
        else:
            out += change(statement)
    return tuple(out)


def compare_pair(program: Program, variant: Program, first: tuple[Runner, Runner], tally: Tally) -> None:
    """If the model calls the two programs' gradients equal, or doubled, torch's numbers must say so too."""
    if variant == program:
        return
    mine, real = first
    model, other, _ = on_both(variant)
    before, after = mine.machine.fingerprints(), model.machine.fingerprints()  # type: ignore[attr-defined]
    if len(before) != len(after) or not any(f is not None for f in before):
        return
    if before == after:
        factor = 1
    elif after == [None if f is None else 2 * f % PRIME for f in before]:
        factor = 2
    else:
        if variant == retained(program) and not _failures(mine) and not _failures(model):
            raise Disagreement("retaining the graph changed a fingerprint, and nothing failed")
        return
    for i, (a, b) in enumerate(zip(real.machine.gradients(), other.machine.gradients(), strict=True)):  # type: ignore[attr-defined]
        if (a is None) != (b is None) or (a is not None and not close(a * factor, b)):
            raise Disagreement(f"leaf {i}: gradients called {'equal' if factor == 1 else 'doubled'}: {a}, {b}")
    if factor == 1:
        tally.pairs_equal += 1
    else:
        tally.pairs_doubled += 1


def _failures(runner: Runner) -> bool:
    return any(isinstance(f, tuple) and len(f) >= 4 and f[0] is not None for _, f in runner.facts[:-1])


def close(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Equal up to the order of summation."""
    scale = torch.nan_to_num(torch.maximum(a.abs(), b.abs()), nan=0.0, posinf=0.0).amax() if a.numel() else 0
    return bool(torch.allclose(a, b, rtol=1e-3, atol=float(scale) * 1e-3 + 1e-6, equal_nan=True))
