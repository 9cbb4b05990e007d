"""Runs trials, one at a time, by a process that has torch loaded (`trial_server`) and forks for each of them.

Loading torch takes seconds, a fix tries many patches, and each must start from a clean interpreter. The server notices
when this process is gone, however it ended: then the trial ends too, and nothing is left behind.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from types import TracebackType

from afterward.model.diagnosis import Report
from afterward.model.facts import Note
from afterward.tasks.messages import STOP, receive, send
from afterward.tasks.trial import Request, Trial

OnTick = Callable[[float], None]
Tell = Callable[[Note], None]

MOMENT = 5.0  # seconds that a server has to end what it was told to end


class TrialRunner:
    """Each request in a fresh process; it and all that it started are gone when `run` returns."""

    def __init__(self, tell: Tell | None = None) -> None:
        self._tell = tell  # is told, once, what is not isolated from trials here
        self._server: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None

    def __enter__(self) -> TrialRunner:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def run(self, request: Request, *, limit: float | None = None, tick: OnTick | None = None) -> Trial:
        """Carry a request out, for at most so many seconds."""
        channel = self._open()
        send(channel, request)
        in_time = self._wait(channel, limit, tick)
        answer = self._answer(channel)
        if answer is None:  # the server is gone, or does not answer: the next request gets another one
            self._close()
        result = _unpacked(answer)
        if result is None:
            return Trial("died" if in_time else "time", Report((request.target, *request.arguments)))
        if result.not_isolated is not None and self._tell is not None:
            self._tell(result.not_isolated)
            self._tell = None
        return result

    def _wait(self, channel: socket.socket, limit: float | None, tick: OnTick | None) -> bool:
        """Was it over in time? If not, it is told to end."""
        began = time.monotonic()
        while not select.select([channel], [], [], 0.1)[0]:
            spent = time.monotonic() - began
            if tick is not None:
                tick(spent)
            if limit is not None and spent > limit:
                with contextlib.suppress(OSError):
                    send(channel, STOP)
                return False
        return True

    def _answer(self, channel: socket.socket) -> bytes | None:
        if not select.select([channel], [], [], MOMENT)[0]:
            return None
        answer = receive(channel)
        return answer if isinstance(answer, bytes) else None

    def _open(self) -> socket.socket:
        if self._channel is None:
            self._channel, theirs = socket.socketpair()
            self._server = self._start(theirs)
            theirs.close()
        return self._channel

    def _start(self, channel: socket.socket) -> subprocess.Popen[bytes]:
        number = channel.fileno()
        words = [sys.executable, "-m", "afterward.tasks.trial_server", str(number), str(os.getpid())]
        return subprocess.Popen(words, pass_fds=(number,), start_new_session=True)

    def _close(self) -> None:
        if self._channel is not None:
            self._channel.close()  # the server ends what runs, and itself
            self._channel = None
        if self._server is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._server.wait(MOMENT)
            self._server.kill()
            self._server.wait()
            self._server = None


def _unpacked(answer: bytes | None) -> Trial | None:
    try:
        result = pickle.loads(answer) if answer else None
    except (pickle.UnpicklingError, EOFError, ValueError):
        return None
    return result if isinstance(result, Trial) else None
