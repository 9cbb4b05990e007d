"""One clock for nodes and events: the node counter, and between two nodes the count of marks."""

from __future__ import annotations

_ROOM = 40  # bits for the marks between two nodes


def node_moment(order: int) -> int:
    """A node is made just before the counter reads one more."""
    return (order + 1) << _ROOM


def event_moment(counter: int, moment: int) -> int:
    return (counter << _ROOM) + moment + 1
