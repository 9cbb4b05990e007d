"""What a look at the running program may touch: nothing that runs code of the program's own.

To ask `isinstance(x, T)` reads `x.__class__`, which may be a property; `x.items()` or `x.params` may call anything.
These functions read what lies there, and nothing else. Whoever looks at a value of the program's uses them, within
`unseen()`: modes of torch's, which see each operation and each attribute of a tensor, do not see ours.
"""

from __future__ import annotations

import atexit
import builtins
import gc
import io
import signal
import sys
import types
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TextIO

from afterward.observe import compat
from afterward.observe.marks.stack import without_our_frames
from afterward.observe.marks.userfiles import is_user_file
from afterward.observe.plainly import plainly

_ENDING = {getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP")}  # by them one ends a program
_MRO = type.__dict__["__mro__"]
_INHERITS = type.__subclasscheck__  # by identity: `in` would ask a metaclass of the program's whether they are equal
_SPACE = type.__dict__["__dict__"]
_NAME = type.__dict__["__name__"]
_BUILTINS = dict(vars(builtins))  # as they are before the program begins
_GONE = object()
MODULE_PARTS = ("_parameters", "_buffers", "_modules")  # where a module keeps what it shows as attributes
_TEXT = io.TextIOWrapper.__mro__[1]  # what all streams of text inherit from


def is_a(value: Any, kinds: type | tuple[type, ...]) -> bool:
    """Is it one of these by its true type? What it says of itself (`__class__`) is not asked for."""
    mine = type(value)
    if isinstance(kinds, tuple):
        return any(_INHERITS(kind, mine) for kind in kinds)
    return _INHERITS(kinds, mine)


def classes_of(value: Any) -> tuple[type, ...]:
    """The true type of a value and those that it inherits from."""
    return mro_of(type(value))


def mro_of(kind: type) -> tuple[type, ...]:
    """A class and those that it inherits from."""
    mro: tuple[type, ...] = _MRO.__get__(kind)
    return mro


def name_of(kind: type) -> str:
    """What a class is called. To ask the class for it may run code of its metaclass."""
    name: str = _NAME.__get__(kind)
    return name


def space_of(value: Any) -> dict[str, Any]:
    """The attributes that lie in the value itself; empty where it keeps none, or keeps them in a way of its own."""
    for kind in classes_of(value):
        found = members_of(kind).get("__dict__")
        if found is None:
            continue
        if type(found) not in (types.GetSetDescriptorType, types.MemberDescriptorType):
            return {}
        try:
            space = found.__get__(value)
        except (AttributeError, TypeError):
            return {}
        return space if is_a(space, dict) else {}
    return {}


def members_of(kind: type) -> types.MappingProxyType[str, Any]:
    """What lies in a class itself; to ask the class for it may run code of its metaclass."""
    found: types.MappingProxyType[str, Any] = _SPACE.__get__(kind)
    return found


def attribute(value: Any, name: str, default: Any = None) -> Any:
    """An attribute that lies in the value itself: no property, no `__getattr__`."""
    return dict.get(space_of(value), name, default)


def entries(mapping: Any) -> list[tuple[Any, Any]]:
    """The keys and values of a dictionary, or of what inherits from it."""
    return list(dict.items(mapping)) if is_a(mapping, dict) else []


def elements(sequence: Any) -> list[Any]:
    """The elements of a list, tuple or deque, or of what inherits from one."""
    for kind in (list, tuple, deque):
        if is_a(sequence, kind):
            return list(kind.__iter__(sequence))  # type: ignore[attr-defined]
    return []


def fields_of(value: Any) -> tuple[str, ...]:
    """The names of a named tuple's elements."""
    for kind in classes_of(value) if is_a(value, tuple) else ():
        found = members_of(kind).get("_fields")
        if found is not None:
            return tuple(one for one in elements(found) if type(one) is str)
    return ()


def is_fused(optimizer: Any) -> bool:
    """Does it write with kernels that do not raise the version counter, so that torch notices none of its writes?"""
    return any(_get(group, "fused") for group in _groups_of(optimizer))


def written_unnoticed(optimizer: Any) -> list[Any]:
    """The parameters that a step of a fused optimizer has just written to."""
    held = [one for group in _groups_of(optimizer) if _get(group, "fused") for one in _tensors_of(group)]
    return [parameter for parameter in held if plainly(parameter).grad is not None]


def parameters_held_by(optimizer: Any) -> list[Any]:
    """The parameters that an optimizer holds, as far as they lie there to be seen."""
    return [one for group in _groups_of(optimizer) for one in _tensors_of(group)]


def _groups_of(optimizer: Any) -> list[Any]:
    """An optimizer's groups, as they lie in it: where the program made them a property, that is not called."""
    return elements(attribute(optimizer, "param_groups", ()))


def _tensors_of(group: Any) -> list[Any]:
    tensor = compat.torch_module().Tensor
    return [one for one in elements(_get(group, "params")) if is_a(one, tensor)]


def _get(mapping: Any, key: str) -> Any:
    return dict.get(mapping, key) if is_a(mapping, dict) else None


@contextmanager
def unseen() -> Iterator[None]:
    """Within this block, no function or dispatch mode, and no tensor of another make, sees what we ask torch for."""
    torch = compat.torch_module()
    with ExitStack() as guards:
        for name in ("DisableTorchFunction", "_DisableTorchDispatch"):
            guard = getattr(getattr(torch, "_C", None), name, None)
            if guard is not None:
                guards.enter_context(guard())
        yield


def interruption(error: BaseException, handled: BaseException | None = None) -> BaseException | None:
    """Was this raised by the program, in a handler of a signal that came while a function of ours ran?

    Then it is given back as the program would have it: without our frames, and following what the program was
    handling, not what we were. None where it is a failure of our own.
    """
    if isinstance(error, Exception) and not _passed_through_program(error.__traceback__):
        return None
    error.__traceback__ = without_our_frames(error.__traceback__)
    if error.__context__ is not handled and error is not handled:
        error.__context__ = handled
    return error


def _passed_through_program(traceback: types.TracebackType | None) -> bool:
    handlers = _handlers()
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code in handlers or is_user_file(code.co_filename):
            return True
        traceback = traceback.tb_next
    return False


def _handlers() -> set[types.CodeType]:
    """The code of the functions that handle signals now."""
    found = set()
    for number in signal.valid_signals():
        handler = signal.getsignal(number)
        function = getattr(handler, "__func__", handler)
        if type(function) is types.FunctionType:
            found.add(function.__code__)
    return found


def set_collector_aside() -> None:
    """The program has ended: cycles that it left are Python's to collect, as it ends, with no frame of ours below."""
    if not gc.isenabled():
        return
    gc.disable()

    def wake() -> None:
        if not gc.get_freeze_count():  # what we have made since does not bring the next collection nearer
            gc.freeze()
            gc.unfreeze()
        gc.enable()

    atexit.register(wake)


def set_builtins_aside() -> None:
    """The program has ended: what it put in the place of builtins, or took away, is so again when Python itself ends.
    Where a thread of the program's goes on, they stay."""
    space = vars(builtins)
    theirs = {name: space.get(name, _GONE) for name, own in _BUILTINS.items() if space.get(name, _GONE) is not own}
    if not theirs or list(sys._current_frames())[1:]:  # (to count them calls `len`, which may be one of theirs)
        return
    space.update(_BUILTINS)

    def put_back() -> None:
        space.update(theirs)
        for name, value in theirs.items():
            if value is _GONE:
                del space[name]

    atexit.register(put_back)


def set_handlers_aside() -> None:
    """The program has ended, and so has what it does at a signal (a timer may still run), until Python itself ends."""
    theirs = {number: signal.getsignal(number) for number in signal.valid_signals()}
    for number, handler in list(theirs.items()):
        if callable(handler) and handler is not signal.default_int_handler:
            signal.signal(number, signal.SIG_DFL if number in _ENDING else signal.SIG_IGN)
        else:
            del theirs[number]

    def put_back() -> None:
        for number, handler in theirs.items():
            signal.signal(number, handler)

    if theirs:
        atexit.register(put_back)  # it is the last, so it comes first


def usable_stream(name: str) -> TextIO:
    """`stdout` or `stderr`, one that Python made: a stream of the program's own make would run its code."""
    for stream in (getattr(sys, name, None), getattr(sys, f"__{name}__", None)):
        if stream is not None and not _is_own_make(stream) and not stream.closed:
            found: TextIO = stream
            return found
    return io.StringIO()


def _is_own_make(stream: Any) -> bool:
    kind = type(stream)
    return not is_a(stream, _TEXT) or (kind.__module__ not in ("_io", "io") and _is_user_class(kind))


def _is_user_class(kind: type) -> bool:
    file = attribute(sys.modules.get(str(kind.__module__)), "__file__")
    return file is None or is_user_file(file)


def warn(line: str) -> None:
    """Say something to a person."""
    try:
        print(line, file=usable_stream("stderr"))
    except (OSError, ValueError):
        return  # there is nothing left to hear it
