"""What the program's names hold: values with a graph, records of past steps, numbers that a pass did not use."""

from __future__ import annotations

from dataclasses import dataclass

from afterward.model.site import Site

NodeId = int
LeafId = int

GRADIENT = "gradient"  # the kind of a value that is the `.grad` of a leaf, with the graph that `create_graph` made


@dataclass(frozen=True, slots=True)
class Value:
    """A name that the program has for the output of a node.

    `held` names hold that very value now; `carried` names were assigned it and read again on the way.
    """

    name: str
    kind: str  # "local", "global", "attribute", "item", "expression", or GRADIENT
    node: NodeId
    output: int = 0
    how: str = "held"
    site: Site | None = None  # where it is read again
    assigned: Site | None = None  # the statement that put it there
    level: int = -1  # the level of the node's own way at which it was assigned
    restorable: str | None = None  # what the place held before the loop, where that is still at hand
    read_at: int | None = None  # the moment of that reading
    is_target: bool = False  # read as what a loss is to meet, not as what is trained
    renewed: bool = False  # the statement that made it has run again in the present step
    own_reset: str = ""  # the call by which the library's object that holds it cuts or clears its state
    lost_cut: Site | None = None  # a statement that detaches a copy of it which nothing keeps
    lost_how: str = ""  # the call in that statement
    alike: frozenset[NodeId] = frozenset()  # nodes of what lies beside it, under names of the same form
    of_parts: bool = False  # several parts of what the name holds lead there: it is no tensor, it holds tensors
    from_none: bool = False  # a statement that ran has put None there
    filled: int = 0  # places of the same container that statements which ran fill, one by one


@dataclass(frozen=True, slots=True)
class Kept:
    """A name that holds graphs of several steps, and what the passes and the program's text have to do with it."""

    name: str
    steps: int  # whose graphs it holds
    nodes: int
    bytes: int
    site: Site | None = None  # the statement that put the value there
    times: int = 1  # how many of the passes that were looked at used the node of it that most used
    forgets: bool = False  # some statement takes values out of it again, or keeps the last few
    replaces: bool = False  # it is filled under constant keys alone: each value replaces the one before
    by_count: bool = False  # many values, each of its own step; not one that leads to many steps
    of_several: bool = False  # the values have several elements each: no `.item()` gives them as a number
    in_rows: bool = False  # each lies under a key of an element: `log[3]["loss"]`


@dataclass(frozen=True, slots=True)
class Number:
    """A number with a graph that a name held, beside a pass that did not use it."""

    name: str
    node: NodeId
    run: int  # that pass
    shares: bool = False  # the pass used, or made, another part of its graph
    beside: str = ""  # the number in the same container, or among the names of the same call, that the pass did use
    together: bool = False  # the two lie in one container
    under: frozenset[NodeId] = frozenset()  # the nodes of its graph that the pass did not use
    sums: frozenset[NodeId] = frozenset()  # those of them that put values together: sums, differences, products
    takers: frozenset[NodeId] = frozenset()  # those of them that take a leaf
    takes: frozenset[LeafId] = frozenset()  # which leaves, as far as they have a number
    leaves: frozenset[LeafId] = frozenset()  # of its whole graph, as far as they have a number
    parameters: int = 0  # how many leaves those nodes take
    bytes: int = 0
