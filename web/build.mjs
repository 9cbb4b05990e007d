// Bundles src/ into the files that the wheel ships, and records which sources they were made of; one file is the site's.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const assets = "../src/afterward/render/assets/";
// The layout library's licence asks to stand in every copy, and the page is one.
const licence = (name) => readFileSync(`node_modules/@dagrejs/${name}/LICENSE`, "utf8").trim();
const banner = `/*! Contains @dagrejs/dagre and @dagrejs/graphlib (MIT).\n\n${licence("dagre")}\n*/`;
if (licence("dagre").slice(30) !== licence("graphlib").slice(30)) console.warn("the two licences differ: name both");

const shared = { bundle: true, minify: true, charset: "ascii", legalComments: "inline", logLevel: "warning" };

await build({ ...shared, entryPoints: ["src/page.js"], outfile: assets + "page.js", format: "iife", target: "es2020", banner: { js: banner } });
await build({ ...shared, entryPoints: ["src/page.css"], outfile: assets + "page.css" });
await build({ ...shared, entryPoints: ["src/lifeline.css"], outfile: assets + "lifeline.css" });

// The site's search works in a worker, which a browser refuses to a page from disk: there a frame takes its place.
const frame = `/*! Contains iframe-worker (MIT).\n\n${readFileSync("node_modules/iframe-worker/LICENSE", "utf8").trim()}\n*/`;
await build({ ...shared, entryPoints: ["iframe-worker/shim"], outfile: "../docs/javascripts/iframe-worker.js", banner: { js: frame } });

// tests/render/test_html_assets.py computes the same sum: names and bytes, in the order of the names.
const files = ["build.mjs", "package.json", "package-lock.json", ...readdirSync("src").map((name) => `src/${name}`)];
const sum = createHash("sha256");
for (const name of files.sort()) sum.update(name + "\n").update(readFileSync(name)).update("\n");
writeFileSync(assets + "sources.sha256", sum.digest("hex") + "\n");
