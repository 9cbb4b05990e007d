"""What a program computes, recorded without afterward: losses, the gradients its steps use, parameters, memory.

`record` runs in a process of its own; `compare` says how two records differ.
"""

from __future__ import annotations

import gc
import hashlib
import importlib
import json
import random
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from plantlab.law import Ledger

LOOKS = 200  # at the nodes that are alive: each goes through all tensors
CLOSE = 1e-3  # relative; sums in another order differ by less, over the few steps of these programs


@dataclass
class Record:
    """What one run computed. A step is digest, norm and projection of the gradients used, and the parameters after."""

    error: str = ""  # its type; nothing: it ran to its end
    message: str = ""
    losses: list[str] = field(default_factory=list)
    steps: dict[str, list[tuple[str, float, float, str]]] = field(default_factory=dict)  # by optimizer
    leaves: list[str] = field(default_factory=list)  # of a program without optimizers, at its end
    alive: list[int] = field(default_factory=list)  # bytes and nodes that graphs hold, before and after each backward
    saved: int = 0  # values that were saved for backward in all
    ledger: list[str] = field(default_factory=list)  # each pass and step, without numbers
    unused: tuple[int, int] = (0, 0)  # gradients that were cleared before a step used them; that were left at the end
    seconds: float = 0.0


def load(path: Path) -> Record | None:
    try:
        data = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    record = Record(**data)
    record.steps = {name: [tuple(s) for s in steps] for name, steps in record.steps.items()}  # type: ignore[misc]
    return record


def same_bits(a: Record, b: Record) -> bool:
    """The same gradients were used, and the same parameters came of it."""
    if a.error or b.error:
        return False
    used = _digests(a) == _digests(b)
    return used and (bool(a.steps) or (a.losses == b.losses and a.leaves == b.leaves))


def _digests(record: Record) -> dict[str, list[tuple[str, str]]]:
    return {name: [(step[0], step[3]) for step in steps] for name, steps in record.steps.items()}


def close(a: Record, b: Record) -> bool:
    """The same but for rounding, as sums in another order are."""
    if a.error or b.error or not a.steps or a.steps.keys() != b.steps.keys():
        return False
    for name, steps in a.steps.items():
        if len(steps) != len(b.steps[name]):
            return False
        for (_, norm, along, _), (_, other, other_along, _) in zip(steps, b.steps[name], strict=True):
            size = max(abs(norm), abs(other), 1e-12)
            if abs(norm - other) > CLOSE * size or abs(along - other_along) > CLOSE * size:
                return False
    return True


def same_law(mutant: Record, right: Record) -> bool:
    """Has the right program each kind of pass and step that the mutant has?"""
    return set(mutant.ledger) <= set(right.ledger)


def no_fuller(mutant: Record, right: Record) -> bool:
    """Do graphs never hold more at once than in the right program?"""
    return max(mutant.alive[::2], default=0) <= max(right.alive[::2], default=0)


def clears_more(mutant: Record, right: Record) -> bool:
    """Are more gradients cleared unused, as those for the other network of a GAN are, and none left?"""
    return mutant.unused[0] > right.unused[0] and mutant.unused[1] == right.unused[1]


def no_dearer(patched: Record, right: Record) -> bool:
    """Does a program hold and save no more than the right one does?"""
    return patched.saved <= right.saved and sum(patched.alive) <= sum(right.alive)


# What follows runs in the process of the program.


def record(run: Any, result: Path, memory: bool, alike: bool = False) -> None:
    """Call `run`, and leave a Record. With `memory`, what graphs save is counted, and writes in place go unnoticed.

    With `alike`, every operation that draws random numbers begins from one seed: two programs that draw in another
    order, and are the same otherwise, then compute the same bits.
    """
    import torch

    kept = Record()
    _seed()
    if alike:
        _draw_alike(torch)
    ledger = Ledger(torch)
    ledger.entries = kept.ledger
    _watch_engine(torch, kept, ledger=None if memory else ledger)
    _watch_optimizers(torch, kept, None if memory else ledger)
    held = _Held.start(torch) if memory else None
    if held is not None:
        account, alive = held, kept.alive
        _watch_engine(
            torch, Record(), lambda: alive.extend((account.bytes, _nodes(torch) if len(alive) < LOOKS else 0))
        )
    began = time.process_time()  # what else the machine does is of no matter
    try:
        run()
    except SystemExit as error:
        kept.error = "SystemExit" if error.code else ""
    except BaseException as error:
        kept.error, kept.message = (
            type(error).__name__,
            str(error).strip().splitlines()[0] if str(error).strip() else "",
        )
    kept.seconds = time.process_time() - began
    kept.unused = (0, 0) if memory else (ledger.unused, ledger.left())
    if held is not None:
        kept.saved = held.count
        kept.alive.append(held.bytes)
    if not kept.steps and not kept.error:
        kept.leaves = _leaves(torch)
    result.write_text(json.dumps(asdict(kept)))


