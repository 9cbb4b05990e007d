"""One turn of a loop, seen from its backward: what its loss is made of, with the values that the names have now.

The backward may be called in the loop itself or in a function that the loop calls.
"""

from __future__ import annotations

import ast
import builtins
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from types import FrameType, FunctionType, ModuleType
from typing import Any

from afterward.observe import compat
from afterward.observe.provenance.sources import Sources
from afterward.observe.silent.loss_parts import Making, chain_of, hangs_together, making_of
from afterward.observe.silent.pure import UNKNOWN, Purity, attribute_of, expression_computes, parts_of

Known = Callable[[ast.expr], Any]


@dataclass
class Turn:
    """A turn of which it is known that it needs nothing of another but what is trained."""

    file: str
    loop_file: str
    loop: ast.For
    swept: ast.stmt
    making: Making  # of the loss, in the function that calls the backward
    known: Known  # what an expression stands for there
    around: Known  # and in the function that has the loop
    outer: Making = field(default_factory=Making)  # of what that function is given, where it is called by the loop

    def values(self) -> Iterator[tuple[ast.stmt, ast.expr]]:
        """The statements that make the loss, with what they compute."""
        for statement in self.making.statements:
            value = getattr(statement, "value", None)
            if isinstance(value, ast.expr):
                yield statement, value
        loss = _receiver(self.swept)
        if loss is not None:
            yield self.swept, loss

    def state(self) -> object:
        """Fingerprints of all that the loss is made of and that is not a parameter: numbers, nothing of the program."""
        made = sorted((name, _mark(known(chain_expression(name)))) for name, known in self._outside())
        return tuple(made)

    def _outside(self) -> Iterator[tuple[str, Known]]:
        yield from ((name, self.known) for name in self.making.outside)
        yield from ((name, self.around) for name in self.outer.outside)


def chain_expression(chain: str) -> ast.expr:
    return ast.parse(chain, mode="eval").body


def _mark(value: Any, depth: int = 3) -> str:
    """By which a change of a value is noticed. Parameters change as they are trained, layers of torch count for
    themselves; all else should stay as it is."""
    torch = compat.torch_module()
    if isinstance(value, (int, float, str, bool, type(None))):
        return repr(value)
    if isinstance(value, torch.nn.Parameter):
        return "parameter"
    if isinstance(value, torch.Tensor):
        return f"{id(value)}:{value._version}"
    if depth == 0 or isinstance(value, (ModuleType, FunctionType, type)):
        return str(id(value))
    if isinstance(value, torch.nn.Module):
        own = [part for part in parts_of(value) if not type(part).__module__.startswith("torch.")]
        spaces = [{**vars(part), **vars(part).get("_buffers", {})} for part in own]
        kept = [(n, v) for space in spaces for n, v in space.items() if not n.startswith("_") and n != "training"]
        return str([(name, _mark(one, depth - 1)) for name, one in kept])
    if isinstance(value, dict):
        return str(
            [
                (key if isinstance(key, (str, int)) else id(key), _mark(one, depth - 1))
                for key, one in list(value.items())[:SOME]
            ]
        )
    if isinstance(value, (list, tuple, deque)):
        some = [*islice(value, SOME), *islice(reversed(value), SOME)]
        return f"{len(value)} {[_mark(one, depth - 1) for one in some]}"
    space = getattr(value, "__dict__", {})
    return f"{id(value)} {[(name, _mark(one, depth - 1)) for name, one in list(space.items())[:SOME]]}"


SOME = 32  # of what a container holds


def turn_at(sources: Sources, site: int, frames: list[FrameType]) -> Turn | None:
    """The turn whose backward is the statement `site`; None where it hangs together with others, or nobody can tell."""
    entry, swept = sources.statements.table[site], sources.statement(site)
    loss = _receiver(swept)
    if swept is None or loss is None or not frames or frames[0].f_code.co_filename != entry.file:
        return None
    known = _Values(frames[0])
    outer_statements = list(sources.around(entry.file, swept))
    loop = next((one for one in outer_statements if isinstance(one, (ast.For, ast.While))), None)
    if isinstance(loop, ast.For):
        making = making_of(loop.body, swept, [loss], _names(loop.target))
        turn = Turn(entry.file, entry.file, loop, swept, making, known, known) if making is not None else None
    else:
        function = outer_statements[-1] if outer_statements and loop is None else None
        inside = isinstance(function, ast.FunctionDef) and len(frames) > 1
        turn = _called(sources, function, swept, loss, frames) if inside else None  # type: ignore[arg-type]
    return turn if turn is not None and _stands_alone(turn, Purity(sources)) else None


