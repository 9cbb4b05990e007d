"""Python's debugger where the program failed, with what was found out at hand."""

from __future__ import annotations

import ast
import pdb
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import FrameType, TracebackType
from typing import Any

from afterward.model.diagnosis import Diagnosis
from afterward.tasks.run import Outcome


class Shown:
    """Something at hand that a debugger prints as a person reads it; its fields are those of what it stands for."""

    def __init__(self, thing: Any, text: str) -> None:
        self._thing, self._text = thing, text

    def __getattr__(self, name: str) -> Any:
        return getattr(self._thing, name)

    def __repr__(self) -> str:
        return self._text


class Debugger(pdb.Pdb):
    """Begins in the innermost frame of the program's own, where some names more are known."""

    def __init__(self, at_hand: Mapping[str, Any], is_user: Callable[[str], bool]) -> None:
        super().__init__(nosigint=True)
        self.at_hand, self.is_user = at_hand, is_user

    def get_stack(self, f: FrameType | None, t: TracebackType | None) -> tuple[list[tuple[FrameType, int]], int]:
        stack, last = super().get_stack(f, t)
        own = (n for n in range(len(stack) - 1, -1, -1) if self.is_user(stack[n][0].f_code.co_filename))
        return stack, next(own, last)

    def setup(self, f: FrameType | None, tb: TracebackType | None) -> None:
        super().setup(f, tb)
        names: Any = self.curframe_locals
        for name, value in self.at_hand.items():
            names.setdefault(name, value)


def debug(outcome: Outcome, text_of: Callable[[Diagnosis], str]) -> None:
    """Open the debugger on the exception that ended the program, if one did."""
    from afterward.observe.marks.userfiles import is_user_file

    error = outcome.error
    if error is None or isinstance(error, (SystemExit, KeyboardInterrupt)) or error.__traceback__ is None:
        return
    at_hand: dict[str, Any] = {"error": error}
    numbers = [n for n, found in enumerate(outcome.report.findings) if not found.caught]
    if numbers:
        found, graph = outcome.report.findings[numbers[-1]], outcome.saved().history_of(numbers[-1])
        at_hand["finding"] = Shown(found, text_of(found))
        if graph is not None:
            sizes = f"{len(graph.nodes)} nodes, {len(graph.passes)} passes, {len(graph.steps)} steps"
            at_hand["graph"] = Shown(graph, f"History({sizes})")
        frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)][::-1]
        values = (value for bridge in found.bridges for value in _called(bridge.name, frames, is_user_file))
        at_hand.update(zip(("bridge",), values, strict=False))
    print(f"afterward: at hand are {', '.join(f'`{name}`' for name in at_hand)}", file=sys.stderr)
    debugger = Debugger(at_hand, is_user_file)
    debugger.reset()
    debugger.interaction(None, error.__traceback__)


def _called(name: str, frames: Iterable[FrameType], is_user: Callable[[str], bool]) -> Iterator[Any]:
    """What has this name: in frames of the program's own; in those of a library, as that of an object of the program's
    (`self.hidden`)."""
    from afterward.observe.provenance.frame_values import NOT_THERE, value_of
    from afterward.observe.provenance.owners import Owners

    owners = Owners(is_user)
    for frame in frames:
        spellings = [name]
        if not is_user(frame.f_code.co_filename):
            own = (local for local, value in frame.f_locals.items() if owners.is_class(type(value)))
            spellings = [local + name[len("self") :] for local in own if name.startswith("self.")]
        for spelling in spellings:
            value = value_of(ast.parse(spelling, mode="eval").body, frame)
            if value is not NOT_THERE and value is not None:
                yield value
