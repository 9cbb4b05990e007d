"""Finds training loops whose every turn takes one sample through a model that takes a batch, and tries a batch.

The samples must be there before the loop begins (rows of one tensor, or a data set behind a loader of single samples),
a turn may need nothing of another but the parameters, and the model itself must say, by its own forward, that a batch
of samples gives what the samples give one by one. That forward is called only where nobody can notice.
"""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from types import FrameType
from typing import Any

from afterward.model.history import Measured, Singles
from afterward.observe import compat
from afterward.observe.failure.walk import LOOK_NODES, walk
from afterward.observe.provenance.sources import Sources
from afterward.observe.recording.events import PassSeen, StepSeen
from afterward.observe.recording.recorder import Recorder
from afterward.observe.replay.ended_run import Aftermath
from afterward.observe.silent.batch_trial import nobody_notices, rows_of, try_batch
from afterward.observe.silent.iteration import Turn, turn_at
from afterward.observe.silent.loss_parts import mentions_gradients
from afterward.observe.silent.pure import UNKNOWN, parts_of

TURNS = 16  # of one entry of the loop
ENTRIES = 2  # a second one shows that the samples are there to be taken again: no stream
_ROWS = {
    "AddmmBackward0": "mat1",
    "MmBackward0": "self",
    "ConvolutionBackward0": "input",
    "EmbeddingBackward0": "indices",
}
_TAKES = (*_ROWS, "TBackward", "TransposeBackward", "NativeLayerNormBackward", "NativeBatchNormBackward",
          "NativeGroupNormBackward", "PreluKernelBackward")  # fmt: skip
_VIEWS = frozenset({"unsqueeze", "view", "reshape", "flatten", "float", "double", "squeeze"})
_AROUND = frozenset({"enumerate", "tqdm", "trange", "list", "zip"})


@dataclass(slots=True)
class OneEach:
    """A call site of passes, each over the graph of one sample; as it was when it was looked at."""

    seen: PassSeen
    called: tuple[str, int, int]  # file, line and column of the statement that calls the model
    loop: tuple[str, int, int]
    nodes: int
    source: str  # the name of what holds the samples
    measured: Measured
    state: object  # of all that the loss is made of but parameters
    confirmed: bool | None = None  # was it the same, some turns later?


def one_each(recorder: Recorder, seen: PassSeen, roots: list[Any], frames: list[FrameType]) -> OneEach | None:
    """Look whether a pass belongs to a loop that trains on single samples, and try a batch if so."""
    if seen.site < 0 or seen.call != "backward" or seen.retains_graph or seen.creates_graph:
        return None
    nodes = _single_row(roots)
    if not nodes or not nobody_notices():
        return None
    turn = turn_at(Sources(recorder.statements), seen.site, frames)
    return _Look(seen, turn, nodes).judge() if turn is not None else None


def look_again(one: OneEach, recorder: Recorder, seen: PassSeen, frames: list[FrameType]) -> None:
    """Some turns later: has anybody changed what the loss is made of, where no statement of the loop says so?"""
    if one.seen.site == seen.site and one.confirmed is not False:
        turn = turn_at(Sources(recorder.statements), seen.site, frames)
        one.confirmed = turn is not None and turn.state() == one.state


def _single_row(roots: list[Any]) -> int:
    """How many nodes a graph has, where each layer in it was given one row; 0 otherwise."""
    found = walk(roots, limit=LOOK_NODES)
    if len(found.inputs) < len(found.nodes):
        return 0
    layers = 0
    for place, node in enumerate(found.nodes):
        takes_leaf = any(compat.order_of(found.nodes[one]) == compat.LEAF_ORDER for one, _ in found.inputs[place])
        name = node.name()
        if takes_leaf and not name.startswith(_TAKES):
            return 0
        if name in _ROWS:
            given = next((tensor for kept, _, tensor in compat.saved_states(node) if kept == _ROWS[name]), None)
            if given is not None:
                layers += 1
                rows = given.numel() if name == "EmbeddingBackward0" else given.shape[0]
                if rows != 1:
                    return 0
            elif takes_leaf and name == "AddmmBackward0":
                return 0
    return len(found.nodes) if layers else 0


