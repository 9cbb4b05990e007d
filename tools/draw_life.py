"""Draw the pictures of docs/life-of-a-graph.md from the model.

    python tools/draw_life.py            # writes docs/images/life-*.svg
    python tools/draw_life.py --check    # says whether they are up to date

Each scene below is a small program on the model; the picture shows the graph as the model has it then.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

from afterward.model.life import Fault, Kind, Node, Optimizer, Outcome, Tensor, World, refusal

FOLDER = Path(__file__).parent.parent / "docs" / "images"
WIDTH, HEIGHT, GAP_X, GAP_Y = 158, 46, 34, 34

# The colours of a node's state, readable on a light and on a dark page.
STATES = {
    "keeps": ("#dbeafe", "#1d4ed8", "keeps saved values"),
    "nothing": ("#f3f4f6", "#6b7280", "saves nothing"),
    "freed": ("#fee2e2", "#b91c1c", "freed"),
    "overwritten": ("#fef3c7", "#b45309", "saved value written over"),
    "leaf": ("#dcfce7", "#15803d", "a leaf's .grad"),
}


def state_of(node: Node) -> str:
    if node.kind is Kind.ACCUMULATE:
        return "leaf"
    fault = refusal(node)
    if fault is Fault.SECOND_TIME:
        return "freed"
    if fault is not None:
        return "overwritten"
    return "keeps" if node.can_be_freed else "nothing"


def layers_of(ends: Sequence[Node]) -> list[list[Node]]:
    """Rows of nodes, each below everything that leads to it."""
    depth: dict[Node, int] = {}
    stack = [(node, 0) for node in ends]
    while stack:
        node, level = stack.pop()
        if depth.get(node, -1) < level:
            depth[node] = level
            stack += [(edge[0], level + 1) for edge in node.edges if edge is not None]
    rows: list[list[Node]] = [[] for _ in range(max(depth.values()) + 1)]
    for node, level in depth.items():
        rows[level].append(node)
    for row in rows:
        row.sort(key=lambda node: (node.leaf.name if node.leaf else "", node.number))
    return rows


def draw(title: str, roots: dict[str, Tensor], world: World, outcome: Outcome | None = None) -> str:
    """The graph behind these tensors as an SVG; with an outcome, in what order nodes ran and which failed."""
    ends = {name: world.grad_fn(tensor) for name, tensor in roots.items()}
    rows = layers_of([node for node in ends.values() if node is not None])
    widest = max(len(row) for row in rows)
    width = max(widest * (WIDTH + GAP_X) + GAP_X, 5 * 130)
    height = (len(rows) + 1) * (HEIGHT + GAP_Y) + 60
    place: dict[Node, tuple[float, float]] = {}
    for level, row in enumerate(rows):
        left = (width - len(row) * (WIDTH + GAP_X) + GAP_X) / 2
        for i, node in enumerate(row):
            place[node] = (left + i * (WIDTH + GAP_X), 70 + level * (HEIGHT + GAP_Y))
    ran = {node: i + 1 for i, node in enumerate(outcome.ran)} if outcome else {}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="img" aria-label="{escape(title)}" '
        'font-family="ui-sans-serif, system-ui, sans-serif" font-size="12">',
        f"<title>{escape(title)}</title>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 0 8 4 0 8z" fill="#6b7280"/></marker></defs>',
        '<rect width="100%" height="100%" fill="#ffffff" rx="8"/>',
        f'<text x="16" y="26" font-size="14" font-weight="600" fill="#111827">{escape(title)}</text>',
    ]
    for node, (x, y) in place.items():
        for edge in node.edges:
            if edge is not None:
                tx, ty = place[edge[0]]
                # An edge over several rows swings out, or it would hide behind the boxes between.
                swing = 0 if ty - y < 2 * HEIGHT + GAP_Y else (1.25 if x >= tx else -1.25) * WIDTH
                parts.append(
                    f'<path d="M{x + WIDTH / 2:.0f} {y + HEIGHT:.0f} '
                    f"C{x + WIDTH / 2 + swing:.0f} {y + HEIGHT + 18 + abs(swing) / 3:.0f} "
                    f"{tx + WIDTH / 2 + swing:.0f} {ty - 18:.0f} "
                    f'{tx + WIDTH / 2:.0f} {ty - 2:.0f}" fill="none" stroke="#6b7280" marker-end="url(#tip)"/>'
                )
    for node, (x, y) in place.items():
        parts += _box(node, x, y, ran.get(node), outcome is not None and outcome.node is node)
    taken: dict[Node, list[str]] = {}
    for name, end in ends.items():
        if end is not None:
            taken.setdefault(end, []).append(name)
    for node, names in taken.items():
        x, y = place[node]
        parts.append(
            f'<text x="{x + WIDTH / 2:.0f}" y="{y - 8:.0f}" text-anchor="middle" font-family="ui-monospace, '
            f'monospace" fill="#111827">{escape(", ".join(names))}</text>'
        )
    parts += _legend(height - 24)
    return "\n".join([*parts, "</svg>", ""])


def _box(node: Node, x: float, y: float, iteration: int | None, failed: bool) -> list[str]:
    fill, stroke, _ = STATES[state_of(node)]
    name = f"{node.leaf.name}.grad" if node.leaf is not None else node.name
    below = [] if node.leaf is not None else [_saves(node)]
    if failed:
        below.append("the pass fails here")
    elif iteration is not None:
        below.append(f"ran as no. {iteration}")
    line = f'stroke="{stroke}" stroke-width="{3 if failed else 1.4}"'
    dash = ' stroke-dasharray="5 3"' if state_of(node) == "freed" else ""
    return [
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="{fill}" {line}{dash}/>',
        f'<text x="{x + WIDTH / 2:.0f}" y="{y + 19:.0f}" text-anchor="middle" fill="#111827" '
        f'font-weight="600">{escape(name)}</text>',
        f'<text x="{x + WIDTH / 2:.0f}" y="{y + 36:.0f}" text-anchor="middle" fill="#374151" '
        f'font-size="11">{escape(", ".join(below))}</text>',
    ]


def _saves(node: Node) -> str:
    if node.kind is Kind.COPY_SLICES:
        return "holds the write"
    count = len(node.saved)
    return "saves nothing" if not count else f"saves {count} value{'s' if count > 1 else ''}"


def _legend(y: float) -> list[str]:
    parts, x = [], 16.0
    for fill, stroke, text in STATES.values():
        parts.append(f'<rect x="{x:.0f}" y="{y - 10:.0f}" width="12" height="12" rx="3" fill="{fill}" '
                     f'stroke="{stroke}"/>')  # fmt: skip
        parts.append(f'<text x="{x + 17:.0f}" y="{y:.0f}" fill="#374151" font-size="11">{text}</text>')
        x += 34 + 6.2 * len(text)
    return parts


# The scenes


def _loss(world: World) -> tuple[Tensor, Tensor]:
    w = world.tensor("w", requires_grad=True)
    (y,) = world.apply("mul", w, w)
    (loss,) = world.apply("sum", y)
    return w, loss


def built() -> str:
    world = World()
    _, loss = _loss(world)
    return draw("Built: loss = (w * w).sum()", {"loss": loss}, world)


def freed() -> str:
    world = World()
    _, loss = _loss(world)
    outcome = world.backward([loss])
    return draw("Freed: after loss.backward()", {"loss": loss}, world, outcome)


def second_time() -> str:
    world = World()
    _, loss = _loss(world)
    world.backward([loss])
    outcome = world.backward([loss])
    return draw("Used again: what the second loss.backward() meets", {"loss": loss}, world, outcome)


def carried_state() -> str:
    world = World()
    w = world.tensor("w", requires_grad=True)
    hidden = world.tensor("h")
    outcome = None
    for _ in range(2):
        (product,) = world.apply("mul", hidden, w)
        (hidden,) = world.apply("tanh", product)
        (loss,) = world.apply("sum", hidden)
        outcome = world.backward([loss])
    return draw("A state carried over: step 2 reaches into the freed step 1", {"loss": loss}, world, outcome)


def shared() -> str:
    world = World()
    w, v = world.tensor("w", requires_grad=True), world.tensor("v", requires_grad=True)
    (trunk,) = world.apply("exp", w)
    (head,) = world.apply("mul", trunk, v)
    (one,) = world.apply("sum", head)
    (other,) = world.apply("sum", trunk)
    outcome = world.backward([one])
    return draw("Two losses, one trunk: after first.backward()", {"first": one, "second": other}, world, outcome)


def partial() -> str:
    world = World()
    w, v = world.tensor("w", requires_grad=True), world.tensor("v", requires_grad=True)
    (a,) = world.apply("exp", w)
    (b,) = world.apply("exp", v)
    (c,) = world.apply("add", a, b)
    (loss,) = world.apply("sum", c)
    outcome = world.backward([loss], inputs=[w])
    return draw("Partly freed: after loss.backward(inputs=[w])", {"loss": loss}, world, outcome)


def stepped() -> str:
    world = World()
    w = world.tensor("w", requires_grad=True)
    x = world.tensor("x")
    (y,) = world.apply("mul", w, w)
    (z,) = world.apply("mul", y, x)
    (loss,) = world.apply("sum", z)
    world.backward([loss], retain_graph=True)
    Optimizer(world, [w]).step()
    outcome = world.backward([loss])
    return draw("Retained, then an optimizer step: the in-place error", {"loss": loss}, world, outcome)


def view_written() -> str:
    world = World()
    w = world.tensor("w", requires_grad=True)
    cache = world.tensor("cache")
    (row,) = world.apply("select", cache)
    (value,) = world.apply("exp_v", w)
    world.apply("copy_v_", row, value)
    (loss,) = world.apply("sum", cache)
    return draw("A write through a view: cache[0] = w.exp()", {"loss": loss, "cache[0]": row}, world)


SCENES: dict[str, Callable[[], str]] = {
    "life-built": built,
    "life-freed": freed,
    "life-second-time": second_time,
    "life-carried-state": carried_state,
    "life-shared": shared,
    "life-partial": partial,
    "life-stepped": stepped,
    "life-view-written": view_written,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    stale = 0
    for name, scene in SCENES.items():
        path = FOLDER / f"{name}.svg"
        text = scene()
        if options.check:
            if not path.exists() or path.read_text() != text:
                stale += 1
                print(f"stale: {path.name}")
        else:
            FOLDER.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
