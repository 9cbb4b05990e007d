"""Runs of programs and commands, each in a process forked from this one, which has torch loaded."""

from __future__ import annotations

import builtins
import contextlib
import gc
import io
import math
import os
import resource
import select
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from afterward.tasks.system_calls import libc

DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
BUSY = 5  # after so many times as long as its processor time allows, a run that uses none stands still


def load(fixing: bool = True) -> None:
    """Import what every run needs, once; what `fix` needs too, where it is to be run."""
    import torch
    import torch._dynamo

    import afterward.cli.check
    import afterward.cli.run
    import afterward.observe.recording.session
    import afterward.rules
    import afterward.tasks.check

    if fixing:
        import afterward.cli.fix
        import afterward.repair
        import afterward.tasks.fix
        import afterward.tasks.trial_server

    torch.set_num_threads(1)
    torch.optim.SGD([torch.ones(1, requires_grad=True)])  # imports what it imports late
    afterward.rules.all_rules()
    gc.collect()
    gc.freeze()


def forked(work: Callable[[], object], folder: Path, limit: float, output: Path | None = None) -> int | None:
    """Run `work` in a process of its own, in this folder; its exit status, or None where it took too long: so many
    seconds of processor time, however long the machine takes to give them to it."""
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        status = 70
        try:
            os.setsid()
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit), math.ceil(limit)))
            libc().prctl(DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)  # where the bench is stopped, its runs are
            become(folder, output)
            status = _status(work)
        finally:
            os._exit(status)
    over = _ended(pid, BUSY * limit)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)  # and what it may have started
    if not over:
        os.waitpid(pid, 0)
        return None
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _ended(pid: int, limit: float) -> bool:
    """Wait for its end; False where it has stood still for so many seconds."""
    number, used = os.pidfd_open(pid), -1
    try:
        while not select.select([number], [], [], limit)[0]:
            before, used = used, _processor_time(pid)
            if used == before:
                return False
        return True
    finally:
        os.close(number)


def _processor_time(pid: int) -> int:
    """In clock ticks, with that of the processes it has waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15]))


def become(folder: Path, output: Path | None) -> None:
    os.chdir(folder)
    nowhere = os.open(os.devnull, os.O_RDWR)
    written = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) if output is not None else nowhere
    for number, target in ((0, nowhere), (1, written), (2, written)):
        os.dup2(target, number)
    sys.stdin = sys.__stdin__ = io.TextIOWrapper(io.FileIO(0, closefd=False), encoding="utf-8")  # type: ignore[misc]
    for number, stream in ((1, "stdout"), (2, "stderr")):
        raw = io.BufferedWriter(io.FileIO(number, "w", closefd=False))
        text = io.TextIOWrapper(raw, encoding="utf-8", errors="backslashreplace")
        setattr(sys, stream, text)
        setattr(sys, f"__{stream}__", text)
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ["XDG_CACHE_HOME"] = str(folder)


def _status(work: Callable[[], object]) -> int:
    import traceback

    try:
        result = work()
        return result if isinstance(result, int) else 0
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def as_main(file: str, arguments: tuple[str, ...] = ()) -> None:
    """Run a file as Python would."""
    main = sys.modules["__main__"] = ModuleType("__main__")
    main.__dict__.update({"__builtins__": builtins, "__spec__": None, "__file__": os.path.abspath(file)})
    sys.argv, sys.path[0] = [file, *arguments], os.path.dirname(os.path.abspath(file))
    exec(compile(Path(file).read_bytes(), os.path.abspath(file), "exec"), main.__dict__)


def afterward(*words: str) -> int:
    """Be the command line, in a process that has all of it loaded: trials are forked from here, too."""
    from afterward.cli import main
    from afterward.tasks import trial_runner

    trial_runner.TrialRunner._start = _fork_server  # type: ignore[assignment, method-assign]
    module = sys.modules["__main__"] = ModuleType("__main__")
    module.__dict__.update({"__builtins__": builtins, "__spec__": None})
    sys.argv, sys.path[0] = ["afterward", *words], os.getcwd()
    return main(list(words))


class _Forked:
    """As much of a `Popen` as a runner of trials needs."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.ended = False

    def wait(self, timeout: float | None = None) -> int:
        if not self.ended:
            os.waitpid(self.pid, 0)
            self.ended = True
        return 0

    def kill(self) -> None:
        if not self.ended:
            os.kill(self.pid, signal.SIGKILL)


def _fork_server(self: object, channel: socket.socket) -> _Forked:
    """A server of trials without the wait: this process has loaded what one loads."""
    from afterward.tasks import trial_server

    pid = os.fork()
    if pid == 0:
        try:
            self._channel.close()  # type: ignore[attr-defined]
            trial_server.serve(channel)
        finally:
            os._exit(0)
    return _Forked(pid)
