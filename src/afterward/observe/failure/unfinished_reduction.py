"""Explains "Expected to have finished reduction in the prior iteration", with which DistributedDataParallel refuses a
forward pass.

The traceback still holds the module, and torch's message the numbers of the parameters that got no gradient. A
framework may put a message of its own in its place (Lightning does); then what is in `.grad` tells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import FrameType, TracebackType
from typing import Any

from afterward.follow.reading import reads
from afterward.model.clock import MOST_EVENTS, event_moment
from afterward.model.history import Gap, History, Leaf, Pass, Step, Value
from afterward.model.site import Site
from afterward.model.steps import with_library_steps
from afterward.observe import compat
from afterward.observe.failure.saved_reads import Reading
from afterward.observe.marks.stack import locals_of
from afterward.observe.node_numbers import next_node
from afterward.observe.recording.events import PassSeen, StepSeen, clock_of
from afterward.observe.recording.recorder import Recorder
from afterward.observe.recording.replicas import distributed_kind
from afterward.observe.silent.ledger import LedgerWriter


def examine_unfinished(
    recorder: Recorder, error: BaseException, *, is_user: Any, gaps: list[Gap], ledger: LedgerWriter
) -> History | None:
    """The history of the pass before; None where the exception tells of something else."""
    module = _module(error)
    if compat.error_kind(error) != "ddp_unfinished" and not _refused(module, error):
        return None
    calls = [one for one in _tracebacks(error) if is_user(one.tb_frame.f_code.co_filename)]
    if module is None or not calls:
        return None
    frames: list[FrameType] = [one.tb_frame for one in reversed(calls)]
    reading = _Refused(recorder, is_user, ledger)
    reading.inputs, reading.outputs = [], ()
    reading.look_from([], frames)
    reading.rewind(frames[0].f_code.co_filename, calls[-1].tb_lineno)
    return reading.history_of_forward(module, error, tuple(gaps))


def _tracebacks(error: BaseException) -> Iterator[TracebackType]:
    traceback = error.__traceback__
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _module(error: BaseException) -> Any:
    kind = distributed_kind()
    owners = [locals_of(one.tb_frame).get("self") for one in _tracebacks(error)]
    return next((owner for owner in reversed(owners) if kind is not None and isinstance(owner, kind)), None)


def _refused(module: Any, error: BaseException) -> bool:
    """Did the module itself refuse a forward pass, while a parameter that it waits for has no gradient?

    Its own calls into torch raise a plain RuntimeError; errors of the network between ranks have classes of their own.
    """
    raises = [locals_of(one.tb_frame).get("self") for one in _tracebacks(error)][-1:]
    if module is None or type(error) is not RuntimeError or not any(one is module for one in raises):
        return False
    reached = [one.grad is not None for one in module.module.parameters() if one.requires_grad]
    waits = not module.find_unused_parameters and not module.static_graph
    return waits and any(reached) and not all(reached)


class _Refused(Reading):
    def history_of_forward(self, module: Any, error: BaseException, gaps: tuple[Gap, ...]) -> History | None:
        parameters = [(name, one) for name, one in module.module.named_parameters() if one.requires_grad]
        seen = [event for event in self.passes_seen() if event.call == "backward"]
        if not seen or not self.trail:
            return None
        passes = self.passes(seen)
        passes[-1] = replace(passes[-1], reached=_reached(error, parameters))
        late = Pass(
            len(seen),
            self.where(self.trail[-1]),
            event_moment(next_node(), self.recorder.moment, MOST_EVENTS),  # after whatever a library did last
            call="forward",
            error="ddp_unfinished",
            message=str(error),
        )
        leaves = tuple(Leaf(number, name, replicated=True) for number, (name, _) in enumerate(parameters))
        steps = tuple(
            Step(self.where(event.place), clock_of(event), self.optimizers.get(event.optimizer, ("", None))[0])
            for event in self.recorder.settle()
            if isinstance(event, StepSeen)
        )
        first = History((), (*passes, late), steps, leaves=leaves, gaps=gaps)
        missed = {leaf.name.partition(".")[0] for leaf in leaves if leaf.id not in passes[-1].reached}
        reached = {leaf.name.partition(".")[0] for leaf in leaves if leaf.id in passes[-1].reached}
        return with_library_steps(replace(first, values=tuple(self._uses(missed, reached, seen[-2:]))))

    def _uses(self, parts: set[str], reached: set[str], last: list[PassSeen]) -> Iterator[Value]:
        """Where the program reads these parts of the module: those that ran, and others of the same files.

        A part of which something was reached took part itself; whether all in it did is not known.
        """
        began = last[0].moment if len(last) > 1 else 0
        ran = {place.number for place in self.trail if began <= place.moment <= last[-1].moment}
        table = self.sources.statements.table
        files = {table[number].file for number in ran}
        found: dict[Site, Value] = {}
        for number in sorted(range(len(table)), key=lambda number: (number not in ran, number)):
            entry = table[number]
            statement = self.sources.statement(number) if entry.file in files else None
            for name in reads(statement) if statement is not None else ():
                part = name.text.rpartition(".")[2]
                if part in parts and not name.is_plain and entry.function.rpartition(".")[2] != "__init__":
                    site = self.sources.site_of(entry.file, name.node)
                    how = ("in_part" if part in reached else "read") if number in ran else "not_run"
                    found.setdefault(site, Value(part, "attribute", -1, how=how, site=site))
        yield from found.values()


def _reached(error: BaseException, parameters: list[tuple[str, Any]]) -> frozenset[int]:
    """The parameters that got a gradient: by torch's own account, else by what is in `.grad`."""
    missed = compat.parameters_without_gradient(error)
    if missed is not None:
        return frozenset(range(len(parameters))) - missed
    return frozenset(number for number, (_, one) in enumerate(parameters) if one.grad is not None)
