// Runs tools/torch_free.py on the Python of the npm package `pyodide` (3.14) and compares with what it printed here.
// usage: node tools/torch_free.mjs PYODIDE_FOLDER EXPECTED.json
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const [folder, expected] = process.argv.slice(2).map((path) => resolve(path));
const { loadPyodide } = await import(`${folder}/pyodide.mjs`);
const printed = [];
const python = await loadPyodide({ indexURL: `${folder}/`, stdout: (line) => printed.push(line) });
python.FS.mkdirTree("/repo");
python.FS.mount(python.FS.filesystems.NODEFS, { root }, "/repo");
await python.runPythonAsync(`
import runpy, sys
sys.path.insert(0, "/repo/src")
runpy.run_path("/repo/tools/torch_free.py", run_name="__main__")
`);
const there = JSON.parse(printed.at(-1));
const here = JSON.parse(readFileSync(expected, "utf8").trim().split("\n").at(-1));
console.log(`Python ${there.python.join(".")}: ${there.marked} files marked, ${there.gaps.length} gaps, ` +
  `${there.same} of ${there.of} plain programs print the same with marks`);
const names = Object.keys(here.found).filter((name) => there.found[name] !== null);
const differ = names.filter((name) => `${here.found[name]}` !== `${there.found[name]}`);
const threads = Object.keys(here.found).length - names.length;
console.log(`check: ${names.length} programs, ${differ.length} differ from Python ${here.python.join(".")}; ` +
  `${threads} more need threads, which WebAssembly has not`);
for (const name of differ) console.log(`  ${name}: ${here.found[name]} here, ${there.found[name]} there`);
process.exit(differ.length || there.gaps.length !== here.gaps.length || there.same !== there.of ? 1 : 0);
