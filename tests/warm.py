"""Real processes without the wait: a server that has torch imported forks one for each call.

To start Python and to import torch (and, with a program's first optimizer, its compiler) takes seconds; what the tests
of the command line are about takes milliseconds. The process is a real one: it has its own standard streams, working
folder, environment and exit status. Tests about its start and its end (without torch, with options of Python, with
signals) start Python anew.
"""

from __future__ import annotations

import atexit
import builtins
import gc
import io
import json
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import ModuleType, TracebackType
from typing import NoReturn


def python(
    *words: str, cwd: Path, env: Mapping[str, str] | None = None, input: bytes | str = b"", hashes: str = "random"
) -> subprocess.CompletedProcess[bytes]:
    """As `subprocess.run([sys.executable, *words], ...)`: `-m MODULE` or a file, and its arguments.

    `hashes` is the server's `PYTHONHASHSEED`, which a fork cannot change.
    """
    with tempfile.TemporaryDirectory() as folder:
        names = [os.path.join(folder, name) for name in ("in", "out", "err")]
        Path(names[0]).write_bytes(input.encode() if isinstance(input, str) else input)
        request = {"words": words, "cwd": str(cwd), "env": dict(os.environ if env is None else env), "streams": names}
        status = _ask(request, hashes)
        return subprocess.CompletedProcess(words, status, *(Path(name).read_bytes() for name in names[1:]))


def afterward(*words: str, cwd: Path, env: Mapping[str, str] | None = None, input: str = ""):
    """As `afterward WORDS`; what it prints is text."""
    done = python("-m", "afterward", *words, cwd=cwd, env=env, input=input)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def _ask(request: dict[str, object], hashes: str) -> int:
    server = _server(os.getpid(), hashes)
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(json.dumps(request) + "\n")
    server.stdin.flush()
    answer = server.stdout.readline()
    assert answer, "the server that forks is gone"
    return os.waitstatus_to_exitcode(int(answer))


@lru_cache(maxsize=4)
def _server(owner: int, hashes: str) -> subprocess.Popen[str]:
    """One for each process that tests; it ends when its standard input does."""
    env = {**os.environ, "PYTHONHASHSEED": hashes}
    started = subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env
    )
    atexit.register(started.kill)
    return started


# What follows runs in the server.


def _serve() -> None:
    import torch
    import torch._dynamo

    import afterward.cli.run
    import afterward.observe.recording.session
    import afterward.repair
    import afterward.rules

    torch.optim.SGD([torch.ones(1, requires_grad=True)])  # imports what it imports late
    assert afterward.rules.all_rules()
    gc.freeze()
    answers, line = os.fdopen(os.dup(1), "w"), sys.stdin.readline()
    while line:
        child = os.fork()
        if child == 0:
            _become(json.loads(line))
        print(os.waitpid(child, 0)[1], file=answers, flush=True)
        line = sys.stdin.readline()


def _become(request: dict[str, object]) -> NoReturn:
    """Be the process that was asked for, from here to the end."""
    os.chdir(str(request["cwd"]))
    os.environ.clear()
    os.environ.update(request["env"])  # type: ignore[call-overload]
    flags = (os.O_RDONLY, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for number, (name, flag) in enumerate(zip(request["streams"], flags, strict=True)):  # type: ignore[call-overload]
        os.dup2(os.open(name, flag), number)
    sys.stdin = sys.__stdin__ = io.TextIOWrapper(io.FileIO(0, closefd=False), encoding="utf-8")  # type: ignore[misc]
    for number, stream in ((1, "stdout"), (2, "stderr")):
        raw = io.BufferedWriter(io.FileIO(number, "w", closefd=False))
        text = io.TextIOWrapper(raw, encoding="utf-8", errors="backslashreplace", line_buffering=number == 2)
        setattr(sys, stream, text)
        setattr(sys, f"__{stream}__", text)
    try:
        _run(*request["words"])  # type: ignore[misc]
        status = 0
    except SystemExit as ended:
        status = _status(ended.code)
    except BaseException as error:
        error.__traceback__ = _of_the_program(error.__traceback__)
        sys.excepthook(type(error), error, error.__traceback__)
        status = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # to take torch down in good order takes seconds, too


def _run(first: str, *rest: str) -> None:
    """As Python does: the program is `__main__`, until the process is over."""
    main = sys.modules["__main__"] = ModuleType("__main__")
    main.__dict__.update({"__builtins__": builtins, "__spec__": None})
    if first == "-m":
        sys.argv, sys.path[0] = list(rest), os.getcwd()
        runpy._run_module_as_main(rest[0])
    else:
        file = os.path.abspath(first)
        sys.argv, sys.path[0] = [first, *rest], os.path.dirname(file)
        main.__dict__["__file__"] = file
        exec(compile(Path(file).read_bytes(), file, "exec"), main.__dict__)


def _status(code: object) -> int:
    if code is None or isinstance(code, int):
        return (code or 0) & 0xFF
    print(code, file=sys.stderr)
    return 1


def _of_the_program(trace: TracebackType | None) -> TracebackType | None:
    """Without the frames that led to it: this file's, and those of `runpy`."""
    while trace is not None and trace.tb_frame.f_code.co_filename in (__file__, runpy.__file__, "<frozen runpy>"):
        trace = trace.tb_next
    return trace


if __name__ == "__main__":
    _serve()
