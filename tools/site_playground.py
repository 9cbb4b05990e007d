"""The files of the playground: afterward as an archive, the examples, and Pyodide, beside the page that uses them."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import afterward
from afterward.gallery import NEEDS, examples

ROOT = Path(__file__).parent.parent
SCRIPTS = ROOT / "web" / "playground"
PYODIDE = SCRIPTS / "node_modules" / "pyodide"  # `make playground` brings it
NEEDED = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "pyodide-lock.json", "python_stdlib.zip")
LEFT_OUT = {".so", ".pyc", ".c", ".h", ".pyd"}


def build(site: Path) -> bool:
    """Write the playground into the built site; says whether Pyodide was there to go with it."""
    folder = site / "playground"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("playground.js", "worker.js"):
        shutil.copy(SCRIPTS / name, folder / name)
    (folder / "examples.json").write_text(json.dumps(example_programs(), indent=1), encoding="utf-8")
    _archive(folder / "afterward.zip")
    if not all((PYODIDE / name).exists() for name in NEEDED):
        return False
    (folder / "pyodide").mkdir(exist_ok=True)
    for name in NEEDED:
        shutil.copy(PYODIDE / name, folder / "pyodide" / name)
    return True


def example_programs() -> dict[str, dict[str, str]]:
    """Of every shipped example that needs nothing but torch, the first program in which something is found."""
    found = {}
    for example in examples():
        wrong = [program for program in example.programs if program.finds]
        text = wrong[0].path.read_text(encoding="utf-8") if wrong else ""
        if text and example.name not in NEEDS and "afterward" not in text:
            found[example.name] = {"title": example.title.replace("`", ""), "code": text}
    return found


def _archive(path: Path) -> None:
    package = Path(afterward.__file__).parent
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(package.rglob("*")):
            inside = file.relative_to(package)
            if file.is_file() and file.suffix not in LEFT_OUT and inside.parts[0] != "gallery":
                archive.write(file, f"afterward/{inside.as_posix()}")
