// The graph folded by source line. A box opens to its operations; a box with very many opens to a count of each kind.
import dagre from "@dagrejs/dagre";
import { counted, html, pressed, svg, tipOn } from "./dom.js";

const LETTER = 7.3, LINE = 17, PAD = 12;
const OPERATIONS = 150; // drawn one by one inside a box
const KINDS = 14;
const READABLE = 1; // its letters are as small as letters may be

export function startGraph(article, data) {
  const place = article.querySelector("[data-graph]");
  if (!place) return null;
  const view = { data, place, open: new Set(), marked: new Set(), zoom: 0, inside: insideOf(data) };
  place.hidden = false;
  const canvas = place.querySelector("[data-canvas]");
  const draw = () => drawn(view, canvas, draw);
  const bar = place.querySelector("[data-graph-bar]");
  const button = (label, words, action) => {
    const made = html("button", { type: "button", "aria-label": words, title: words }, label);
    made.addEventListener("click", action);
    bar.append(made);
  };
  const zoomed = (factor) => {
    view.zoom = factor ? Math.min(3, Math.max(0.1, (view.zoom || view.fit) * factor)) : 0;
    sized(view, canvas);
  };
  button("−", "smaller", () => zoomed(0.8));
  button("+", "larger", () => zoomed(1.25));
  button("fit", "fit to the width", () => zoomed(0));
  button("close all", "close all boxes", () => {
    view.open.clear();
    draw();
  });
  draw();
  showBridge(view, canvas);
  return { mark: (lines, step) => mark(view, canvas, lines, step) };
}

/** The operations of each box, newest last. */
function insideOf(data) {
  const inside = data.boxes.map(() => []);
  (data.box || []).forEach((box, node) => inside[box].push(node));
  return inside;
}

function layoutOf(nodes, edges, options) {
  const graph = new dagre.graphlib.Graph({ multigraph: false });
  graph.setGraph({ marginx: 8, marginy: 8, ...options });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const [id, size] of nodes) graph.setNode(String(id), { ...size });
  for (const [from, to] of edges) if (from !== to) graph.setEdge(String(from), String(to));
  dagre.layout(graph);
  return graph;
}

function label(box) {
  const step = box.step ? `${box.step} · ` : "";
  return [box.line ? `${box.line}  ${box.text}` : box.text, `${step}${counted(box.count, "node")}`];
}

function closed(box) {
  const width = Math.max(...label(box).map((line) => line.length)) * LETTER + 2 * PAD + 18;
  return { width: Math.max(120, width), height: 2 * LINE + 14 };
}

function opened(view, number) {
  const nodes = view.inside[number];
  const box = view.data.boxes[number];
  const head = closed(box);
  if (!nodes.length || nodes.length > OPERATIONS) {
    const kinds = box.ops.slice(0, KINDS);
    const rows = kinds.length + (box.ops.length > KINDS ? 1 : 0);
    return { width: Math.max(head.width, 240), height: head.height + rows * LINE + 10, kinds };
  }
  const inner = new Set(nodes);
  const name = (node) => view.data.names[view.data.kind[node]];
  const sizes = nodes.map((node) => [node, { width: name(node).length * LETTER + 16, height: 22 }]);
  const edges = nodes.flatMap((node) => view.data.inputs[node].filter((from) => inner.has(from)).map((from) => [from, node]));
  const layout = layoutOf(sizes, edges, { rankdir: "TB", nodesep: 10, ranksep: 16 });
  const { width, height } = layout.graph();
  return { width: Math.max(head.width, width + 2 * PAD), height: head.height + height + PAD, layout, inner: width };
}

function drawn(view, canvas, again) {
  const { boxes, edges } = view.data;
  const sizes = boxes.map((box, number) => (view.open.has(number) ? opened(view, number) : closed(box)));
  const layout = layoutOf(
    sizes.map(({ width, height }, number) => [number, { width, height }]),
    edges,
    { rankdir: "TB", nodesep: 26, ranksep: 34 },
  );
  const { width, height } = layout.graph();
  const focused = document.activeElement?.closest?.("[data-box]")?.dataset.box;
  const picture = svg("svg", { class: "graph", viewBox: `0 0 ${width} ${height}`, role: "group" });
  picture.setAttribute("aria-label", `The graph: ${counted(view.data.total, "node")} on ${counted(boxes.length, "line")}`);
  for (const [from, to, count, bridge] of edges) picture.append(edge(layout, from, to, count, bridge, boxes));
  boxes.forEach((box, number) => picture.append(boxed(view, box, number, sizes[number], layout.node(String(number)), again)));
  canvas.replaceChildren(picture);
  view.width = width;
  view.height = height;
  sized(view, canvas);
  if (focused !== undefined) canvas.querySelector(`[data-box="${focused}"]`)?.focus();
}

function sized(view, canvas) {
  const room = canvas.clientWidth || 960;
  view.fit = Math.min(1.1, Math.max(0.3, (room - 4) / view.width));
  const scale = view.zoom || view.fit;
  const picture = canvas.querySelector("svg");
  picture.setAttribute("width", Math.round(view.width * scale));
  picture.setAttribute("height", Math.round(view.height * scale));
}

