"""The process that has torch loaded, and forks for each trial that it is asked for.

It ends when its runner does. A trial that runs then is killed with all that it has started.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from afterward.tasks.copied_tree import CopiedTree, NotCopied
from afterward.tasks.isolation import call_in_private_view, die_with_parent, let_live, why_not
from afterward.tasks.messages import STOP, receive, send
from afterward.tasks.processes import adopt_orphans, end_all
from afterward.tasks.rank_trial import new_meeting
from afterward.tasks.trial import Request, Trial, leave_result
from afterward.tasks.trial_process import perform


def serve(channel: socket.socket) -> None:
    """Carry out request after request, until the other side is gone."""
    adopt_orphans()
    server = _Server(channel)
    try:
        while (message := receive(channel)) is not None:
            if isinstance(message, Request):
                server.carry_out(message)
    finally:
        server.close()


class _Server:
    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._home = _working_folder()
        os.chdir("/")  # the folder that it was started in may go
        self._refused: dict[str, str] = {}  # by folder: why there is no private view; nothing: there is
        self._copies: dict[str, CopiedTree] = {}

    def carry_out(self, request: Request) -> None:
        folder = os.path.abspath(os.path.join(self._home, request.folder))
        request = replace(request, folder=folder)
        if request.shown:  # it runs where the user's files are, and may be killed: what it leaves there is removed here
            request = replace(request, meeting=new_meeting())
        with tempfile.TemporaryFile(dir=_memory()) as result:
            try:
                work = self._work(request, folder, result)
            except NotCopied as error:
                leave_result(result, Trial.hindered_by(request, error.note))
            else:
                self._run(work)
            result.seek(0)
            data = result.read()
        if request.meeting:
            shutil.rmtree(request.meeting, ignore_errors=True)
        with contextlib.suppress(OSError):
            send(self._channel, data)

    def _work(self, request: Request, folder: str, result: BinaryIO) -> Callable[[], None]:
        """What the new process is to do. The run that is shown is the user's own: it is not a trial."""
        if request.shown:
            return lambda: _perform(request, result)
        if folder not in self._refused:
            self._refused[folder] = _why_not_in(folder)
        reason = self._refused[folder]
        if not reason:
            return lambda: _in_view(folder, lambda: _perform(request, result))
        if folder not in self._copies:
            self._copies[folder] = CopiedTree(Path(folder), reason)
        tree = self._copies[folder]
        tree.renew()
        inside = replace(request, folder=tree.inside(folder), patched=tree.moved(request.patched))
        return lambda: tree.call_inside(lambda: _perform(inside, result, tree))

    def _run(self, work: Callable[[], None]) -> None:
        pid = os.fork()
        if pid == 0:
            try:
                self._channel.close()
                os.setsid()
                die_with_parent()
                work()
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(0)
        while not _over(pid):
            if select.select([self._channel], [], [], 0.02)[0] and receive(self._channel) in (STOP, None):
                break
        end_all(pid)

    def close(self) -> None:
        for tree in self._copies.values():
            tree.remove()


def _perform(request: Request, result: BinaryIO, tree: CopiedTree | None = None) -> None:
    """In the new process, in its view."""
    errors = os.dup(2)
    try:
        perform(request, lambda trial: leave_result(result, trial if tree is None else tree.as_outside(trial)))
    except BaseException:
        os.dup2(errors, 2)
        traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            sys.stdout.flush()


def _in_view(folder: str, work: Callable[[], None]) -> None:
    os.chdir(folder)
    call_in_private_view(work, _print)


def _why_not_in(folder: str) -> str:
    """Asked in the folder where trials are to run: what can be covered elsewhere may not be there."""
    try:
        os.chdir(folder)
        return why_not()
    except OSError as error:
        return str(error)
    finally:
        os.chdir("/")


def _working_folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # it is gone
        return "/"


def _over(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _print(error: OSError) -> None:
    print(f"afterward: a trial could not be isolated: {error}", file=sys.stderr)


def _memory() -> str | None:
    """Where a file without a name lies in memory."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def load() -> None:
    """Have everything imported that trials need."""
    with contextlib.suppress(ImportError):
        importlib.import_module("torch._dynamo")  # the first optimizer of each trial would load it, for seconds
    gc.collect()
    gc.freeze()  # what is loaded by now holds nothing of a program: no trial has to look through it, or copy it


def main(number: int, runner: int) -> None:
    """Until torch is loaded, nothing has to be cleaned up, and the kernel may end this process with its runner."""
    die_with_parent()
    if os.getppid() != runner:
        return
    if sys.platform.startswith("linux"):  # elsewhere a process that has torch loaded must not fork
        load()
    let_live()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with socket.socket(fileno=number) as channel:
        serve(channel)


if __name__ == "__main__":
    sys.path[0] = ""  # run_program puts the program's folder here
    main(int(sys.argv[1]), int(sys.argv[2]))
