"""What reads bytes from elsewhere. Each either does its work or refuses in words of ours; anything else is a fault."""

from __future__ import annotations

import io
import json
import os
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, cast

from afterward import cli

ROOT = Path(__file__).resolve().parents[2]
HISTORY = ROOT / "tests" / "render" / "golden" / "carried.history.json"
PROGRAM = """\
import torch
cell, hidden = torch.nn.RNNCell(4, 8), torch.zeros(1, 8)
for x in torch.randn(3, 1, 4):
    hidden = cell(x, hidden)
    hidden.sum().backward()
"""
FORMATS = ("text", "json", "sarif", "github", "concise", "junit")


@dataclass(frozen=True)
class Target:
    """`reads` takes any bytes; `seeds` are such as it was made for; JSON among them is damaged part by part."""

    reads: Callable[[bytes], None]
    seeds: Callable[[], list[bytes]]
    is_json: bool = False


def _call(*argv: str) -> None:
    """The command line, in this process: it answers with a status, and prints no traceback."""
    out = io.TextIOWrapper(io.BytesIO(), "utf-8")
    with redirect_stdout(out), redirect_stderr(io.StringIO()) as err:
        try:
            status = cli.main(list(argv))
        except SystemExit as error:
            status = error.code if isinstance(error.code, int) else 1
    if status not in (0, 1, 2) or "Traceback" in err.getvalue():
        raise AssertionError(f"{argv} ended with {status}: {err.getvalue()[-2000:]}")


@cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="afterward-fuzz-"))
    os.environ["AFTERWARD_CACHE"] = str(folder / "cache")
    os.environ["AFTERWARD_STRICT"] = "1"  # a fault of ours is an exception, not a gap
    return folder


def source(data: bytes) -> None:
    file = _folder() / "train.py"
    file.write_bytes(data)
    _call("check", "--no-cache", "--jobs", "1", "--format", FORMATS[len(data) % len(FORMATS)], str(file))


def notebook(data: bytes) -> None:
    file = _folder() / "train.ipynb"
    file.write_bytes(data)
    _call("check", "--no-cache", "--jobs", "1", "--format", FORMATS[len(data) % len(FORMATS)], str(file))


def history(data: bytes) -> None:
    file = _folder() / "run.history"
    file.write_bytes(data)
    _call("report", "-o", "-", str(file))
    _call("report", "--svg", "-", str(file))


def job(data: bytes) -> None:
    """What a process of a job has left, to be merged."""
    folder = _folder() / "job"
    folder.mkdir(exist_ok=True)
    (folder / "0-1.json").write_bytes(data)
    _call("merge", str(folder))


def settings(data: bytes) -> None:
    folder, before = _folder() / "project", os.getcwd()
    folder.mkdir(exist_ok=True)
    (folder / "pyproject.toml").write_bytes(data)
    (folder / "train.py").write_text(PROGRAM)
    os.chdir(folder)
    try:
        _call("check", "--no-cache", "--jobs", "1", "train.py")
    finally:
        os.chdir(before)


def cache_file(data: bytes) -> None:
    """What an earlier check has left, as one that was written with the right check sum."""
    from afterward.tasks.check_cache import Cache, _digest, _ours, _place

    _folder()
    file = _place()
    assert file is not None
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        stored: Any = json.loads(data)
        if isinstance(stored, dict):
            stored["for"] = _ours()
            data = json.dumps(stored).encode()
    except (ValueError, RecursionError):
        pass
    file.write_bytes(_digest(data).encode() + b"\n" + data)
    known = Cache(enabled=True)
    for name in [str(one) for one in known.entries] or ["train.py"]:
        known.find(name)
    known.changed = True
    known.write(list(known.entries))


def messages(data: bytes) -> None:
    """An editor's conversation. After whatever it says, the stream ends, and so does the server."""
    from afterward.integrations.lsp import make_server
    from afterward.integrations.lsp_stream import Messages

    _folder()
    server = make_server()
    try:
        with redirect_stderr(io.StringIO()):
            server.start_io(cast(BinaryIO, Messages(io.BytesIO(data))), io.BytesIO())
    except SystemExit:
        pass
    finally:
        server.worker.shutdown(wait=True, cancel_futures=True)


