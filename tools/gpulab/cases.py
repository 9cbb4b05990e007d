"""Does `run` find on a GPU what it finds on the CPU?

    python tools/gpulab/cases.py [--device cuda] [--jobs 12] [--out FILE] FOLDER ...

Each program of the folders (cases with their `buggy.py` and `fixed.py`, the gallery) is run twice, as it stands and
with its tensors made on the device: `torch.set_default_device` behind the first import of torch, on the same line, so
that no line moves. The findings must agree in code, places, value and first remedy. A program that does not run on the
device at all (a generator that stays on the CPU, say) is told apart: there plain Python raises something else.
`--device thread` needs no GPU: the backward passes run in a thread of their own, as they do for one.
"""

from __future__ import annotations

import argparse
import ast
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

TIMEOUT = 240  # seconds
_ON_A_DEVICE = 'import torch; torch.set_default_device("{}")'
_IN_A_THREAD = "import sys; sys.path.append('site-packages'); import engine_thread"
_ENGINE = Path(__file__).with_name("engine_thread.py")
PLACES = ("built", "freed", "reused", "written", "cut")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--jobs", type=int, default=12)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    programs = [program for folder in options.folders for program in _programs(folder)]
    rows = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for row in pool.map(lambda program: _compare(program, options.device), programs):
            rows.append(row)
            if row["verdict"] != "same":
                print(json.dumps(row), flush=True)
            elif len(rows) % 20 == 0:
                print(f"{len(rows)} of {len(programs)}", flush=True)
    print(dict(Counter(row["verdict"] for row in rows)), f"of {len(rows)} programs")
    if options.out:
        options.out.write_text(json.dumps(rows, indent=1))
    return int(any(row["verdict"] == "other findings" for row in rows))


def _programs(folder: Path) -> list[Path]:
    cases = [case / name for case in sorted(folder.iterdir()) for name in ("buggy.py", "fixed.py")]
    shipped = [path for path in sorted(folder.glob("*/*.py")) if (path.parent / "page.md").exists()]
    return [path for path in cases if path.exists()] + shipped


def _compare(program: Path, device: str) -> dict[str, Any]:
    row: dict[str, Any] = {"program": f"{program.parent.name}/{program.name}", "verdict": "same"}
    with tempfile.TemporaryDirectory() as scratch:
        here, there = Path(scratch) / "cpu", Path(scratch) / "device"
        for folder in (here, there):
            shutil.copytree(program.parent, folder, ignore=shutil.ignore_patterns("__pycache__", "truth.json"))
        (there / "site-packages").mkdir()
        shutil.copy(_ENGINE, there / "site-packages")
        (there / program.name).write_text(_moved(program.read_text(), device))
        row["cpu"], row["device"] = _findings(here / program.name), _findings(there / program.name)
        if row["cpu"] != row["device"]:
            row["raised"] = [_raised(here / program.name), _raised(there / program.name)]
            runs = row["raised"][0].split(":")[0] == row["raised"][1].split(":")[0]
            row["verdict"] = "other findings" if runs else "does not run there"
    return row


def _moved(text: str, device: str) -> str:
    """The program with its tensors on `device`; every line stays where it is."""
    lines = text.split("\n")
    for node in ast.parse(text).body:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if any(name.split(".")[0] == "torch" for name in names):
            lines[node.end_lineno - 1] += f"; {_IN_A_THREAD if device == 'thread' else _ON_A_DEVICE.format(device)}"
            break
    return "\n".join(lines)


def _findings(program: Path) -> list[Any]:
    out = program.parent / "report.json"
    command = [sys.executable, "-m", "afterward", "run", "--format", "json", "--out", str(out), program.name]
    try:
        subprocess.run(command, cwd=program.parent, capture_output=True, timeout=TIMEOUT)
        report = json.loads(out.read_text())
    except (subprocess.TimeoutExpired, OSError, ValueError) as error:
        return [f"no report: {type(error).__name__}"]
    return [_facts(finding) for finding in report["findings"]]


def _facts(finding: dict[str, Any]) -> list[Any]:
    places = {name: finding[name]["line"] for name in PLACES if finding.get(name)}
    remedies = finding.get("remedies") or [{}]
    return [finding["code"], places, (finding.get("bridge") or {}).get("name"), remedies[0].get("kind")]


def _raised(program: Path) -> str:
    """What plain Python ends with."""
    try:
        done = subprocess.run(
            [sys.executable, program.name], cwd=program.parent, capture_output=True, text=True, timeout=TIMEOUT
        )
    except subprocess.TimeoutExpired:
        return "timeout"
    return (done.stderr.strip().splitlines() or [""])[-1][:200] if done.returncode else ""


if __name__ == "__main__":
    sys.exit(main())
