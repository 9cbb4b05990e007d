"""Where things lie in the C++ object behind a node: what torch notes there and does not show, or only at a price.

All of it is measured on nodes made for the purpose, in a thread of its own: the program's counters stay. Where it is
not found, there is an answer of Python's, or none.
"""

from __future__ import annotations

import ctypes
import os
import sys
from _thread import allocate_lock, start_new_thread
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from afterward.observe import compat

_WORD = ctypes.sizeof(ctypes.c_void_p)
_WORDS = range(1, 48)  # of a node that are looked through
_EDGE = 2 * _WORD  # a node, and which of its outputs
_OBJECT_OF = (  # torch::autograd::functionToPyObject(c10::intrusive_ptr<Node> const&)
    "_ZN5torch8autograd18functionToPyObjectERKN3c1013intrusive_ptrINS0_4NodeENS1_6detail34"
    "intrusive_target_default_null_typeIS3_EEEE"
)


class Layout(NamedTuple):
    """Offsets in a node, and the function that gives the object of one."""

    order: int
    edges: int
    custom: int  # in the object of a custom function: where that says which node it is
    object_of: int

    def address(self, node: Any) -> int:
        """Where the node of an object lies."""
        return _behind(node) if _is_built_in(node) else _at(id(node) + self.custom)


def current_thread() -> int:
    """Torch's own number of this thread; 0 where it does not tell."""
    number = _function_of(
        "libtorch_cpu", "_ZN2at14RecordFunction15currentThreadIdEv"
    )  # RecordFunction::currentThreadId()
    if number is None:
        return 0
    number.restype = ctypes.c_uint64
    return int(number())


def thread_reader() -> Callable[[Any], int] | None:
    """A function that says which thread made a node; None where this torch keeps that elsewhere.

    Torch notes it in each node and does not show it, three words behind the number of the node.
    """

    def make(torch: Any) -> list[tuple[Any, int]]:
        leaf = torch.ones(1, device="cpu").requires_grad_()
        return [(one.grad_fn, current_thread()) for one in (leaf * 2, leaf * 3)]

    made = _made_elsewhere(make)
    for offset in (_WORD * word for word in range(1, 6)):
        if made and all(
            _word(node, offset) == node._sequence_nr() and 0 < thread == _word(node, offset + 24)
            for node, thread in made
        ):
            return lambda node: _word(node, offset + 24) if _is_built_in(node) else 0
    return None


@cache
def layout() -> Layout | None:
    """Where a node keeps its number and its edges; None where this torch keeps them elsewhere."""
    object_of = _function_of("libtorch_python", _OBJECT_OF)
    address = ctypes.cast(object_of, ctypes.c_void_p).value if object_of is not None else None
    if address is None:
        return None

    def make(torch: Any) -> list[Any]:
        class Custom(torch.autograd.Function):  # type: ignore[misc,name-defined,unused-ignore]
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x.clone()

        with torch.enable_grad():
            leaf = torch.ones(3, device="cpu").requires_grad_()
            parts = (leaf * 2).unbind()
            both = torch.stack([parts[2], parts[0] * 2, parts[1]])
            own = Custom.apply(leaf)
            made = [torch.cat([both, leaf, leaf + 1, both.exp()]), both, parts[0], own * 2, own]
            return [one.grad_fn for one in made]

    made = _made_elsewhere(make)
    if not made:
        return None
    *nodes, by_own, own = made
    order = next((at for at in _offsets() if all(_word(node, at) == node._sequence_nr() for node in nodes)), None)
    edges = next((at for at in _offsets() if all(_edges_lie(node, at) for node in nodes)), None)
    if order is None or edges is None:
        return None
    node = _at(_word(by_own, edges))
    custom = next((at for at in range(0, type(own).__basicsize__, _WORD) if _at(id(own) + at) == node), None)
    return Layout(order, edges, custom, address) if custom is not None else None


def _offsets() -> list[int]:
    return [_WORD * word for word in _WORDS]


def _edges_lie(node: Any, offset: int) -> bool:
    """Do the edges of this node lie there: where they begin and where they end, two words each?"""
    begin, end, links = _word(node, offset), _word(node, offset + _WORD), node.next_functions
    return (
        begin != 0
        and begin % _WORD == 0
        and end - begin == _EDGE * len(links)
        and all(
            _at(begin + _EDGE * place) == _behind(one) and _at(begin + _EDGE * place + _WORD) & 0xFFFFFFFF == output
            for place, (one, output) in enumerate(links)
        )
    )


def _made_elsewhere(make: Callable[[Any], list[Any]]) -> list[Any]:
    """What is made in a thread of its own; nothing, where that fails."""
    made: list[Any] = []
    done = allocate_lock()
    done.acquire()

    def run() -> None:
        try:
            made.extend(make(compat.torch_module()))
        except Exception:
            made.clear()
        finally:
            done.release()

    start_new_thread(run, ())
    done.acquire()
    return made


def _function_of(library: str, name: str) -> Any:
    """A function of torch's that Python does not know, where there is one of this name."""
    ending = "dylib" if sys.platform == "darwin" else "so"
    try:
        folder = os.path.join(os.path.dirname(compat.torch_module().__file__), "lib")
        return ctypes.CDLL(os.path.join(folder, f"{library}.{ending}"), mode=os.RTLD_NOLOAD)[name]
    except (AttributeError, OSError, TypeError):
        return None


def _at(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value


def _behind(node: Any) -> int:
    """The address of the C++ object behind a node."""
    return _at(id(node) + object.__basicsize__)


def _word(node: Any, offset: int) -> int:
    """So many bytes into the C++ object behind a node."""
    return _at(_behind(node) + offset)


def _is_built_in(node: Any) -> bool:
    """Is it an operation of torch's own? A custom function's node lies elsewhere."""
    return not isinstance(node, compat.torch_module()._C._FunctionBase)
