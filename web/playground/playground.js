// The page on which one pastes a training script: examples, the text in the address, and what `check` says of it.
const PAUSE = 250; // milliseconds after the last key
const part = (name) => document.getElementById(`playground-${name}`);
const [code, result, status, choice] = ["code", "result", "status", "examples"].map(part);
const here = new URL("./playground/", document.baseURI);

let asked = 0;
let waiting;
let pending;
const worker = new Worker(new URL("worker.js", here), { type: "module" });

// What stands between backticks is code.
const say = (text) =>
  status.replaceChildren(
    ...text.split("`").map((piece, n) => (n % 2 ? Object.assign(document.createElement("code"), { textContent: piece }) : piece)),
  );

worker.onmessage = ({ data }) => {
  if (data.kind === "ready") {
    say("Ready. Nothing you paste leaves this page.");
  } else if (data.number === asked || data.kind === "failed") {
    pending = false;
    show(data);
  }
};
worker.onerror = (event) => show({ kind: "failed", why: event.message });

function show(answer) {
  document.body.dataset.playground = answer.kind;
  say(answer.summary ?? answer.why ?? "");
  // The page of a report carries a policy of its own: nothing in it is loaded from anywhere.
  result.srcdoc = answer.html ?? "";
  result.hidden = !answer.html;
}

function ask() {
  const text = code.value;
  history.replaceState(null, "", text ? `#code=${encoded(text)}` : location.pathname);
  if (!text.trim()) {
    show({ kind: "empty", summary: "Paste a training script, a loop, or an error message." });
    return;
  }
  asked += 1;
  pending = true;
  delete document.body.dataset.playground;
  setTimeout(() => pending && say("Checking..."), 300);
  worker.postMessage({ number: asked, text });
}

// The text in the address: bytes of UTF-8 in base64, with letters that an address takes as they are.
function encoded(text) {
  const bytes = new TextEncoder().encode(text);
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")).replace(/\+/g, "-").replace(/\//g, "_");
}

function decoded(part) {
  try {
    const bytes = Uint8Array.from(atob(part.replace(/-/g, "+").replace(/_/g, "/")), (letter) => letter.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined; // not an address of ours
  }
}

code.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(ask, PAUSE);
});
code.addEventListener("keydown", (event) => {
  if (event.key === "Tab" && !event.shiftKey && !event.altKey && !event.ctrlKey) {
    event.preventDefault();
    code.setRangeText("    ", code.selectionStart, code.selectionEnd, "end");
  }
});

const examples = await (await fetch(new URL("examples.json", here))).json();
for (const [name, { title }] of Object.entries(examples)) {
  choice.add(new Option(title, name));
}
choice.addEventListener("change", () => {
  if (choice.value in examples) {
    code.value = examples[choice.value].code;
    ask();
  }
});

const given = location.hash.startsWith("#code=") ? decoded(location.hash.slice(6)) : undefined;
code.value = given ?? Object.values(examples)[0]?.code ?? "";
ask();