class _Look:
    """One look at one turn, while it is at its backward."""

    def __init__(self, seen: PassSeen, turn: Turn, nodes: int) -> None:
        self.seen, self.turn, self.nodes = seen, turn, nodes
        self.known = turn.known

    def judge(self) -> OneEach | None:
        call = self._model_call()
        if call is None:
            return None
        statement, expression, model = call
        given = [self._value(one) for one in expression.args]
        held = [self._samples(one) for one in given]
        if expression.keywords or not given or any(one is None for one in held):
            return None
        samples, names = [one[0] for one in held if one], [one[1] for one in held if one]
        if len({len(one) for one in samples}) != 1:
            return None
        measured = try_batch(model, given, samples, ast.unparse(expression.func))
        if measured is None:
            return None
        loop = self.turn.loop
        return OneEach(
            self.seen, (self.turn.file, statement.lineno, statement.col_offset),
            (self.turn.loop_file, loop.lineno, loop.col_offset), self.nodes, names[0], measured, self.turn.state(),
        )  # fmt: skip

    def _model_call(self) -> tuple[ast.stmt, ast.Call, Any] | None:
        """The one call of a module with parameters; its input must still have its name."""
        torch = compat.torch_module()
        found: list[tuple[ast.stmt, ast.Call, Any]] = []
        for statement, value in self.turn.values():
            for node in ast.walk(value):
                called = self.known(node.func) if isinstance(node, ast.Call) else None
                if isinstance(node, ast.Call) and isinstance(called, torch.nn.Module) and _parameters(called):
                    found.append((statement, node, called))
        if len(found) != 1 or not self.seen.leaves or not self.seen.leaves <= _parameters(found[0][2]):
            return None
        statement, call, model = found[0]
        made = self.turn.making.statements
        later = made[: made.index(statement) + 1] if statement in made else []
        names = (node for one in later for node in ast.walk(one) if isinstance(node, ast.Name))
        assigned = {node.id for node in names if isinstance(node.ctx, ast.Store)}
        given = {n.id for one in call.args for n in ast.walk(one) if isinstance(n, ast.Name)}
        return (statement, call, model) if not assigned & given else None  # what it was given has its name no more

    def _value(self, expression: ast.expr) -> Any:
        """The tensor that an argument was: a name, a part of one, or another view of it."""
        torch = compat.torch_module()
        if isinstance(expression, (ast.Name, ast.Attribute)):
            return self.known(expression)
        if isinstance(expression, ast.Subscript):
            whole, index = self._value(expression.value), self._index(expression.slice)
            fits = type(whole) is torch.Tensor and index is not UNKNOWN
            return whole[index] if fits else UNKNOWN
        if isinstance(expression, ast.Call) and isinstance(expression.func, ast.Attribute) and not expression.keywords:
            whole, arguments = self._value(expression.func.value), [self._index(one) for one in expression.args]
            fits = type(whole) is torch.Tensor and expression.func.attr in _VIEWS
            if fits and all(isinstance(one, int) for one in arguments):
                return getattr(whole, expression.func.attr)(*arguments)
        return UNKNOWN

    def _index(self, expression: ast.expr) -> Any:
        """A number, or a range of numbers, by names and sums of the program's."""
        if isinstance(expression, ast.Slice):
            parts = [None if one is None else self._index(one) for one in (expression.lower, expression.upper)]
            return slice(*parts) if expression.step is None and UNKNOWN not in parts else UNKNOWN
        if isinstance(expression, ast.Constant):
            value = expression.value
        elif isinstance(expression, ast.UnaryOp) and isinstance(expression.op, ast.USub):
            inner = self._index(expression.operand)
            return -inner if isinstance(inner, int) else UNKNOWN
        elif isinstance(expression, ast.BinOp) and isinstance(expression.op, (ast.Add, ast.Sub)):
            left, right = self._index(expression.left), self._index(expression.right)
            fit = isinstance(left, int) and isinstance(right, int)
            return UNKNOWN if not fit else left + right if isinstance(expression.op, ast.Add) else left - right
        else:
            value = self.known(expression)
        return value if type(value) is int else UNKNOWN

    def _samples(self, given: Any) -> tuple[Any, str] | None:
        """All samples that this one is of, the first dimension counting them, and the name of what holds them."""
        torch = compat.torch_module()
        if type(given) is not torch.Tensor or given.requires_grad or given.device.type != "cpu" or not given.dim():
            return None
        loop = self.turn.loop
        for name in sorted({n.id for n in ast.walk(loop) if isinstance(n, ast.Name)}):
            whole = self.turn.around(ast.Name(name, ast.Load()))
            rows = rows_of(whole, given) if type(whole) is torch.Tensor else None
            if rows is not None and len(rows) >= TURNS:
                return rows, name
        rows = rows_of(given._base, given) if type(given._base) is torch.Tensor else None  # what it is a view of
        if rows is not None and len(rows) >= TURNS:
            return rows, ast.unparse(loop.iter)
        return self._loaded(given)

    def _loaded(self, given: Any) -> tuple[Any, str] | None:
        """The samples of a data set that a loader hands out one by one."""
        torch = compat.torch_module()
        iterated = self.turn.loop.iter
        while isinstance(iterated, ast.Call) and iterated.args and _last_name(iterated.func) in _AROUND:
            iterated = iterated.args[0]
        loader = self.turn.around(iterated)
        data = torch.utils.data
        if type(loader) is not data.DataLoader or loader.batch_size != 1 or given.shape[0] != 1:
            return None
        ordered = (data.RandomSampler, data.SequentialSampler)
        if type(loader.sampler) not in ordered or loader.collate_fn is not data.default_collate:
            return None  # a stream has neither beginning nor end
        if not given.is_floating_point():
            return None
        shades = torch.linspace(1.0, 0.5, TURNS, dtype=given.dtype).reshape(-1, *[1] * given.dim())
        return shades * given, ast.unparse(iterated)  # samples are not fetched: that would run the program's code


