"""Tries what a batch would save, with the model's own forward, so that nobody notices.

Nothing is recorded (`no_grad`), layers that draw numbers or keep statistics are in evaluation mode meanwhile, the
inputs are copies, and the state of the random numbers is put back. Where somebody might see it, it is not done.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from afterward.model.history import Measured
from afterward.observe import compat
from afterward.observe.marks.marking import marks_silent
from afterward.observe.silent.pure import parts_of

ROWS = 32  # samples of the trial, at most
FEWEST = 4
ROUNDS = 3
SPARE = 0.06  # seconds for the samples one by one, in one round
CLEAR = 1.5
_HOOKS = ("_global_forward_hooks", "_global_forward_pre_hooks")
_MOODY = ("dropout", "batchnorm", "activation")  # files of torch whose layers heed `training`


def nobody_notices() -> bool:
    """Is nobody following what is executed: a debugger, a profiler, another thread, a mode of torch's?"""
    torch = compat.torch_module()
    monitoring = getattr(sys, "monitoring", None)
    tools = [monitoring.get_tool(number) for number in range(6)] if monitoring is not None else []
    if sys.gettrace() is not None or sys.getprofile() is not None or any(tools):
        return False
    if threading.current_thread() is not threading.main_thread() or any(
        vars(torch.nn.modules.module).get(h) for h in _HOOKS
    ):
        return False
    return compat.nothing_intercepts()


def rows_of(whole: Any, given: Any) -> Any:
    """The tensor as samples of the shape of `given`, which is one of them, counted by the first dimension."""
    if whole.dim() < 1 or whole.requires_grad or len(whole) < 1 or whole.dtype != given.dtype:
        return None
    one = whole[0]
    same = whole.untyped_storage().data_ptr() == given.untyped_storage().data_ptr()
    if not same or one.numel() != given.numel() or not whole.stride(0):
        return None
    distance = given.storage_offset() - whole.storage_offset()
    if distance % whole.stride(0) or not 0 <= distance // whole.stride(0) < len(whole):
        return None
    return whole.reshape(len(whole), *given.shape)


def try_batch(model: Any, given: list[Any], samples: list[Any], name: str) -> Measured | None:
    """Take samples through the model, one by one and together; None unless that gives the same, and clearly sooner."""
    torch = compat.torch_module()
    state = torch.get_rng_state()
    try:
        with torch.no_grad(), marks_silent(), _calm(model) as calm:
            if not calm:
                return None
            return _measure(torch, model, given, samples, name)
    except (RuntimeError, ValueError, IndexError, TypeError):  # it does not take a batch
        return None
    finally:
        torch.set_rng_state(state)


def _measure(torch: Any, model: Any, given: list[Any], samples: list[Any], name: str) -> Measured | None:
    began = time.perf_counter()
    model(*(one.clone() for one in given))
    count = min(ROWS, len(samples[0]), int(SPARE / max(time.perf_counter() - began, 1e-9)))
    if count < FEWEST:
        return None
    singles = [tuple(one[row].clone() for one in samples) for row in range(count)]
    apart = [model(*single) for single in singles]
    joined = next((one for one in _joined(samples, count) if _same(torch, apart, _result(model, one), count)), None)
    if joined is None:
        return None
    alone = together = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for single in singles:
            model(*single)
        alone = min(alone, time.perf_counter() - start)
        copies = [one.clone() for one in joined]
        start = time.perf_counter()
        model(*copies)
        together = min(together, time.perf_counter() - start)
    return Measured(count, alone, together, name) if alone >= CLEAR * together else None


def _joined(samples: list[Any], count: int) -> Iterator[list[Any]]:
    """The samples as a batch: batches of one are put end to end, others side by side."""
    if all(one.dim() > 2 and one.shape[1] == 1 for one in samples):
        yield [one[:count].flatten(0, 1).clone() for one in samples]
    yield [one[:count].clone() for one in samples]


def _result(model: Any, joined: list[Any]) -> Any:
    try:
        return model(*(one.clone() for one in joined))
    except (RuntimeError, ValueError, IndexError, TypeError):  # it does not take a batch of this shape
        return None


def _same(torch: Any, apart: list[Any], together: Any, count: int) -> bool:
    """Is each row of the batch's result what its sample gives alone?"""
    if any(type(one) is not torch.Tensor for one in (*apart, together)):
        return False
    if together.numel() != apart[0].numel() * count:
        return False
    if not together.dim() or len(together) != count or not together.is_floating_point():
        return False
    stacked = torch.stack([one.reshape(together.shape[1:]) for one in apart])
    return bool(torch.allclose(stacked, together, rtol=1e-3, atol=1e-5)) and bool(torch.isfinite(together).all())


@contextmanager
def _calm(model: Any) -> Iterator[bool]:
    """Layers that draw random numbers or count what they see are in evaluation mode within this block."""
    moody = [
        part
        for part in parts_of(model)
        if type(part).__module__.rpartition(".")[2] in _MOODY and vars(part).get("training")
    ]
    if moody and threading.active_count() > 1:  # another thread may be about to call the same layers
        yield False
        return
    for part in moody:
        vars(part)["training"] = False
    try:
        yield True
    finally:
        for part in moody:
            vars(part)["training"] = True
