"""A process that has torch loaded already, and forks for each program that is tried.

Loading torch takes seconds, a fix tries many patches, and each must start from a clean interpreter. Where forking
is not safe, each trial starts an interpreter of its own.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import pickle
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from afterward.model.diagnosis import Report
from afterward.tasks.trial import Request, Trial, perform
from afterward.tasks.undo import undo

FORKS = sys.platform == "linux"

OnTick = Callable[[float], None]


class TrialRunner:
    """Runs requests, one at a time, each in a fresh process group that is gone when `run` returns."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="afterward-"))
        self._process: subprocess.Popen[bytes] | None = None
        self._ask = self._answer = -1
        self._number = 0

    def __enter__(self) -> TrialRunner:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            os.close(self._ask)
            os.close(self._answer)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(2)
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def run(self, request: Request, *, limit: float | None = None, tick: OnTick | None = None) -> Trial:
        """Carry a request out, for at most so many seconds. What a trial wrote is put back, however it ended."""
        self._number += 1
        space = self._folder / str(self._number)
        space.mkdir()
        remembered = space / "undo"
        remembered.mkdir()
        tried = not request.shown
        request = replace(request, result=str(space / "result"), undo=str(remembered) if tried else None)
        (space / "request").write_bytes(pickle.dumps(request))
        try:
            in_time = self._carry_out(space / "request", limit, tick)
        finally:
            left = undo(remembered) if tried else []
        result = _read(space / "result")
        if result is None:
            ending = "died" if in_time else "time"
            result = Trial(ending, Report((request.target, *request.arguments)))
        result.unrestored = left
        shutil.rmtree(space, ignore_errors=True)
        return result

    def _carry_out(self, request: Path, limit: float | None, tick: OnTick | None) -> bool:
        """Was it over in time? The process and all it started are gone afterwards."""
        pid, over = self._start(request)
        began = time.monotonic()
        try:
            while not over(0.1):
                spent = time.monotonic() - began
                if tick is not None:
                    tick(spent)
                if limit is not None and spent > limit:
                    return False
            return True
        finally:
            _end(pid)
            over(5)

    def _start(self, request: Path) -> tuple[int, Callable[[float], bool]]:
        if not FORKS:
            process = subprocess.Popen(
                [sys.executable, "-m", "afterward.tasks.trial_runner", "--once", str(request)], start_new_session=True
            )

            def ended(seconds: float) -> bool:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(seconds)
                return process.poll() is not None

            return process.pid, ended
        if self._process is None or self._process.poll() is not None:
            self._open()
        os.write(self._ask, os.fsencode(str(request)) + b"\n")
        pid = int(_line(self._answer))
        done = False

        def over(seconds: float) -> bool:
            nonlocal done
            if not done and select.select([self._answer], [], [], seconds)[0]:
                _line(self._answer)
                done = True
            return done

        return pid, over

    def _open(self) -> None:
        asked, self._ask = os.pipe()
        self._answer, answered = os.pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "afterward.tasks.trial_runner", str(asked), str(answered)],
            pass_fds=(asked, answered),
            start_new_session=True,
        )
        os.close(asked)
        os.close(answered)


def _end(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _line(number: int) -> bytes:
    """One line from a pipe; nothing when the other side is gone."""
    got = b""
    while not got.endswith(b"\n"):
        byte = os.read(number, 1)
        if not byte:
            return b"0"
        got += byte
    return got


def _read(path: Path) -> Trial | None:
    try:
        result = pickle.loads(path.read_bytes())
    except (OSError, pickle.UnpicklingError, EOFError):
        return None
    return result if isinstance(result, Trial) else None


# What follows runs in the new process.


def _serve(asked: int, answered: int) -> None:
    with contextlib.suppress(ImportError):
        importlib.import_module("torch._dynamo")  # the first optimizer of each trial would load it, for seconds
    gc.collect()
    gc.freeze()  # what is loaded by now holds nothing of a program: no trial has to look through it, or copy it
    while True:
        line = _line(asked)
        if line == b"0":
            return
        pid = os.fork()
        if pid == 0:
            os.close(asked)
            os.close(answered)
            os.setsid()
            _once(os.fsdecode(line.rstrip(b"\n")))
        os.write(answered, b"%d\n" % pid)
        os.waitpid(pid, 0)
        os.write(answered, b"over\n")


def _once(path: str) -> None:
    errors = os.dup(2)
    try:
        perform(pickle.loads(Path(path).read_bytes()))
    except BaseException:
        os.dup2(errors, 2)
        traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
        os._exit(0)


if __name__ == "__main__":
    sys.path[0] = ""  # run_program puts the program's folder here
    if sys.argv[1] == "--once":
        _once(sys.argv[2])
    else:
        _serve(int(sys.argv[1]), int(sys.argv[2]))
