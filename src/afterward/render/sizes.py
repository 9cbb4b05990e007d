"""How much the saved values of a graph take, worked out from the shapes that its nodes keep."""

from __future__ import annotations

from afterward.model.history import History, Node, NodeId


def saved_sizes(history: History) -> dict[NodeId, int]:
    """Bytes by the operation that made the value; only values that some operation has saved, each counted once.

    A view has no memory of its own: what is saved of it is counted where its memory was made.
    """
    wanted: set[NodeId] = set()
    for node in history.nodes:
        own = [saved for saved in node.saved if saved.name.startswith(("result", "output"))]
        if own:
            wanted.add(node.id)
        if len(node.saved) > len(own):
            wanted |= {edge.node for edge in node.inputs}
    makers = (_maker(history, number) for number in wanted if history.knows(number))
    return {node.id: node.bytes for node in makers if node.leaf is None and node.bytes}


def _maker(history: History, number: NodeId) -> Node:
    node = history.node(number)
    for _ in range(16):
        if node.bytes or not node.inputs or not history.knows(node.inputs[0].node):
            break
        node = history.node(node.inputs[0].node)
    return node
