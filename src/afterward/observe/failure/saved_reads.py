"""Explains an error that no pass raised: the program itself read `node._saved_...` after a pass had freed it.

Nothing stands at that door, so this is looked into when the exception has left the program: its traceback still
holds the frames, and they the node. The expression that was read is followed by hand; no code of the program runs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import FrameType
from typing import Any

from afterward.model.clock import event_moment
from afterward.model.history import Edge, Gap, History, Pass
from afterward.observe import compat
from afterward.observe.failure.postmortem import Autopsy
from afterward.observe.node_numbers import next_node
from afterward.observe.provenance.frame_values import value_of
from afterward.observe.recording.recorder import Recorder
from afterward.observe.silent.ledger import LedgerWriter

_SAVED = ("_saved_", "_raw_saved_", "saved_tensors", "saved_variables")


def examine_read(
    recorder: Recorder, error: BaseException, *, is_user: Any, gaps: list[Gap], ledger: LedgerWriter
) -> History | None:
    """The history of the graph whose node was read; None where the exception tells of something else."""
    frames, line = _frames(error, is_user)
    if not frames or compat.error_kind(error) != "second_backward":
        return None
    reading = Reading(recorder, is_user, ledger)
    node = reading.node_read(frames[0], line)
    return None if node is None else reading.history_of_read(node, frames, line, str(error), tuple(gaps))


def _frames(error: BaseException, is_user: Any) -> tuple[list[FrameType], int]:
    """The program's frames, innermost first, if the innermost of all is one of them, and the line that raised."""
    frames: list[FrameType] = []
    line = 0
    traceback = error.__traceback__
    while traceback is not None:
        line = traceback.tb_lineno
        innermost = traceback.tb_frame
        if is_user(innermost.f_code.co_filename):
            frames.append(innermost)
        traceback = traceback.tb_next
    if not frames or frames[-1] is not innermost:
        return [], 0
    return frames[::-1], line


class Reading(Autopsy):
    def node_read(self, frame: FrameType, line: int) -> Any:
        """The node, freed, that the line reads a saved value of."""
        try:
            tree = ast.parse(self.sources.text(frame.f_code.co_filename))
        except (SyntaxError, ValueError):
            return None
        for owner, name in _saved_read(tree, line):
            node = value_of(owner, frame)
            if compat.is_node(node) and any(
                state == "freed" and _same_name(name, saved) for saved, state, _ in compat.saved_states(node)
            ):
                return node
        return None

    def history_of_read(
        self, node: Any, frames: list[FrameType], line: int, message: str, gaps: tuple[Gap, ...]
    ) -> History:
        self.inputs, self.outputs = [], ()
        self.look_from([(node, 0)], frames)
        self.rewind(frames[0].f_code.co_filename, line)
        nodes = self.failed_graph.nodes(self.places, self.wording)
        seen = self.passes_seen()
        where = self.where(self.trail[-1] if self.trail else None)
        late = Pass(
            len(seen),
            where,
            event_moment(next_node(), self.recorder.moment),
            (Edge(0, 0),),
            "read",
            retains_graph=True,
            used=frozenset({0}),
            error="second_backward",
            message=message,
            read_in=where,
        )
        return self.told(nodes, late, (*self.passes(seen), late), gaps)


def _saved_read(tree: ast.AST, line: int) -> Iterator[tuple[ast.expr, str]]:
    """(the node's expression, the attribute) for each saved value that is read in the line."""
    for each in ast.walk(tree):
        if not isinstance(each, ast.expr) or not each.lineno <= line <= (each.end_lineno or each.lineno):
            continue
        if isinstance(each, ast.Attribute) and each.attr.startswith(_SAVED):
            yield each.value, each.attr
        elif isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id == "getattr":
            for name in each.args[1:2]:
                yield each.args[0], str(name.value) if isinstance(name, ast.Constant) else ""


def _same_name(attribute: str, saved: str) -> bool:
    """Is this the attribute by which a saved value is read? One whose name is not known may be any."""
    return not attribute or attribute in ("saved_tensors", "saved_variables") or attribute.endswith(saved.split("[")[0])
