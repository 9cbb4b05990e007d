"""What a remedy says it does to the gradients, compared with what they are when it is done.

The reference is the program as it was meant: every pass keeps its graph, and what a graph saved is kept as it was saved
(`allow_mutation_on_saved_tensors`), so neither a second backward nor an overwritten value stops it. Beside it runs the
program with the remedy's change. Compared are the gradients that each step of each optimizer uses, where there is none
the leaves at the end, and the operations that each pass goes through.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from afterward.model.diagnosis import Diagnosis, Effect, Remedy
from afterward.model.saved import SavedRun, read_saved
from afterward.repair import Patch
from plantlab.forking import afterward, as_main, forked

LIMIT = 20.0  # seconds for one program
TRIES = 6  # candidates, of which the first that runs past the fault is the one that is judged
TOLERANCE = 1e-4  # of a gradient's largest entry: the order of additions may differ
MOST = 512  # entries of a gradient that are compared

Numbers = list[float] | None


def watched(folder: Path) -> SavedRun | None:
    """What `run` finds in the folder's program, with its sources; None where it took too long."""
    history = folder.parent / "history.json"
    history.unlink(missing_ok=True)
    forked(lambda: afterward("run", "--history", str(history), "buggy.py"), folder, LIMIT)
    return read_saved(history.read_text(encoding="utf-8")) if history.is_file() else None


def judged(folder: Path) -> Iterator[tuple[str, str]]:
    """For each remedy of each finding of the folder's program: what came of it, and in which words it was wrong."""
    run = watched(folder)
    if run is None:
        return
    plain = _taken(folder, {}, meant=False)
    for found in run.report.findings:
        for remedy in found.remedies:
            if remedy.effect is not Effect.SKETCH:
                outcome, why = _judge(folder, run, plain, found, remedy)
                yield outcome, f"{found.code} {remedy.kind} {remedy.form} {why}" if why else ""


def _judge(
    folder: Path, run: SavedRun, plain: dict[str, Any] | None, found: Diagnosis, remedy: Remedy
) -> tuple[str, str]:
    tried = next(_changed(folder, run, plain, found, remedy), None)
    if tried is None:
        return "effect: no change that runs", ""
    patch, after = tried
    remedy = patch.carries_out(remedy)
    failed = plain is not None and plain["error"]
    meant = _taken(folder, {}, meant=True) if failed else plain
    if failed and remedy.effect is Effect.CUTS_GRADIENTS:  # where values are kept, torch may choose other operations
        after = _taken(folder, patch.applied(run.sources), meant=True) or after
    if meant is None or (meant["error"] and len(meant["passes"]) <= len((plain or meant)["passes"])):
        return "effect: not to be compared", ""
    wrong = _WAYS[remedy.effect](meant, after)
    if wrong is None:
        return "effect: not to be compared", ""
    said = f"{remedy.effect.value}: {wrong}" if wrong else ""
    if said and remedy.effect is Effect.CHANGES_GRADIENTS:
        return f"effect: {found.code} {remedy.kind} may change gradients, and does not here", ""
    return ("effect wrong", said) if said else ("effect as said", "")


def _changed(
    folder: Path, run: SavedRun, plain: dict[str, Any] | None, found: Diagnosis, remedy: Remedy
) -> Iterator[tuple[Patch, dict[str, Any]]]:
    """The remedy's changes that get past the fault, with the run of each."""
    from afterward.repair import Workshop, candidates

    for patch in itertools.islice(candidates(Workshop(run.sources), found, remedy), TRIES):
        after = _taken(folder, patch.applied(run.sources), meant=False)
        if after is not None and (not after["error"] or len(after["passes"]) > len((plain or after)["passes"])):
            yield patch, after


def _taken(folder: Path, texts: dict[str, str], *, meant: bool) -> dict[str, Any] | None:
    """What the program's passes and steps were, with these texts of its files; None where it took too long."""
    out = folder.parent / "taken.json"
    out.unlink(missing_ok=True)
    before = {file: (folder / file).read_bytes() for file in texts}
    try:
        for file, text in texts.items():
            (folder / file).write_text(text, encoding="utf-8")
        forked(lambda: _Taking(out, meant).run(), folder, LIMIT, folder.parent / "printed.txt")
    finally:
        for file, data in before.items():
            (folder / file).write_bytes(data)
    taken: dict[str, Any] | None = json.loads(out.read_text(encoding="utf-8")) if out.is_file() else None
    return taken


