"""Nothing that an editor, or anyone, sends ends the language server."""

from __future__ import annotations

import io
import json
import random
import subprocess
import sys

import pytest

from afterward.integrations.lsp_stream import Messages


def _message(number: int, method: str = "initialize", **params: object) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def _read_all(data: bytes) -> list[int]:
    stream, found = Messages(io.BytesIO(data)), []
    while header := stream.readline():
        assert stream.readline() == b"\r\n"
        found.append(json.loads(stream.read(int(header.split(b":")[1])))["id"])
    return found


BROKEN = [
    b"Content-Length: abc\r\n\r\n",
    b"Content-Length: 99999999999\r\n\r\n",
    b"Content-Length: -5\r\n\r\n",
    b"Content-Length: 0\r\n\r\n",
    b"Content-Length: 2\r\n\r\n{}",
    b"Content-Length: 3\r\n\r\n\xff\xfe\xfd",
    b"Content-Length: 4\r\n\r\nnull",
    b"\0" * 300,
    b"GET / HTTP/1.1\r\n\r\n",
    b"x" * 200_000 + b"\r\n",
    b"Content-Length: 400\r\n\r\n" + b"[" * 400,
]


@pytest.mark.parametrize("broken", BROKEN)
def test_what_is_no_message_is_passed_over(broken: bytes) -> None:
    assert _read_all(_message(1) + broken + _message(2)) == [1, 2]


def test_random_bytes_between_messages() -> None:
    draw = random.Random(0)
    for _ in range(300):
        noise = bytes(draw.randrange(256) for _ in range(draw.randrange(200)))
        assert _read_all(noise + b"\r\n" + _message(7)) == [7]


def test_the_server_goes_on_after_them() -> None:
    pytest.importorskip("pygls")
    sent = b"".join([*BROKEN, _message(1, capabilities={}, processId=None, rootUri=None)])
    sent += b"".join([*BROKEN, _message(2, "shutdown"), _message(3, "exit")])
    done = subprocess.run(
        [sys.executable, "-m", "afterward", "lsp"], input=sent, capture_output=True, timeout=120, check=False
    )
    assert b'"id":1' in done.stdout.replace(b" ", b"")
    assert b'"id":2' in done.stdout.replace(b" ", b"")
