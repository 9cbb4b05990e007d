"""Counts the bytes that graphs make a program hold, at every pass: opt-in, for it takes time.

The saved values are read off the nodes themselves, so nothing about the program changes; each storage counts once.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterable
from dataclasses import dataclass, field
from time import time_ns  # bound here: a program may put another clock in its place
from types import FrameType
from typing import Any

from afterward.model.memory import Allocator, LineBytes, Memory, PassBytes
from afterward.observe import compat
from afterward.observe.failure.walk import LOOK_NODES, roots_of, storage_key, walk
from afterward.observe.looking import parameters_held_by
from afterward.observe.marks.stack import user_frames
from afterward.observe.marks.statements import SHIFT
from afterward.observe.marks.userfiles import is_user_file
from afterward.observe.node_numbers import order_of
from afterward.observe.provenance.naming import Names, search
from afterward.observe.provenance.sources import Sources
from afterward.observe.recording.engine import Hook
from afterward.observe.recording.recorder import Recorder, Recorders
from afterward.observe.replay.executing import Executing

FIRST, EVERY = 8, 64  # passes of a site for which other living graphs are searched too


@dataclass
class Saved:
    """What a number of nodes have saved, each storage once, for the oldest node that saved it."""

    storages: dict[int, tuple[int, int]] = field(default_factory=dict)  # address -> (bytes, order of the node)
    parameters: dict[int, int] = field(default_factory=dict)
    packed: int = 0
    nodes: int = 0

    @property
    def bytes(self) -> int:
        return sum(size for size, _ in self.storages.values())

    def add(self, nodes: Iterable[Any]) -> None:
        for node in nodes:
            order = order_of(node)
            if order == compat.LEAF_ORDER:
                variable = getattr(node, "variable", None)
                if variable is not None:
                    self.parameters.setdefault(storage_key(variable)[0], 0)
                continue
            self.nodes += 1
            for _, state, tensor in compat.saved_states(node):
                if tensor is None:
                    self.packed += state == "live"
                    continue
                address, size = storage_key(tensor)
                known = self.storages.get(address)
                if size and (known is None or order < known[1]):
                    self.storages[address] = (size, order)
        for address in self.parameters.keys() & self.storages.keys():
            self.parameters[address] = self.storages.pop(address)[0]


@dataclass
class _Site:
    """The passes of one statement."""

    call: str
    passes: int = 0
    retaining: int = 0
    most: int = 0
    kept: int = 0


class Account:
    """The account of one run."""

    def __init__(self, recorders: Recorders) -> None:
        self.recorders = recorders
        self.sources = Sources(recorders.statements)
        self.sites: dict[int, _Site] = {}
        self.peak: Memory | None = None
        self.too_large = 0
        self._step: tuple[str, int] | None = None  # device, and bytes allocated after the last optimizer step
        self._highest = -1
        self._optimizers: dict[int, weakref.ref[Any]] = {}

    def around(self, begins: Hook) -> Hook:
        """The observer's hook on passes, with the counting before it."""

        def counted(outputs: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            began = time_ns()
            try:
                self._pass_begins(outputs, args, kwargs, sys._getframe(1))
            except Exception:  # what cannot be read is not counted: the program goes on
                self.too_large += 1
            self.recorders.current().note_own_time(began, time_ns())
            begins(outputs, args, kwargs)

        return counted

    def _pass_begins(self, outputs: Any, args: tuple[Any, ...], kwargs: dict[str, Any], frame: FrameType) -> None:
        recorder = self.recorders.current()
        number = recorder.marks[-1] >> SHIFT if recorder.marks else -1
        site = self.sites.setdefault(number, _Site("backward" if kwargs.get("accumulate_grad", True) else "grad"))
        site.passes += 1
        site.retaining += bool(args[1] or args[2])
        found = walk((node for node, _ in roots_of(outputs)), limit=LOOK_NODES)
        if len(found.inputs) < len(found.nodes):
            self.too_large += 1
            return
        saved = Saved()
        saved.add(found.nodes)
        own = saved.bytes
        site.most = max(site.most, own)
        if args[1] or args[2]:
            site.kept = max(site.kept, own)
        due = site.passes <= FIRST or not site.passes & (site.passes - 1) or site.passes % EVERY == 0
        if not due and own <= self._highest:
            return
        names = search(list(user_frames(frame, is_user_file)), is_user_file)
        self._add_others(saved, names, set(found.position))
        unmeasured = self.peak is not None and self.peak.allocator is None and self._step is not None
        if saved.bytes > self._highest or (saved.bytes == self._highest and unmeasured):
            self._highest = saved.bytes
            self.peak = self._memory(recorder, saved, names, own, number, site.passes)

    def _add_others(self, saved: Saved, names: Names, seen: set[Any]) -> None:
        """Graphs that depend on names of the program's and are not part of this pass."""
        others = walk((held.node for held in names.held if held.node not in seen), limit=LOOK_NODES)
        saved.add(node for node in others.nodes if node not in seen)

    def _memory(self, recorder: Recorder, saved: Saved, names: Names, own: int, number: int, step: int) -> Memory:
        lines: dict[int, list[int]] = {}
        unplaced = 0
        statement_of = Executing(recorder)
        for address, (size, order) in saved.storages.items():
            statement = statement_of(order)
            if statement is None:
                unplaced += size
                continue
            line = lines.setdefault(statement, [0, 0])
            line[0] += size
            line[1] += size if address in names.storages else 0
        counts = statement_of.counts(order for _, order in saved.storages.values())
        table = self.recorders.statements.table
        rows = [
            LineBytes(self.sources.site(table[statement]), size, counts[statement], anyway)
            for statement, (size, anyway) in lines.items()
        ]
        return Memory(
            saved.bytes,
            saved.nodes,
            self.sources.site(table[number]) if number >= 0 else None,
            step,
            tuple(sorted(rows, key=lambda row: (-row.bytes, row.site.file, row.site.line))),
            unplaced,
            saved.bytes - own,
            sum(saved.parameters.values()),
            saved.packed,
            allocator=self._allocator(),
        )

    # The allocator's own figure

    def stepped(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """An optimizer has stepped: the passes are over, and what is allocated now is not the graph's."""
        try:
            device = next((str(p.device) for p in parameters_held_by(optimizer) if p.is_cuda), None)
            if device is not None:
                self._optimizers[id(optimizer)] = weakref.ref(optimizer)
                self._step = (device, self._allocated(device))
        except Exception:  # an optimizer of another make: there is no figure then
            self._step = None

    def _allocator(self) -> Allocator | None:
        if self._step is None:
            return None
        device, before = self._step
        return Allocator(device, before, self._allocated(device), 0)

    def _allocated(self, device: str) -> int:
        """Without gradients: they come and go with `zero_grad`, and are none of the graph's."""
        optimizers = [one for reference in self._optimizers.values() if (one := reference()) is not None]
        return int(compat.torch_module().cuda.memory_allocated(device)) - _gradient_bytes(optimizers)

    # The end of the run

    def memory(self) -> Memory | None:
        """What was counted; None where no pass was."""
        if self.peak is None:
            return None
        table = self.recorders.statements.table
        passes = tuple(
            PassBytes(self.sources.site(table[number]), one.call, one.passes, one.retaining, one.most, one.kept)
            for number, one in self.sites.items()
            if number >= 0
        )
        allocator = self.peak.allocator
        if allocator is not None:
            highest = int(compat.torch_module().cuda.max_memory_allocated(allocator.device))
            allocator = Allocator(allocator.device, allocator.before, allocator.at_pass, highest)
        peak = self.peak
        return Memory(
            peak.bytes, peak.nodes, peak.site, peak.step, peak.lines, peak.unplaced, peak.other, peak.parameters,
            peak.packed, passes, allocator, self.too_large,
        )  # fmt: skip


def _gradient_bytes(optimizers: Iterable[Any]) -> int:
    """Bytes of the gradients that these optimizers' parameters have on a GPU."""
    sizes: dict[int, int] = {}
    for parameter in (one for optimizer in optimizers for one in parameters_held_by(optimizer)):
        gradient = parameter.grad
        if gradient is not None and gradient.is_cuda and not gradient.is_sparse:
            address, size = storage_key(gradient)
            sizes[address] = -(-size // 512) * 512  # the allocator gives blocks of 512 bytes
    return sum(sizes.values())