class _Taking:
    """Runs the program, and notes the gradients that its steps use and the operations of its passes."""

    def __init__(self, out: Path, meant: bool) -> None:
        self.out = out
        self.meant = meant
        self.passes: list[tuple[dict[str, int], list[float]]] = []
        self.steps: list[tuple[int, list[Numbers]]] = []
        self.optimizers: dict[int, Any] = {}

    def run(self) -> None:
        import torch
        from torch.autograd import graph
        from torch.optim.optimizer import register_optimizer_step_pre_hook

        inner = graph._engine_run_backward
        graph._engine_run_backward = torch.autograd._engine_run_backward = functools.partial(self._pass, inner)
        register_optimizer_step_pre_hook(self._step)
        keeping = graph.allow_mutation_on_saved_tensors() if self.meant else contextlib.nullcontext()
        error = True
        try:
            with keeping:
                as_main("buggy.py")
            error = False
        except SystemExit as ended:
            error = bool(ended.code)
        finally:
            data = {"passes": self.passes, "steps": self.steps, "error": error, "ends": _ends()}
            self.out.write_text(json.dumps(data), encoding="utf-8")

    def _pass(self, inner: Any, outputs: Any, gradients: Any, keep: bool, *rest: Any, **named: Any) -> Any:
        result = inner(outputs, gradients, keep or self.meant, *rest, **named)
        self.passes.append((_operations(outputs), [number for one in _several(outputs) for number in _numbers(one)]))
        return result

    def _step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self.optimizers.setdefault(id(optimizer), optimizer)
        number = list(self.optimizers).index(id(optimizer))
        held = [one for group in optimizer.param_groups for one in group["params"]]
        self.steps.append((number, [_numbers(one.grad) if one.grad is not None else None for one in held]))


def _several(outputs: Any) -> list[Any]:
    return list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]


def _operations(outputs: Any) -> dict[str, int]:
    seen, todo = set(), [one.grad_fn for one in _several(outputs)]
    while todo:
        node = todo.pop()
        if node is not None and node not in seen:
            seen.add(node)
            todo += [below for below, _ in node.next_functions]
    return Counter(node.name() for node in seen)


def _numbers(tensor: Any) -> list[float]:
    dense = tensor.detach().coalesce().values() if tensor.is_sparse else tensor.detach()
    flat = dense.double().flatten() if not dense.is_complex() else dense.abs().double().flatten()
    numbers: list[float] = [*flat[:MOST].tolist(), flat.sum().item()]
    return numbers


def _ends() -> dict[str, list[float]]:
    """The leaves that the program's own names hold at its end, and their gradients."""
    import sys

    import torch

    named = vars(sys.modules["__main__"])
    leaves = {name: one for name, one in named.items() if isinstance(one, torch.Tensor) and one.is_leaf}
    found = {}
    for name, leaf in leaves.items():
        if leaf.requires_grad and not leaf.is_meta:
            found[name] = _numbers(leaf)
            if leaf.grad is not None:
                found[f"{name}.grad"] = _numbers(leaf.grad)
    return found


def _apart(one: Numbers, other: Numbers) -> bool:
    """Are these two gradients? None and zeros are one: an optimizer without momentum makes no difference."""
    ours, theirs = one or [], other or []
    if not any(ours) and not any(theirs):
        return False
    scale = max(map(abs, (*ours[:MOST], *theirs[:MOST])), default=0.0)
    pairs = zip(ours[:MOST], theirs[:MOST], strict=False)
    return len(ours) != len(theirs) or any(abs(a - b) > TOLERANCE * scale for a, b in pairs)


def _first_apart(meant: dict[str, Any], after: dict[str, Any]) -> str | None:
    """Where the two first use other gradients; empty: nowhere, None: there is nothing to compare."""
    steps = list(zip(meant["steps"], after["steps"], strict=False))
    for number, ((who, ours), (other, theirs)) in enumerate(steps, 1):
        if who != other or len(ours) != len(theirs):
            return f"step {number} is one of another optimizer"
        for place, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            if _apart(a, b):
                return f"step {number}, parameter {place}"
    if steps:
        return ""
    ends = meant["ends"].keys() & after["ends"].keys() if not meant["error"] else set()
    if not ends:
        return None
    return next((f"{name} at the end" for name in sorted(ends) if _apart(meant["ends"][name], after["ends"][name])), "")


def _not_same(meant: dict[str, Any], after: dict[str, Any]) -> str | None:
    return _first_apart(meant, after)


def _not_changed(meant: dict[str, Any], after: dict[str, Any]) -> str | None:
    apart = _first_apart(meant, after)
    return apart if apart is None else "" if apart else "they are the same"


def _not_cut(meant: dict[str, Any], after: dict[str, Any]) -> str | None:
    """A cut leaves the values as they are, and takes operations away from the passes that went through it."""
    less = False
    for number, ((ours, value), (theirs, other)) in enumerate(zip(meant["passes"], after["passes"], strict=False), 1):
        if _apart(value, other):
            return "" if less else f"the loss of pass {number} is another one"
        if Counter(theirs) - Counter(ours):
            return f"pass {number} goes through other operations"
        less = less or theirs != ours
    return "" if less else "nothing is cut"


_WAYS = {Effect.SAME_GRADIENTS: _not_same, Effect.CHANGES_GRADIENTS: _not_changed, Effect.CUTS_GRADIENTS: _not_cut}
