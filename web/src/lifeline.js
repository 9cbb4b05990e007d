// The life line is drawn already, in the page itself. This adds: details of each part, and a slider for time.
import { counted, html, pressed, svg, tipOn } from "./dom.js";

const PACE = 550; // milliseconds a slot, when played

export function startLifeLine(article, story, graph) {
  const picture = article.querySelector("svg.lifeline");
  const panel = article.querySelector("[data-detail]");
  if (!picture || !panel) return;
  const choose = chooser(picture, panel, story, graph);
  for (const part of picture.querySelectorAll("g[data-block].block, g[data-event]")) {
    const about = aboutOf(part, story);
    part.querySelector("title")?.remove(); // the browser's own tip would lie over ours
    tipOn(part, () => [about.title, ...about.facts]);
    pressed(part, () => choose(part));
  }
  for (const number of article.querySelectorAll("[data-beat]")) {
    const target = story.beats[number.dataset.beat - 1];
    const part = target && partOf(picture, target);
    if (part) number.addEventListener("click", () => choose(part));
    if (part) number.classList.add("leads");
    number.addEventListener("pointerenter", () => part?.classList.add("pointed"));
    number.addEventListener("pointerleave", () => part?.classList.remove("pointed"));
  }
  arrows(picture);
  keepNames(picture);
  startTime(article, picture, story);
}

function aboutOf(part, story) {
  return part.dataset.block !== undefined ? story.blocks[part.dataset.block] : story.events[part.dataset.event];
}

function partOf(picture, beat) {
  if (beat.block !== null) return picture.querySelector(`g.block[data-block="${beat.block}"]`);
  return beat.event !== null ? picture.querySelector(`g[data-event="${beat.event}"]`) : null;
}

function chooser(picture, panel, story, graph) {
  let chosen = null;
  const choose = (part) => {
    chosen?.classList.remove("chosen");
    chosen = part === chosen ? null : part;
    panel.hidden = chosen === null;
    graph?.mark([]);
    if (!chosen) return;
    chosen.classList.add("chosen");
    const about = aboutOf(chosen, story);
    panel.replaceChildren(...detail(about));
    graph?.mark(about.lines || [], about.step || "");
  };
  picture.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && chosen) choose(chosen);
  });
  return choose;
}

function detail(about) {
  const shown = [html("h3", {}, about.title), ...about.facts.map((fact) => html("p", {}, fact))];
  if (about.lines?.length) {
    const rows = about.lines.map(([line, text, count]) =>
      html(
        "tr",
        {},
        html("td", {}, String(line)),
        html("td", {}, html("code", {}, text)),
        html("td", {}, counted(count, "node")),
      ),
    );
    shown.push(html("table", { class: "lines" }, html("tbody", {}, ...rows)));
  }
  return shown;
}

/** Where a picture is wider than its frame, the names of the lanes come along as it is scrolled. */
function keepNames(picture) {
  const frame = picture.parentElement;
  const names = picture.querySelectorAll(".lane .under");
  const follow = () => names.forEach((name) => name.setAttribute("transform", `translate(${frame.scrollLeft} 0)`));
  frame.addEventListener("scroll", follow);
}

/** Left and right go from part to part in the order of time; the Tab key comes to the picture, and leaves it, once. */
function arrows(picture) {
  const parts = [...picture.querySelectorAll("g[tabindex]")].sort((a, b) => a.dataset.slot - b.dataset.slot);
  const reached = (part) => parts.forEach((each) => each.setAttribute("tabindex", each === part ? 0 : -1));
  reached(parts[0]);
  // Not on the picture itself: browsers let the Tab key stop at SVG elements that listen for the focus.
  picture.parentElement.addEventListener("focusin", (event) => {
    const part = event.target.closest("g[tabindex]");
    if (part) reached(part);
  });
  picture.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const at = parts.indexOf(event.target.closest("g[tabindex]"));
    if (!step || at < 0) return;
    event.preventDefault();
    const next = parts[Math.max(0, Math.min(parts.length - 1, at + step))];
    next.focus();
    next.scrollIntoView({ block: "nearest", inline: "nearest" });
  });
}

/** A line at the present moment. Lives are drawn up to it; null: the whole picture. */
function clockHand(picture) {
  const ticks = picture.dataset.ticks.split(" ").map(Number);
  const { top, floor } = picture.dataset;
  const line = svg("path", { class: "now" });
  const shown = svg("rect", { x: 0, y: 0, width: 0, height: picture.viewBox.baseVal.height });
  const id = `${picture.closest("article").id}-past`;
  picture.append(svg("defs", {}, svg("clipPath", { id }, shown)), line);
  return (now) => {
    for (const life of picture.querySelectorAll("g.life")) {
      if (now === null) life.removeAttribute("clip-path");
      else life.setAttribute("clip-path", `url(#${id})`);
    }
    line.setAttribute("d", now === null ? "" : `M${ticks[now]} ${top}V${floor}`);
    if (now !== null) shown.setAttribute("width", ticks[now]);
  };
}

/** The slider shows the picture as it was at one moment: what is to come is faint, what is yet to die is alive. */
function startTime(article, picture, story) {
  const controls = article.querySelector("[data-time]");
  if (!controls || story.slots < 2) return;
  controls.hidden = false;
  const slider = controls.querySelector("input");
  const play = controls.querySelector("button");
  const said = controls.querySelector("output");
  slider.max = story.slots - 1;
  slider.value = slider.max;
  const hand = clockHand(picture);
  const timed = [...picture.querySelectorAll("[data-slot]")];
  const show = () => {
    const now = Number(slider.value);
    for (const part of timed) {
      part.classList.toggle("future", Number(part.dataset.slot) > now);
      if (part.dataset.dies !== undefined) part.classList.toggle("yet", Number(part.dataset.dies) > now);
    }
    const end = now === story.slots - 1;
    for (const number of picture.querySelectorAll("g.number[data-at]")) {
      number.classList.toggle("future", Number(number.dataset.at) > now);
    }
    hand(end ? null : now);
    said.textContent = end ? "the end" : story.moments[now] || "";
    slider.setAttribute("aria-valuetext", said.textContent);
  };
  let timer = 0;
  const stop = () => {
    clearInterval(timer);
    timer = 0;
    play.textContent = "Play";
  };
  slider.addEventListener("input", () => {
    stop();
    show();
  });
  play.addEventListener("click", () => {
    if (timer) return stop();
    if (slider.value === slider.max) slider.value = 0;
    play.textContent = "Pause";
    show();
    timer = setInterval(() => {
      slider.value = Number(slider.value) + 1;
      show();
      if (slider.value === slider.max) stop();
    }, PACE);
  });
  show();
}