def _last_name(expression: ast.expr) -> str:
    return expression.attr if isinstance(expression, ast.Attribute) else getattr(expression, "id", "")


def _parameters(module: Any) -> frozenset[int]:
    parts = parts_of(module)
    return frozenset(id(p) for part in parts for p in vars(part).get("_parameters", {}).values() if p is not None)


# The end of the run


def find_single_turns(after: Aftermath, looked: list[OneEach]) -> Iterator[Singles]:
    """The loops that went on as they were when they were looked at: one sample a turn, entry after entry."""
    for one in looked:
        kind, turns = _course(after, one) if one.confirmed else ("", 0)
        table = after.places.table
        called = next((e for e in table if (e.file, e.line, e.column) == one.called), None)
        loop = next((e for e in table if (e.file, e.line, e.column) == one.loop), None)
        where = after.places.where(one.seen.place)
        if kind and called is not None and loop is not None and where is not None:
            site, around = after.places.sources.site(called), after.places.sources.site(loop)
            swept = where.site_at(where.innermost_turn)
            yield Singles(site, around, turns, one.nodes, swept, one.measured, kind, one.source)


def _course(after: Aftermath, one: OneEach) -> tuple[str, int]:
    """("step" | "sum" | "", turns of an entry): what every entry of the loop did that is still on record."""
    entries: dict[int, list[tuple[int, PassSeen, int]]] = {}  # (turn, pass, steps before the next pass)
    kept = list(after.events)
    for index, event in enumerate(kept):
        if not isinstance(event, PassSeen) or event.place is None or event.place.number != one.seen.site:
            continue
        turns_around = [turn for level in event.place.chain() for turn in level.turns]
        turn = turns_around[-1] if turns_around and _is(after, turns_around[-1][0], one.loop) else None
        if turn is None:
            return "", 0
        entries.setdefault(turn[1], []).append((turn[2], event, _steps(kept, index)))
    looks = [event for several in entries.values() for _, event, _ in several if event.swept is not None]
    same = {(len(event.swept or ()), event.bytes) for event in looks}
    turns = max((several[-1][0] for several in entries.values()), default=0)
    if len(entries) < ENTRIES or turns < TURNS or len(same) != 1:
        return "", 0
    spans = [(several[0][1].moment, several[-1][1].moment) for several in entries.values()]
    others = [run for run in after.passes if run.place is None or run.place.number != one.seen.site]
    if any(first < run.moment < last for run in others for first, last in spans):
        return "", 0  # a turn holds more than one pass
    if _heeds_gradients(after, one.seen):
        return "", 0
    inner = [one for several in entries.values() for one in several[:-1]]
    if any(turn + 1 != then[0] for several in entries.values() for (turn, _, _), then in _pairs(several)):
        return "", 0
    steps = {count for _, _, count in inner}
    if steps == {1}:
        return "step", turns
    last = [several[-1][2] for several in list(entries.values())[:-1]]
    return ("sum", turns) if steps == {0} and last and set(last) == {1} and not _zeroes(after, one) else ("", 0)


def _heeds_gradients(after: Aftermath, seen: PassSeen) -> bool:
    """Does any statement between two passes read gradients, or change them?"""
    next_pass = next((run.moment for run in after.passes if run.moment > seen.moment), seen.moment)
    begin, end = (bisect_left(after.trail, at, key=lambda place: place.moment) for at in (seen.moment, next_pass))
    statements = [after.places.sources.statement(number) for number in {one.number for one in after.trail[begin:end]}]
    return begin == end or any(one is not None and mentions_gradients(one) for one in statements)


def _pairs(several: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Passes one after the other, as far as none was forgotten in between."""
    for one, other in pairwise(several):
        if other[1].count == one[1].count + 1:
            yield one, other


def _steps(events: list[PassSeen | StepSeen], index: int) -> int:
    """How many optimizer steps lie between a pass and the next pass of whatever place."""
    count = 0
    for event in events[index + 1 :]:
        if isinstance(event, PassSeen):
            break
        count += 1
    return count


def _is(after: Aftermath, number: int, loop: tuple[str, int, int]) -> bool:
    entry = after.places.table[number]
    return (entry.file, entry.line, entry.column) == loop


def _zeroes(after: Aftermath, one: OneEach) -> bool:
    """Are gradients zeroed within the loop?"""
    loop = after.places.sources.statement_at(*one.loop)
    return loop is None or any(isinstance(n, ast.Attribute) and n.attr == "zero_grad" for n in ast.walk(loop))
