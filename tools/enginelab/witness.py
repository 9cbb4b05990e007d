"""Watches the gradients themselves, without afterward, while a program does what PyTorch's advice says."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plantlab.forking import as_main, forked

LIMIT = 60.0

# What a claim about `retain_graph=True` says of the leaves of the part that both passes go through.
CLEARED = {"cleared": True, "right_add_up": False, "doubles": False, "mixes": False}
CHANGED = {"unstepped": False, "old_values": True, "old_values_now": True}


@dataclass(frozen=True, slots=True)
class Seen:
    """The part that two passes share: were its leaves' gradients cleared, its leaves changed, between the two?"""

    cleared: bool | None  # None: they were zeros from the start
    changed: bool


class _Witness:
    """Notes, at each call of the engine, the nodes it goes through and how their leaves stand."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.calls: list[tuple[int, set[Any], dict[int, tuple[int, float]]]] = []
        self.trained: dict[int, Any] = {}  # what optimizers hold: an input may keep its gradient

    def install(self) -> None:
        import torch
        from torch.autograd import graph

        inner, add = graph._engine_run_backward, torch.optim.Optimizer.add_param_group

        def add_group(optimizer: Any, group: dict[str, Any]) -> None:
            add(optimizer, group)
            self.trained.update({id(one): one for one in optimizer.param_groups[-1]["params"]})

        torch.optim.Optimizer.add_param_group = add_group  # type: ignore[method-assign]

        def run(outputs: Any, *args: Any, **kwargs: Any) -> Any:
            nodes = _nodes(outputs)
            before = {id(leaf): _state(leaf) for leaf in _leaves(nodes)}
            self._tell(_line(), nodes, before)
            result = inner(outputs, *args, **kwargs)
            self.calls.append((_line(), nodes, {id(leaf): _state(leaf) for leaf in _leaves(nodes)}))
            return result

        graph._engine_run_backward = torch.autograd._engine_run_backward = run

    def _tell(self, line: int, nodes: set[Any], now: dict[int, tuple[int, float]]) -> None:
        """Of each earlier call that shares nodes with this one: what became of the leaves of those."""
        told = []
        for earlier, theirs, then in self.calls:
            shared = [id(leaf) for leaf in _fed(nodes & theirs) if id(leaf) in then]
            held = [one for one in shared if one in self.trained] or shared
            grads = [(then[one][1], now[one][1]) for one in held if then[one][1]]
            cleared = all(not after for _, after in grads) if grads else None
            changed = any(then[one][0] != now[one][0] for one in shared)
            told.append((earlier, cleared, changed, bool(shared)))
        with self.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps([line, told]) + "\n")


def watch(folder: Path) -> list[tuple[int, list[tuple[int, bool, bool, bool]]]]:
    """One row for each call of the engine: its line, and how the leaves shared with each earlier call stand."""
    out = folder.parent / "witness.jsonl"
    out.unlink(missing_ok=True)

    def work() -> None:
        _Witness(out).install()
        as_main("buggy.py")

    forked(work, folder, LIMIT, folder.parent / "printed.txt")
    return [json.loads(row) for row in out.read_text(encoding="utf-8").splitlines()] if out.is_file() else []


def seen_between(rows: list[Any], failed: int, freed: int, reused: int) -> Seen | None:
    """What lay between the call on line `freed` and the one that failed, the `failed`-th; None: not to be seen."""
    if not 0 <= failed < len(rows) or rows[failed][0] != reused:
        return None
    earlier = [row for row in rows[failed][1] if row[0] == freed and row[3]]
    return Seen(earlier[0][1], earlier[0][2]) if len(earlier) == 1 else None


def _line() -> int:
    frame: Any = sys._getframe(1)
    while frame is not None and not frame.f_code.co_filename.endswith("buggy.py"):
        frame = frame.f_back
    return frame.f_lineno if frame is not None else 0


def _nodes(outputs: Any) -> set[Any]:
    found: set[Any] = set()
    todo = [one.grad_fn for one in (outputs if isinstance(outputs, (tuple, list)) else [outputs])]
    while todo:
        node = todo.pop()
        if node is not None and node not in found:
            found.add(node)
            todo += [below for below, _ in node.next_functions]
    return found


def _leaves(nodes: set[Any]) -> list[Any]:
    return [node.variable for node in nodes if hasattr(node, "variable")]


def _fed(nodes: set[Any]) -> list[Any]:
    below = {under for node in nodes if not hasattr(node, "variable") for under, _ in node.next_functions}
    return _leaves({one for one in below if one is not None})


def _state(leaf: Any) -> tuple[int, float]:
    gradient = leaf.grad
    return leaf._version, float(gradient.detach().abs().sum()) if gradient is not None else 0.0
