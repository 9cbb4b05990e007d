"""Python's debugger where the program failed, with what was found out at hand."""

from __future__ import annotations

import pdb
import sys
from collections.abc import Callable, Mapping
from types import FrameType, TracebackType
from typing import Any

from afterward.model.diagnosis import Diagnosis
from afterward.tasks.run import Outcome


class Shown:
    """A finding, which a debugger prints as a person reads it; its fields are those of the diagnosis."""

    def __init__(self, found: Diagnosis, text: str) -> None:
        self._found, self._text = found, text

    def __getattr__(self, name: str) -> Any:
        return getattr(self._found, name)

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
        for bridge in getattr(self.at_hand.get("finding"), "bridges", ()):
            try:
                value = eval(bridge.name, getattr(self.curframe, "f_globals", {}), names)
            except Exception:  # it is known elsewhere, by another name
                continue
            names.setdefault("bridge", value)
            return


def debug(outcome: Outcome, text_of: Callable[[Diagnosis], str]) -> None:
    """Open the debugger on the exception that ended the program, if one did."""
    from afterward.observe.marks.userfiles import is_user_file

    error = outcome.error
    if error is None or isinstance(error, (SystemExit, KeyboardInterrupt)) or error.__traceback__ is None:
        return
    at_hand: dict[str, Any] = {"error": error}
    numbers = [n for n, found in enumerate(outcome.report.findings) if not found.caught]
    if numbers:
        found = outcome.report.findings[numbers[-1]]
        at_hand["finding"] = Shown(found, text_of(found))
        at_hand["graph"] = outcome.saved().history_of(numbers[-1])
    print(f"afterward: {', '.join(f'`{name}`' for name in at_hand)} and `bridge` are at hand", file=sys.stderr)
    debugger = Debugger(at_hand, is_user_file)
    debugger.reset()
    debugger.interaction(None, error.__traceback__)