def _seed() -> None:
    import torch

    torch.manual_seed(0)
    random.seed(0)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(0)


def _draw_alike(torch: Any) -> None:
    from torch.utils._python_dispatch import TorchDispatchMode

    class Alike(TorchDispatchMode):
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if torch.Tag.nondeterministic_seeded in function.tags:
                torch.manual_seed(0)
            return function(*args, **(kwargs or {}))

    Alike().__enter__()


def _watch_engine(torch: Any, kept: Record, tell: Any = None, ledger: Ledger | None = None) -> None:
    plain = torch.autograd.graph._engine_run_backward

    def engine(outputs: Any, *args: Any, **options: Any) -> Any:
        kept.losses.append(_digest(outputs))
        if ledger is not None:
            ledger.passes(outputs, options, args[1:3])
        if tell is not None:
            tell()
        try:
            return plain(outputs, *args, **options)
        finally:
            if tell is not None:
                tell()

    torch.autograd.graph._engine_run_backward = torch.autograd._engine_run_backward = engine


def _watch_optimizers(torch: Any, kept: Record, ledger: Ledger | None) -> None:
    order: list[Any] = []  # as they were built
    plain = torch.optim.Optimizer.__init__

    def init(self: Any, *args: Any, **options: Any) -> None:
        order.append(self)
        plain(self, *args, **options)
        if ledger is not None:
            ledger.optimizer(len(order) - 1, parameters(self))

    torch.optim.Optimizer.__init__ = init
    used: dict[int, tuple[str, float, float]] = {}

    def parameters(optimizer: Any) -> list[Any]:
        return [p for group in optimizer.param_groups for p in group["params"]]

    def before(optimizer: Any, args: Any, options: Any) -> None:
        gradients = [p.grad for p in parameters(optimizer)]
        if ledger is not None:
            ledger.step(next((n for n, o in enumerate(order) if o is optimizer), -1), parameters(optimizer))
        used[id(optimizer)] = (_digest(gradients), *_size(torch, gradients))

    def after(optimizer: Any, args: Any, options: Any) -> None:
        number = next((n for n, o in enumerate(order) if o is optimizer), -1)
        step = (*used.pop(id(optimizer), ("", 0.0, 0.0)), _digest(parameters(optimizer)))
        kept.steps.setdefault(str(number), []).append(step)

    hooks = importlib.import_module("torch.optim.optimizer")
    hooks.register_optimizer_step_pre_hook(before)
    hooks.register_optimizer_step_post_hook(after)


def _digest(tensors: Any) -> str:
    import torch

    state = hashlib.blake2b(digest_size=8)
    for tensor in tensors:
        if not isinstance(tensor, torch.Tensor):
            state.update(b"none")
            continue
        plain = tensor.detach()
        if plain.layout is not torch.strided:
            plain = plain.to_dense()
        state.update(plain.contiguous().cpu().reshape(-1).view(torch.uint8).numpy().tobytes())
    return state.hexdigest()


def _size(torch: Any, gradients: list[Any]) -> tuple[float, float]:
    """The norm of all gradients together, and what they are along one fixed direction."""
    flat = [g.detach().to_dense().double().reshape(-1) for g in gradients if g is not None and not g.is_complex()]
    if not flat:
        return 0.0, 0.0
    whole = torch.cat(flat)
    return float(whole.norm()), float(whole @ torch.cos(torch.arange(len(whole), dtype=torch.float64)))


def _leaves(torch: Any) -> list[str]:
    gc.collect()
    tensors = [o for o in gc.get_objects() if type(o) in (torch.Tensor, torch.nn.Parameter)]
    return sorted(_digest([t]) for t in tensors if t.is_leaf and t.requires_grad)


def _nodes(torch: Any) -> int:
    """How many nodes the tensors of the program hold; what was loaded before it does not count (`gc.freeze`)."""
    tensors = [o for o in gc.get_objects() if type(o) in (torch.Tensor, torch.nn.Parameter)]
    waiting = [t.grad_fn for t in tensors if t.grad_fn is not None]
    seen: set[Any] = set()
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            waiting += [parent for parent, _ in node.next_functions if parent is not None]
    return len(seen)


class _Held:
    """Counts what graphs hold, by wrapping every value that is saved."""

    bytes = 0
    count = 0

    @classmethod
    def start(cls, torch: Any) -> _Held:
        account = cls()

        class Saved:
            __slots__ = ("tensor",)

            def __init__(self, tensor: Any) -> None:
                self.tensor = tensor
                account.bytes += tensor.nbytes
                account.count += 1

            def __del__(self) -> None:
                account.bytes -= self.tensor.nbytes

        torch._C._autograd._push_saved_tensors_default_hooks(Saved, lambda saved: saved.tensor)
        return account
