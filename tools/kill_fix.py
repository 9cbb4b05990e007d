"""Kill `afterward fix --write` at random moments and look at what is left: no process, every file old or new.

    python tools/kill_fix.py 200 --seed 0

Runs are forked from this process, which has torch loaded; every twentieth is a process of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from afterward.tasks.processes import adopt_orphans
from plantlab.forking import afterward, become, load

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
REAL = 20  # every so many is started as a user starts it
PATIENCE = 10.0  # seconds for the kernel and the server to end what has lost its parent

PROGRAM = """\
import os, subprocess
import torch

torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
hidden = torch.zeros(1, 1)
for step, x in enumerate(torch.randn(6, 1, 3)):
    hidden = torch.tanh(net(x) + hidden)
    opt.zero_grad()
    hidden.sum().backward()
    opt.step()
    if step == 1:  # only a trial comes here: the program itself fails in its second step
        subprocess.Popen(["sleep", "600"], start_new_session=True)
        open("results.txt", "w").write("of a trial")
        os.rename("data", "moved")
        os.mkdir("data")
"""
FIXED = "    hidden = torch.tanh(net(x) + hidden.detach())\n"


def prepared(folder: Path) -> None:
    (folder / "work" / "data").mkdir(parents=True)
    (folder / "tmp").mkdir()
    (folder / "work" / "train.py").write_text(PROGRAM)
    (folder / "work" / "results.txt").write_text("as it was")
    (folder / "work" / "data" / "inner.txt").write_text("inner")


def started(folder: Path, real: bool) -> int:
    """`afterward fix --write train.py`, with a place for temporary files and for its state of its own."""
    env = {"TMPDIR": str(folder / "tmp"), "XDG_STATE_HOME": str(folder / "state"), "OMP_NUM_THREADS": "1"}
    if real:
        words = [sys.executable, "-m", "afterward", "fix", "--write", "train.py"]
        quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        process = subprocess.Popen(
            words, cwd=folder / "work", env={**os.environ, **env}, start_new_session=True, **quiet
        )
        process.returncode = 0  # it is waited for here
        return process.pid
    pid = os.fork()
    if pid == 0:
        status = 70
        with contextlib.suppress(BaseException):
            os.setsid()
            os.environ.update(env)
            tempfile.tempdir = None
            become(folder / "work", None)
            status = afterward("fix", "--write", "train.py")
        os._exit(status)
    return pid


def killed(folder: Path, after: float, by: int, real: bool = False) -> list[str]:
    """What is wrong after this kill; nothing: all is well."""
    prepared(folder)
    pid = started(folder, real)
    time.sleep(after)
    os.kill(pid, by)
    os.waitpid(pid, 0)
    wrong = [f"still running: {left}" for left in left_running()]
    wrong += [f"left in the folder for temporary files: {name}" for name in os.listdir(folder / "tmp")]
    os.environ["XDG_STATE_HOME"] = str(folder / "state")
    from afterward.tasks.journal import recovered

    list(recovered())  # as the next start does
    wrong += [f"left of the journal: {path.name}" for path in (folder / "state").rglob("*") if path.is_file()]
    return wrong + changed(folder / "work")


def left_running() -> list[int]:
    """Whatever it has started is our child now. It must end without our help."""
    me = os.getpid()
    deadline = time.monotonic() + PATIENCE
    while True:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        left = [int(word) for word in Path(f"/proc/{me}/task/{me}/children").read_text().split()]
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.02)


def changed(work: Path) -> list[str]:
    """Files that are neither old nor new."""
    texts = {str(p.relative_to(work)): p.read_text() for p in work.rglob("*") if p.is_file() and p.suffix != ".pyc"}
    program = texts.pop("train.py", "")
    wrong = [] if program in (PROGRAM, _new(PROGRAM)) else [f"train.py is neither old nor new: {program[:200]}"]
    if texts != {"results.txt": "as it was", "data/inner.txt": "inner"}:
        wrong.append(f"files: {texts}")
    return wrong


def _new(text: str) -> str:
    return text.replace("    hidden = torch.tanh(net(x) + hidden)\n", FIXED)


def how_long(folder: Path) -> float:
    """Seconds of a whole fix that nobody kills."""
    prepared(folder)
    began = time.monotonic()
    pid = started(folder, real=False)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    spent = time.monotonic() - began
    text = (folder / "work" / "train.py").read_text()
    assert (status, text) == (0, _new(PROGRAM)), (status, text)
    return spent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, nargs="?", default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    load()
    adopt_orphans()
    failures, written = 0, Counter[str]()
    with tempfile.TemporaryDirectory(prefix="kills-") as name:
        whole = how_long(Path(name, "whole"))
        for number in range(options.count):
            real = number % REAL == REAL - 1
            by, after = SIGNALS[number % len(SIGNALS)], chance.uniform(0, 1.1 * whole * (4 if real else 1))
            folder = Path(name, str(number))
            wrong = killed(folder, after, by, real)
            text = (folder / "work" / "train.py").read_text()
            written["new" if text == _new(PROGRAM) else "old"] += 1
            failures += bool(wrong)
            for line in wrong:
                print(f"kill {number} by {signal.Signals(by).name} after {after:.2f} s: {line}")
            if sys.stderr.isatty():
                print(f"\r{number + 1}/{options.count} kills, {failures} left something ", end="", file=sys.stderr)
    print(f"{options.count} kills: {failures} left something; train.py was {dict(written)}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
