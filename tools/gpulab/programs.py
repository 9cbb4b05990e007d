"""Programs that need a GPU, plain against `run`: the same output and exit status, and the finding that each one names.

    python tools/gpulab/programs.py [--out FILE] [NAME ...]

The first line of a program says what is expected: `# finds: AFT103` or `# finds: nothing`; a second one may say how it
is started: `# start: torchrun --standalone --nproc-per-node 1`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"
TIMEOUT = 120  # seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    lines, failed = [], 0
    for program in sorted(PROGRAMS.glob("*.py")):
        if options.names and program.stem not in options.names:
            continue
        right, line, text = _try(program)
        failed += not right
        print(line, flush=True)
        lines += [line, text]
    if options.out:
        options.out.write_text("\n".join(lines))
    return int(failed > 0)


def _try(program: Path) -> tuple[bool, str, str]:
    head = program.read_text().splitlines()[:2]
    expected = head[0].removeprefix("# finds: ")
    started = head[1].removeprefix("# start: ").split() if head[1].startswith("# start: ") else []
    launcher = [sys.executable, "-m", "torch.distributed.run", *started[1:]] if started else [sys.executable]
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "report.json"
        plain, _ = _run([*launcher, str(program)])
        afterward = [sys.executable, "-m", "afterward", "run"]
        target = ["--", *launcher, str(program)] if started else [str(program)]
        watched, spent = _run([*afterward, "--format", "json", "--out", str(out), *target])
        shown, _ = _run([*afterward, *target])
        try:
            found = sorted({finding["code"] for finding in json.loads(out.read_text())["findings"]})
        except (OSError, ValueError):
            found = ["no report"]
    same = plain[:2] == watched[:2] and "ModuleNotFoundError" not in plain[2]
    right = same and (", ".join(found) or "nothing") == expected
    line = f"{'right' if right else 'WRONG'} {program.stem}: {', '.join(found) or 'nothing'}, expected {expected}; "
    line += f"{'same' if same else 'OTHER'} output and status; {spent:.0f} s"
    return right, line, "\n".join([f"status {plain[0]} / {watched[0]}", plain[1], watched[1], shown[2]])


def _run(command: list[str]) -> tuple[tuple[int, str, str], float]:
    start = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    except subprocess.TimeoutExpired as hung:
        return (124, "", f"hung: {hung}"), TIMEOUT
    return (done.returncode, done.stdout, done.stderr), time.monotonic() - start


if __name__ == "__main__":
    sys.exit(main())
