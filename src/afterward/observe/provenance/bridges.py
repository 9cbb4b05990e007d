"""Names the values through which a failing pass came into the old part of its graph, from what a run has left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from afterward.follow import bridges, flow
from afterward.follow.bridges import Holder
from afterward.follow.crossing import Trail, put_into
from afterward.follow.path import Place
from afterward.model.clock import mark_moment
from afterward.model.history import GRADIENT, Fed, History, Node, Value
from afterward.model.names import form_of
from afterward.model.reuse import Entry, Reuse
from afterward.observe import compat
from afterward.observe.failure.graph import Graph, each
from afterward.observe.failure.walk import LOOK_NODES, walk
from afterward.observe.marks.userfiles import is_user_file
from afterward.observe.node_numbers import order_of
from afterward.observe.plainly import plainly
from afterward.observe.provenance.naming import Held, Names
from afterward.observe.provenance.owners import Owners, is_private, own_reset
from afterward.observe.provenance.sources import Sources


class Bridges:
    """What holds a value now, and what was assigned it, as the program wrote it."""

    def __init__(self, sources: Sources, path: list[Place], trail: Trail, places: Mapping[int, Place]) -> None:
        self.sources = sources
        self.path = path
        self.trail = trail
        self.places = places  # of the nodes, by their order
        self.follower = bridges.Bridges(sources, path, trail, self._statement_of)

    def values(self, reuse: Reuse, names: Names, found: Graph) -> tuple[Value, ...]:
        began = self._began(reuse)

        def holders(entry: Entry) -> list[Holder]:
            raw = found.node(entry.node.id)
            held = [one for one in names.held if one.node is raw and one.output == entry.output]
            return [Holder(self._as_written(one), one.kind, one.depth) for one in held]

        return self.follower.values(
            reuse,
            began,
            holders,
            completed=lambda value: self._with_alike(value, names, found, began),
            otherwise=lambda entry: (
                _added_to_gradient(entry, names, found) or self._kept_by_library(entry, reuse, names, found)
            ),
        )

    def _as_written(self, held: Held) -> str:
        """The name that the program gave a value which now lies under a library's private ones.

        `g.edata["a"]` for `g._edge_frames[0]._columns["a"].storage`: the statement that computed it, with nothing after
        it, put it there.
        """
        order = order_of(held.node)
        made = self.places.get(order) if is_private(held.name) else None
        if made is None or any(at > order and one.moment == made.moment for at, one in self.places.items()):
            return held.name
        given = put_into(self.trail, made)
        return given.text if given is not None and not flow.same_place(given.text, held.name) else held.name

    def _began(self, reuse: Reuse) -> int | None:
        built = reuse.built_parts
        if built is None or built.loop is None:
            return None
        if built.loop.since:  # a library's loop: no statement shows where its iterations begin
            return mark_moment(built.loop.since)
        entry, number = built.loop.entry, built.loop.number
        for place in self.path:  # in the order in which they ran
            if any(e == entry and n == number for _, e, n in place.iterations):
                return place.moment
        return None

    def _statement_of(self, node: Node) -> int | None:
        place = self.places.get(node.order)
        return place.number if place is not None else None

    def _kept_by_library(self, entry: Entry, reuse: Reuse, names: Names, found: Graph) -> list[Value]:
        """The attribute of a library's object whose value this step has renewed from the old one.

        The old value has no name any more, and no statement of the program's has carried it. What holds now what the
        same operation has made of it in this step is what held it, whether or not this loss depends on it.
        """
        raw = found.node(entry.node.id)
        held = (one for one in names.held if one.depth and one.output == entry.output)
        renewed = [one for one in held if found.place_of(one.node) not in reuse.stale]
        same = [one for one in renewed if one.node.name() == raw.name()]
        owners = Owners(is_user_file)

        def likely(one: Held) -> tuple[bool, bool, int, int, str]:
            kind = names.kinds.get(one.name.rpartition(".")[0])
            librarys = kind is not None and not owners.is_class(kind)  # else a list of the program's may hold it too
            return not librarys, found.place_of(one.node) is None, order_of(one.node), one.depth, one.name

        same.sort(key=likely)
        for one in same:
            if raw in walk([one.node], limit=LOOK_NODES).position:
                owner = one.name.rpartition(".")[0]
                reset = own_reset(names.kinds.get(owner), is_user_file)
                call = f"{owner}.{reset}()" if reset else ""
                kept = Value(one.name, "attribute", entry.node.id, entry.output, "carried", renewed=True)
                return [replace(kept, own_reset=call)]
        return []

    def fed(self, history: History, reuse: Reuse) -> tuple[Fed, ...]:
        """The earlier pass and the later one, where the gradients that the first gave feed the second."""
        early = reuse.early
        if early is None or early.where is None or early.call != "grad":
            return ()
        later = [history.node(n) for n in reuse.fresh if history.node(n).moment > early.moment]
        feeds = flow.result_feeds(self.sources, early.where, later, self.path)
        return (Fed(early.id, reuse.late.id),) if feeds else ()

    def _with_alike(self, value: Value, names: Names, found: Graph, began: int | None) -> Value:
        """With what else this pass walks of the same memory, and an earlier step has put there."""
        form = form_of(value.name)
        if form == value.name:
            return value
        beside = [found.place_of(one.node) for one in names.held if form_of(one.name) == form]
        old = (place for place in beside if place is not None and not self._is_of_now(found.orders[place], began))
        return replace(value, alike=frozenset(old))

    def _is_of_now(self, order: int, began: int | None) -> bool:
        """Was a node made in the present step? Then it is still to be trained through."""
        place = self.places.get(order)
        return began is not None and place is not None and place.moment >= began


def _added_to_gradient(entry: Entry, names: Names, found: Graph) -> list[Value]:
    """The `.grad` of a parameter to which `create_graph=True` has added: the sum leads to the graph of the old one."""
    adding = found.node(entry.consumer.id) if entry.consumer is not None else None
    for leaf in (getattr(node, "variable", None) for node in (each(found) if adding is not None else ())):
        gradient = plainly(leaf).grad if leaf is not None else None
        if gradient is not None and compat.grad_fn_of(gradient) is adding and id(leaf) in names.leaves:
            name = f"{names.leaves[id(leaf)]}.grad"
            return [Value(name, GRADIENT, entry.node.id, entry.output, "carried", renewed=True)]
    return []