def _called(
    sources: Sources, function: ast.FunctionDef, swept: ast.stmt, loss: ast.expr, frames: list[FrameType]
) -> Turn | None:
    """The turn of a loop that calls the function in which the backward is."""
    inner, caller = frames
    file = caller.f_code.co_filename
    statement = sources.statement_on(file, caller.f_lineno)
    loop = (
        next((one for one in sources.around(file, statement) if isinstance(one, (ast.For, ast.While))), None)
        if statement
        else None
    )
    plain = not (function.args.vararg or function.args.kwarg or function.args.kwonlyargs or function.decorator_list)
    if statement is None or not isinstance(loop, ast.For) or not plain:
        return None
    around = _Values(caller)
    calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
    calls = [call for call in calls if getattr(around(call.func), "__code__", None) is inner.f_code]
    if len(calls) != 1 or calls[0].keywords or any(isinstance(one, ast.Starred) for one in calls[0].args):
        return None
    parameters = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    making = making_of(function.body, swept, [loss], set(parameters))
    outer = making_of(loop.body, statement, calls[0].args, _names(loop.target))
    if making is None or outer is None:
        return None
    owner = calls[0].func.value if isinstance(calls[0].func, ast.Attribute) else None
    if owner is not None and not isinstance(around(owner), ModuleType):
        # What the method knows as `self` the loop knows by another name.
        making = making_of(function.body, swept, [loss], set(parameters[1:]))
        if making is None:
            return None
        outer.outside |= {_renamed(chain, parameters[0], chain_of(owner)) for chain in making.outside}
        outer.changed |= {_renamed(chain, parameters[0], chain_of(owner)) for chain in making.changed}
    else:
        outer.outside |= making.outside
        outer.changed |= making.changed
    return Turn(inner.f_code.co_filename, file, loop, swept, making, _Values(inner), around, outer)


def _renamed(chain: str, own: str, name: str) -> str:
    root, dot, rest = chain.partition(".")
    return name + dot + rest if root == own else chain


def _stands_alone(turn: Turn, purity: Purity) -> bool:
    """Is the loss made by computing alone, out of nothing that another turn has changed?"""
    for making, known in ((turn.making, turn.known), (turn.outer, turn.around)):
        values = [getattr(one, "value", None) for one in making.statements]
        if making is turn.making:
            values.append(_receiver(turn.swept))
        if not all(isinstance(one, ast.expr) and expression_computes(purity, one, known) for one in values):
            return False
        owners = {owner for one in values if one is not None for owner in _owners(one, known)}
        if hangs_together(making.outside | owners, making.changed):
            return False
    return not turn.loop.orelse


def _owners(expression: ast.expr, known: Known) -> Iterator[str]:
    """Whatever a method is called on is what it may read as a whole."""
    for node in ast.walk(expression):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = known(node.func.value)
            if type(known(node.func)) is FunctionType and not isinstance(owner, ModuleType) and owner is not UNKNOWN:
                yield chain_of(node.func.value)


class _Values:
    """What expressions stand for in a call at this moment, where reading them runs no code."""

    # No function inside a function: one that calls itself is a cycle, and would keep the program's values alive.

    def __init__(self, frame: FrameType) -> None:
        self.spaces = (dict(frame.f_locals), frame.f_globals, vars(builtins))

    def __call__(self, expression: ast.expr) -> Any:
        if isinstance(expression, ast.Name):
            return next((space[expression.id] for space in self.spaces if expression.id in space), UNKNOWN)
        if isinstance(expression, ast.Attribute):
            value = self(expression.value)
            return UNKNOWN if value is UNKNOWN else attribute_of(value, expression.attr)
        return UNKNOWN


def _names(target: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}


def _receiver(statement: ast.stmt | None) -> ast.expr | None:
    """What `.backward()` is called on."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "backward":
        return call.func.value if not call.args and not call.keywords else None
    return None
