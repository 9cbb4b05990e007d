"""What `torch.compile` and `torch.export` are kept from: our marks, our files, our functions. None is promised.

Each function does nothing where this version of torch lacks the piece.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def vanish_when_compiled(function: Any) -> None:
    """Make torch.compile evaluate `function` once, while tracing, and leave no trace of it in the graph.

    This is all that `torch._dynamo.assume_constant_result` does; calling it would import the compiler.
    """
    function._dynamo_marked_constant = True


def announce_compiler(tell: Callable[[], None]) -> Callable[[], None]:
    """Have `tell` called before torch.compile reads a function; at once where that cannot be known.

    Gives back what undoes it. The handler has a list of callbacks too, but `torch._dynamo.reset` clears that.
    """
    handler = getattr(sys.modules.get("torch._dynamo"), "callback_handler", None)
    run = getattr(handler, "run_start_callbacks", None)
    if handler is None or run is None:
        tell()
        return lambda: None

    def announced(*args: Any) -> Any:
        tell()
        return run(*args)

    handler.run_start_callbacks = announced
    return lambda: vars(handler).pop("run_start_callbacks", None)


# What a mark is made of, after its constant was loaded and negated: a statement, after a value, before a value.
_MARK_SHAPES = (
    ("POP_TOP",),
    ("BUILD_TUPLE", "LOAD_CONST", "BINARY_SUBSCR"),
    ("JUMP_IF_TRUE_OR_POP",),
    ("COPY", "POP_JUMP_IF_TRUE", "POP_TOP"),
    ("COPY", "TO_BOOL", "POP_JUMP_IF_TRUE", "POP_TOP"),
)


def hide_from_compiler(is_mark: Callable[[Any], bool]) -> Callable[[], None]:
    """Have torch.compile and torch.export read the program's functions as if there were no marks in them.

    Gives back what undoes it.
    """
    home = sys.modules.get("torch._dynamo.bytecode_transformation")
    strip = getattr(home, "strip_extended_args", None)
    if home is None or strip is None:
        return lambda: None

    def without_marks(instructions: list[Any]) -> None:
        strip(instructions)
        _leave_out_marks(instructions, is_mark)

    setattr(home, "strip_extended_args", without_marks)  # noqa: B010
    return lambda: setattr(home, "strip_extended_args", strip)


def _leave_out_marks(instructions: list[Any], is_mark: Callable[[Any], bool]) -> None:
    """Take marks out of a list of dynamo's instructions; what jumped to one jumps to what follows it."""
    moved: dict[int, Any] = {}
    kept: list[Any] = []
    waiting: list[Any] = []
    place = 0
    while place < len(instructions):
        length = _length_of_mark(instructions, place, is_mark)
        if length:
            waiting += instructions[place : place + length]
            place += length
            continue
        one = instructions[place]
        moved.update((id(gone), one) for gone in waiting)
        waiting = []
        kept.append(one)
        place += 1
    if len(kept) == len(instructions):
        return
    for one in kept:
        one.target = moved.get(id(one.target), one.target)
        entry = one.exn_tab_entry
        if entry is not None:
            entry.start = moved.get(id(entry.start), entry.start)
            entry.target = moved.get(id(entry.target), entry.target)
            entry.end = _last_kept(instructions, entry.end, moved)
    instructions[:] = kept


def _length_of_mark(instructions: list[Any], place: int, is_mark: Callable[[Any], bool]) -> int:
    first = instructions[place]
    if first.opname != "LOAD_CONST" or not is_mark(first.argval):
        return 0
    after = [one.opname for one in instructions[place + 2 : place + 6]]
    return next((2 + len(shape) for shape in _MARK_SHAPES if tuple(after[: len(shape)]) == shape), 0)


def _last_kept(instructions: list[Any], end: Any, moved: dict[int, Any]) -> Any:
    """The last instruction, up to this one, that is still there."""
    place = instructions.index(end)
    while id(instructions[place]) in moved and place > 0:
        place -= 1
    return instructions[place]


def not_compiled(folder: str) -> Callable[[], None]:
    """Have torch.compile leave alone what lies in this folder, as it does torch's own files; gives back what undoes it.

    Where a compiled step calls backward, the compiler reads every Python function that runs then, ours too.
    """
    rules = sys.modules.get("torch._dynamo.trace_rules")
    folders, renew = getattr(rules, "SKIP_DIRS", None), getattr(rules, "_recompile_re", None)
    if not isinstance(folders, list) or renew is None:
        return lambda: None
    folders.append(folder)
    renew()

    def undo() -> None:
        if folder in folders:
            folders.remove(folder)
            renew()

    return undo


_STAND_INS = (
    ("torch._subclasses.fake_tensor", "FakeTensor"),
    ("torch._subclasses.functional_tensor", "FunctionalTensor"),
)


def is_traced(outputs: Any) -> bool:
    """Does a pass start from tensors that only stand for numbers? Then the compiler runs it, not the program."""
    kinds = tuple(kind for home, name in _STAND_INS if (kind := getattr(sys.modules.get(home), name, None)) is not None)
    return any(isinstance(one, kinds) for one in (outputs if isinstance(outputs, (tuple, list)) else (outputs,)))


def takes_over_backward() -> bool:
    """Is a backward pass compiled as it runs (compiled autograd), and what hooks on it with it?"""
    return bool(getattr(sys.modules.get("torch._dynamo.compiled_autograd"), "compiled_autograd_enabled", False))
