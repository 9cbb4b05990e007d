"""One clock for nodes and events: the node counter, between two nodes the count of marks, then the order of events."""

from __future__ import annotations

_EVENTS = 6  # bits for events between two marks: a library may call backward twice in a row
_ROOM = 40 + _EVENTS  # bits for the marks between two nodes, and those events
MOST_EVENTS = (1 << _EVENTS) - 1


def node_moment(order: int) -> int:
    """A node is made just before the counter reads one more."""
    return (order + 1) << _ROOM


def event_moment(counter: int, moment: int, position: int = 0) -> int:
    """`position` tells events apart between which neither a node was made nor a statement began."""
    return (counter << _ROOM) + (moment + 1 << _EVENTS) + min(position, MOST_EVENTS)


def write_moment(counter: int, moment: int) -> int:
    """Of what the statement that began at this count of marks does: after all passes of the one before it."""
    return event_moment(counter, moment, MOST_EVENTS)


def mark_moment(event: int) -> int:
    """The count of marks at which an event happened."""
    return ((event & ((1 << _ROOM) - 1)) >> _EVENTS) - 1
