"""How a runner of trials and its server talk: pickled values, each after its length, over a socket."""

from __future__ import annotations

import pickle
import socket
import struct
from typing import Any

STOP = "stop"  # end the trial that runs
_LENGTH = struct.Struct("!Q")


def send(channel: socket.socket, value: Any) -> None:
    data = pickle.dumps(value)
    channel.sendall(_LENGTH.pack(len(data)) + data)


def receive(channel: socket.socket) -> Any:
    """The next value; None when the other side is gone."""
    head = _exactly(channel, _LENGTH.size)
    if head is None:
        return None
    data = _exactly(channel, _LENGTH.unpack(head)[0])
    return None if data is None else pickle.loads(data)


def _exactly(channel: socket.socket, count: int) -> bytes | None:
    parts: list[bytes] = []
    while count:
        try:
            part = channel.recv(min(count, 1 << 20))
        except OSError:
            return None
        if not part:
            return None
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
