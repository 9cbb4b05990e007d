// Python beside the page: loads Pyodide and afterward once, then checks whatever text it is sent. Nothing is sent anywhere.
import { loadPyodide } from "./pyodide/pyodide.mjs";

const ready = (async () => {
  const python = await loadPyodide({ indexURL: new URL("./pyodide/", import.meta.url).href });
  const archive = await fetch(new URL("./afterward.zip", import.meta.url));
  python.unpackArchive(await archive.arrayBuffer(), "zip", { extractDir: "/afterward" });
  python.runPython("import sys; sys.path.insert(0, '/afterward')");
  return python.pyimport("afterward.integrations.playground");
})();

ready.then(
  () => postMessage({ kind: "ready" }),
  (error) => postMessage({ kind: "failed", why: String(error) }),
);

onmessage = async ({ data }) => {
  try {
    const playground = await ready;
    postMessage({ number: data.number, ...JSON.parse(playground.look(data.text)) });
  } catch (error) {
    postMessage({ number: data.number, kind: "failed", why: String(error) });
  }
};
