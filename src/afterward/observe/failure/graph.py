"""A graph of any size, gone through where it lies: an object of Python for a node is made only where one is needed.

The walk in `walk` has one for each. Torch keeps these for as long as the graph, and whoever then drops a deep one has
the stack overflow: the objects and the nodes give each other back, one inside of the other.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from afterward.observe import compat, node_numbers
from afterward.observe.failure.walk import walk
from afterward.observe.node_layout import Layout, layout

try:
    from afterward.observe.marks import _tape

    _tape.go_through  # noqa: B018 - one that was built for an older afterward is none
except (ImportError, AttributeError):
    _tape = None  # type: ignore[assignment]


class Graph(Protocol):
    """All nodes behind some roots, the roots first, each by its place."""

    @property
    def orders(self) -> Sequence[int]: ...

    def __len__(self) -> int: ...

    def links(self, place: int) -> tuple[tuple[int, int], ...]:
        """A node's inputs: the place of each, or -1 for one without a graph; and which of its outputs it is."""

    def ask(self, place: int) -> Any:
        """What answers for a node, until another of its class is asked: not to be kept."""

    def node(self, place: int) -> Any:
        """The node itself."""

    def place_of(self, node: Any) -> int | None:
        """Where a node is; None where it is not in this graph."""


def graph_behind(roots: Iterable[Any]) -> Graph:
    known = layout() if _tape is not None else None
    return InMemory(roots, known) if known is not None else walk(roots)


def each(graph: Graph) -> Iterator[Any]:
    """All nodes, one after the other, to be asked; not to be kept."""
    return map(graph.ask, range(len(graph)))


class InMemory:
    """Read where it lies. Lives as long as the pass that is looked at waits."""

    def __init__(self, roots: Iterable[Any], known: Layout) -> None:
        self._layout = known
        starts = array("Q", map(known.address, roots))
        addresses, begins, edges = _tape.go_through(starts, known.edges)
        self._addresses, self._begins, self._edges = array("Q", addresses), array("i", begins), array("i", edges)
        self._classes = array("Q", _tape.words_at(addresses, 0))
        self._asked: dict[int, Any] = {}  # by class in C++: what answers; None where each node has an object anyway
        self._places: dict[int, int] = {}
        self.orders: Sequence[int] = array("Q", _tape.words_at(addresses, known.order))
        if node_numbers.numbers.engines:
            self.orders = [node_numbers.order_of(node) for node in each(self)]

    def __len__(self) -> int:
        return len(self._addresses)

    def links(self, place: int) -> tuple[tuple[int, int], ...]:
        ends = self._edges[2 * self._begins[place] : 2 * self._begins[place + 1]]
        return tuple(zip(ends[::2], ends[1::2], strict=True))

    def ask(self, place: int) -> Any:
        address, kind = self._addresses[place], self._classes[place]
        if kind not in self._asked:
            self._asked[kind] = _glass_for(type(self.node(place)))
        asked = self._asked[kind]
        if asked is None:
            return self.node(place)
        _tape.point(asked, address)
        return asked

    def node(self, place: int) -> Any:
        return _tape.object_of(self._addresses[place], self._layout.object_of)

    def place_of(self, node: Any) -> int | None:
        if not self._places:
            self._places = {address: place for place, address in enumerate(self._addresses)}
        return self._places.get(self._layout.address(node))


_glasses: dict[type, Any] = {}


def _glass_for(kind: type) -> Any:
    """An object through which the nodes of a class are asked; None for a custom function's, which have their own."""
    if issubclass(kind, compat.torch_module()._C._FunctionBase):
        return None
    if kind not in _glasses:
        _glasses[kind] = _tape.glass(kind)
    return _glasses[kind]