/** A large graph begins where it matters: so large that it can be read, and with the bridge in sight. */
function showBridge(view, canvas) {
  if (view.fit < READABLE) {
    view.zoom = READABLE;
    sized(view, canvas);
  }
  const bridge = canvas.querySelector(".edge.bridge")?.getBoundingClientRect();
  if (!bridge) return;
  const frame = canvas.getBoundingClientRect();
  canvas.scrollLeft += bridge.left + bridge.width / 2 - frame.left - frame.width / 2;
  canvas.scrollTop += bridge.top + bridge.height / 2 - frame.top - frame.height / 2;
}

function edge(layout, from, to, count, bridge, boxes) {
  const points = layout.edge(String(from), String(to))?.points || [];
  const [first, ...rest] = points;
  if (!first) return svg("g");
  let path = `M${first.x} ${first.y}`;
  for (let n = 0; n < rest.length - 1; n++) {
    const middle = n < rest.length - 2 ? { x: (rest[n].x + rest[n + 1].x) / 2, y: (rest[n].y + rest[n + 1].y) / 2 } : rest[n + 1];
    path += `Q${rest[n].x} ${rest[n].y} ${middle.x} ${middle.y}`;
  }
  if (rest.length === 1) path += `L${rest[0].x} ${rest[0].y}`;
  const dead = boxes[from].state === "dead" && boxes[to].state === "dead";
  const line = svg("path", { class: `edge${bridge ? " bridge" : dead ? " dead" : ""}`, d: path });
  const end = rest[rest.length - 1] || first;
  const tip = svg("path", { class: `point${bridge ? " bridge" : dead ? " dead" : ""}`, d: `M${end.x - 4} ${end.y - 7}L${end.x} ${end.y}L${end.x + 4} ${end.y - 7}z` });
  return svg("g", {}, svg("title", {}, counted(count, "tensor")), line, tip);
}

function boxed(view, box, number, size, at, again) {
  const { width, height } = size;
  const open = view.open.has(number);
  const [head, foot] = label(box);
  const group = svg("g", {
    class: `box ${box.state}${view.marked.has(number) ? " marked" : ""}${open ? " open" : ""}`,
    transform: `translate(${at.x - width / 2} ${at.y - height / 2})`,
    "data-box": number,
    tabindex: 0,
    role: "button",
    "aria-expanded": String(open),
    "aria-label": `${head}; ${foot}; ${STATES[box.state]}`,
  });
  group.append(
    svg("rect", { width, height, rx: 7 }),
    svg("text", { class: "head", x: PAD, y: 20 }, head),
    svg("text", { class: "foot", x: PAD, y: 20 + LINE }, foot),
    svg("text", { class: "sign", x: width - PAD, y: 20 }, open ? "−" : "+"),
  );
  if (open) group.append(insides(view, number, size));
  tipOn(group, () => [head, foot, STATES[box.state], ...reads(box), box.ops.slice(0, 8).map(([op, n]) => `${op} ×${n}`).join(", ")]);
  pressed(group, () => {
    if (open) view.open.delete(number);
    else view.open.add(number);
    again();
  });
  return group;
}

const STATES = {
  fresh: "in memory when the failing backward began",
  dead: "freed by an earlier backward",
  used: "used by an earlier backward",
  spoilt: "a value that it had saved was overwritten",
};

function reads(box) {
  if (!box.reads.length) return [];
  return [`reads ${box.reads.join(", ")}${box.more_reads ? ` and ${box.more_reads} more` : ""}`];
}

function insides(view, number, size) {
  const top = 2 * LINE + 14;
  const box = view.data.boxes[number];
  if (size.kinds) {
    const rows = size.kinds.map(([op, count], row) =>
      svg("text", { class: "kind", x: PAD, y: top + 12 + row * LINE }, `${count.toLocaleString("en")} × ${op}`),
    );
    if (box.ops.length > KINDS) {
      rows.push(svg("text", { class: "kind", x: PAD, y: top + 12 + KINDS * LINE }, `and ${box.ops.length - KINDS} more kinds`));
    }
    return svg("g", {}, ...rows);
  }
  const group = svg("g", { transform: `translate(${(size.width - size.inner) / 2} ${top})` });
  for (const { v, w } of size.layout.edges()) {
    const points = size.layout.edge(v, w).points;
    group.append(svg("path", { class: "thread", d: "M" + points.map(({ x, y }) => `${x} ${y}`).join("L") }));
  }
  for (const id of size.layout.nodes()) {
    const { x, y, width, height } = size.layout.node(id);
    const state = ["live", "freed", "spoilt"][view.data.state[id]];
    const name = view.data.names[view.data.kind[id]];
    group.append(
      svg(
        "g",
        { class: `op ${box.state === "fresh" && state === "freed" ? "live" : state}`, transform: `translate(${x - width / 2} ${y - height / 2})` },
        svg("rect", { width, height, rx: 11 }),
        svg("text", { x: width / 2, y: 15 }, name),
      ),
    );
  }
  return group;
}

function mark(view, canvas, lines, step) {
  const wanted = new Set(lines.map(([line]) => line));
  view.marked = new Set();
  view.data.boxes.forEach((box, number) => {
    if (wanted.has(box.line) && (!box.step || !step || box.step === step)) view.marked.add(number);
  });
  for (const group of canvas.querySelectorAll("[data-box]")) {
    group.classList.toggle("marked", view.marked.has(Number(group.dataset.box)));
  }
}
