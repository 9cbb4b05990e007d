"""What an editor sends, message by message: whatever is not one is passed over, so that nothing ends the server."""

from __future__ import annotations

import json
import re
from typing import BinaryIO

LONGEST = 1 << 26  # bytes of a message: the text of a file, and little else
_LINE = 1 << 16
_LENGTH = re.compile(rb"Content-Length:[ \t]*(\d{1,12})\r?\n", re.IGNORECASE)


class Messages:
    """A stream of well-formed messages only, read from one that may hold anything."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self._ready = b""

    def readline(self) -> bytes:
        """The next line of a message's header; nothing at the end of the stream."""
        if not self._ready:
            self._ready = self._next()
        end = self._ready.find(b"\n") + 1
        line, self._ready = self._ready[:end], self._ready[end:]
        return line

    def read(self, count: int) -> bytes:
        """The body of that message."""
        body, self._ready = self._ready[:count], self._ready[count:]
        return body

    def _next(self) -> bytes:
        while line := self._raw.readline(_LINE):
            found = _LENGTH.search(line)  # after a body of the wrong length, the next header is in the middle of a line
            if found is None or not 0 < int(found.group(1)) <= LONGEST:
                continue
            if not self._header_ends():
                continue
            body = self._raw.read(int(found.group(1)))
            if _is_message(body):
                return b"Content-Length: %d\r\n\r\n" % len(body) + body
        return b""

    def _header_ends(self) -> bool:
        """Read the other lines of a header, up to the empty one."""
        for _ in range(16):
            line = self._raw.readline(_LINE)
            if not line.strip():
                return bool(line)
        return False


def _is_message(body: bytes) -> bool:
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(message, dict) and message.get("jsonrpc") == "2.0"
