// How afterward is started: what the settings say, else the workspace's own environment, else PATH.

import { existsSync } from "node:fs";
import { join } from "node:path";

const FOLDERS = [".venv", "venv", "env"];

export function commandFor(configured: string[], folder: string | undefined, platform = process.platform): string[] {
  if (configured.length > 0) {
    return configured;
  }
  const inside = platform === "win32" ? join("Scripts", "afterward.exe") : join("bin", "afterward");
  const own = FOLDERS.map((name) => join(folder ?? "", name, inside)).find((path) => folder && existsSync(path));
  return [own ?? "afterward"];
}

/** A word as a shell takes it: quoted where it holds anything but plain letters. */
export function quoted(word: string, platform = process.platform): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) {
    return word;
  }
  return platform === "win32" ? `"${word.replace(/"/g, '\\"')}"` : `'${word.replace(/'/g, "'\\''")}'`;
}
