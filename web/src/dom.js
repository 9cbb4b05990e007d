const SVG = "http://www.w3.org/2000/svg";

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) if (value !== null) element.setAttribute(name, value);
  for (const child of children) element.append(child);
  return element;
}

/** An HTML element; strings among the children become text. */
export function html(name, attributes, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** An SVG element; strings among the children become text. */
export function svg(name, attributes, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

export const counted = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

/** Enter and space do what a click does. */
export function pressed(element, action) {
  element.addEventListener("click", (event) => action(event));
  element.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      action(event);
    }
  });
}

/** One tip for the whole page: beside the pointer, or beside what has the focus. */
let tip = null;

export function tipOn(element, lines) {
  const show = (event) => {
    tip = tip || document.body.appendChild(html("div", { class: "hint", role: "tooltip" }));
    tip.replaceChildren(...lines().map((line, number) => html(number ? "p" : "b", {}, line)));
    tip.hidden = false;
    const box = element.getBoundingClientRect();
    const x = event.clientX ?? box.left + box.width / 2;
    const y = event.clientY ?? box.bottom;
    const width = tip.offsetWidth, height = tip.offsetHeight;
    const left = Math.max(8, Math.min(x + 14, innerWidth - width - 8));
    const below = y + 18 + height < innerHeight;
    tip.style.left = `${left}px`;
    tip.style.top = `${Math.max(8, below ? y + 18 : y - height - 14)}px`;
  };
  const hide = () => tip && (tip.hidden = true);
  element.addEventListener("pointermove", show);
  element.addEventListener("pointerleave", hide);
  element.addEventListener("focus", (event) => element.matches(":focus-visible") && show(event));
  element.addEventListener("blur", hide);
}