# What each is made for


def _notebooks() -> list[bytes]:
    cells: list[dict[str, Any]] = [
        {"cell_type": "markdown", "source": ["# title"], "metadata": {}},
        {"cell_type": "code", "source": PROGRAM.splitlines(keepends=True), "metadata": {}, "outputs": []},
        {"cell_type": "code", "source": "%%time\nfiles = !ls\n%matplotlib inline\nhidden?", "metadata": {}},
        {"cell_type": "code", "source": "%%bash\nls", "execution_count": 3},
    ]
    whole = {"cells": cells, "metadata": {"kernelspec": {"language": "python"}}, "nbformat": 4, "nbformat_minor": 5}
    return [json.dumps(whole).encode(), json.dumps({"worksheets": [{"cells": cells}], "nbformat": 3}).encode()]


def _settings() -> list[bytes]:
    text = '[tool.afterward]\nselect = ["AFT1"]\nignore = ["AFT305"]\nexclude = ["build/**", "*_test.py"]\n'
    return [text.encode(), b'[project]\nname = "x"\n[[tool.other]]\na = 1\n' + text.encode(), b"tool.afterward = {}"]


def _caches() -> list[bytes]:
    entry = [0, None, ["train.py:3: a gap"], "", [[["f", 1]], [["f", 1]], []]]
    whole = {"for": "", "names": ["train.py"], "states": [[0, -1, "", 0]], "reads": [[0]], "entries": {"0": entry}}
    return [json.dumps(whole).encode()]


def _conversation() -> list[bytes]:
    document = {"uri": "file:///train.py", "languageId": "python", "version": 1, "text": PROGRAM}
    one, place = {"uri": "file:///train.py"}, {"line": 4, "character": 6}
    here = {"start": place, "end": place}
    said: list[tuple[int | None, str, Any]] = [
        (1, "initialize", {"processId": None, "rootUri": None, "capabilities": {}}),
        (None, "initialized", {}),
        (None, "textDocument/didOpen", {"textDocument": document}),
        (2, "textDocument/hover", {"textDocument": one, "position": place}),
        (3, "textDocument/codeAction", {"textDocument": one, "range": here, "context": {"diagnostics": []}}),
        (None, "textDocument/didChange", {"textDocument": {**one, "version": 2}, "contentChanges": [
            {"range": here, "text": "x"}, {"text": PROGRAM}]}),
        (4, "workspace/executeCommand", {"command": "afterward.explain", "arguments": ["AFT103"]}),
        (None, "textDocument/didClose", {"textDocument": one}),
        (5, "shutdown", None),
        (None, "exit", None),
    ]  # fmt: skip
    return [b"".join(framed(_message(*each)) for each in said)]


def _message(number: int | None, method: str, params: Any) -> dict[str, Any]:
    asked = {} if number is None else {"id": number}
    return {"jsonrpc": "2.0", **asked, "method": method, **({"params": params} if params is not None else {})}


def framed(message: Any) -> bytes:
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def unframed(data: bytes) -> list[Any]:
    """The messages of a conversation that was framed so."""
    found = []
    while data.startswith(b"Content-Length: "):
        head, _, rest = data.partition(b"\r\n\r\n")
        length = int(head.split(b": ")[1])
        found.append(json.loads(rest[:length]))
        data = rest[length:]
    return found


TARGETS = {
    "source": Target(source, lambda: [PROGRAM.encode()]),
    "notebook": Target(notebook, _notebooks, is_json=True),
    "history": Target(history, lambda: [HISTORY.read_bytes()], is_json=True),
    "job": Target(job, lambda: [HISTORY.read_bytes()], is_json=True),
    "settings": Target(settings, _settings),
    "cache": Target(cache_file, _caches, is_json=True),
    "messages": Target(messages, _conversation),
}
