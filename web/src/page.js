// The report page: everything it shows comes out of the JSON in the page, and goes in as text, never as markup.
import { startGraph } from "./graph.js";
import { startLifeLine } from "./lifeline.js";

function startTheme() {
  const button = document.querySelector("[data-theme-button]");
  if (!button) return;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  button.hidden = false;
  button.addEventListener("click", () => {
    const root = document.documentElement;
    const now = root.dataset.theme || (dark.matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
    button.setAttribute("aria-pressed", String(root.dataset.theme === "dark"));
  });
}

function start() {
  startTheme();
  const data = JSON.parse(document.getElementById("afterward-data").textContent);
  data.findings.forEach((finding, number) => {
    const article = document.getElementById(`finding-${number + 1}`);
    if (!article) return;
    const graph = finding.graph ? startGraph(article, finding.graph) : null;
    if (finding.story) startLifeLine(article, finding.story, graph);
  });
  document.documentElement.dataset.ready = "yes";
}

start();
