"""Run any command, and watch every Python process that it starts: a launcher of many ranks, a shell script, make."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from afterward.errors import ProgramNotFound
from afterward.tasks.children import Household, new_folder
from afterward.tasks.run import Outcome, Watched

if TYPE_CHECKING:
    from afterward.model.diagnosis import Report

REPLACED = "AFTERWARD_PROCESS"  # set by a process that is about to be replaced: its own number
_WITH_VALUE = ("-W", "-X", "--check-hash-based-pycs")


@dataclass(frozen=True, slots=True)
class Main:
    """What a Python process runs, as its command line says."""

    flags: tuple[str, ...]  # of the interpreter
    rest: tuple[str, ...]  # the file, or `-m` and the module, and the arguments
    is_programs_own: bool  # a file or module of the program's, not something installed


def main_of(command: Sequence[str]) -> Main | None:
    """What such a command runs; None for `-c`, standard input and the like."""
    place = 1
    while place < len(command):
        word = command[place]
        if word in _WITH_VALUE:
            place += 2
            continue
        if not word.startswith("-"):
            return Main(tuple(command[1:place]), tuple(command[place:]), _is_own(word))
        if not word.startswith("--") and "m" in word[1:]:
            return _module(command, place)
        if word == "-" or (not word.startswith("--") and "c" in word[1:]):
            return None
        place += 1
    return None


def _is_own(file: str) -> bool:
    """Is it a program of the user's, and not a worker's or a launcher's that was installed?"""
    from afterward.observe.marks.userfiles import is_user_file

    if file.endswith((".py", ".pyw")):
        return is_user_file(os.path.abspath(file))
    return os.path.isfile(os.path.join(file, "__main__.py"))


def _module(command: Sequence[str], place: int) -> Main | None:
    word = command[place]
    before, _, name = word.partition("m")
    rest = (name, *command[place + 1 :]) if name else tuple(command[place + 1 :])
    if not rest:
        return None
    top = rest[0].partition(".")[0]
    own = os.path.isdir(top) or os.path.isfile(f"{top}.py")
    flags = (*command[1:place], *([before] if before != "-" else []))
    return Main(tuple(flags), ("-m", *rest), own)


def is_command(target: str) -> bool:
    """Is it a command of the system's (`torchrun`, `bash`, `make`) or an executable file, and no Python program?"""
    if not os.path.exists(target):
        import shutil

        return shutil.which(target) is not None
    if not os.path.isfile(target) or target.endswith((".py", ".pyw")) or not os.access(target, os.X_OK):
        return False
    with open(target, "rb") as file:
        first = file.readline(256)
    return b"python" not in first or _is_installed_script(target, first)


def _is_installed_script(target: str, first: bytes) -> bool:
    """Does it lie beside the Python that its first line names, as `venv/bin/torchrun` does?"""
    return os.path.dirname(os.path.abspath(target)) == os.path.dirname(os.fsdecode(first[2:].strip()))


def is_installed(module: str) -> bool:
    """Does a module lie in what is installed, and not in the present folder?"""
    top = module.partition(".")[0]
    return not os.path.isdir(top) and not os.path.isfile(f"{top}.py") and find_spec(top) is not None


def environment(folder: str) -> dict[str, str]:
    """The environment in which Python processes begin a watch and leave word in this folder."""
    import afterward

    hook = os.path.join(os.path.dirname(os.path.abspath(afterward.__file__)), "startup")
    known = os.environ.get("PYTHONPATH")
    path = hook if not known else hook + os.pathsep + known
    return {**os.environ, "AFTERWARD": "1", "AFTERWARD_FOLDER": folder, "PYTHONPATH": path}


def run_command(command: Sequence[str], until: float | None = None) -> Outcome:
    """Run a command to its end, or until then; the report is of all its processes."""
    from afterward.observe.recording.session import Session

    folder = new_folder()
    household = Household(Watched(Session()), folder)
    status = _to_the_end(command, environment(folder), until)
    household.gather(None, failed=status != 0)
    return Outcome(household.watched, command, None, status)


def command_of(target: str, arguments: Sequence[str], *, as_module: bool) -> list[str] | None:
    """The command that starts Python processes of its own, where it is not a program of Python's itself."""
    if as_module:
        return [sys.executable, "-m", target, *arguments] if is_installed(target) else None
    return [target, *arguments] if is_command(target) else None


def _to_the_end(command: Sequence[str], env: dict[str, str], until: float | None) -> int | None:
    """Its exit status; None where it has not ended by then, and goes on."""
    import subprocess
    import time

    try:
        process = subprocess.Popen(list(command), env=env)
    except OSError as error:
        raise ProgramNotFound(f"can't run '{command[0]}': {error.strerror}") from None
    handed_on = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
    known = {one: signal.signal(one, lambda number, frame: process.send_signal(number)) for one in handed_on}
    known[signal.SIGINT] = signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to the command too
    try:
        return process.wait(until - time.monotonic() if until is not None else None)
    except subprocess.TimeoutExpired:
        return None
    finally:
        for one, handler in known.items():
            signal.signal(one, handler)


def merge(folder: str) -> Report:
    """One report of what the processes of a job have left in a folder."""
    from afterward.observe.recording.session import Session

    if not os.path.isdir(folder):
        raise ProgramNotFound(f"can't read '{folder}': it is not a folder")
    household = Household(Watched(Session()), folder)
    household.gather(None, keep=True)
    return household.watched.report([folder], None, None)


def leave_error_file(error: BaseException | None, explained: str) -> None:
    """Where torchrun has named a file for this process's error, have it carry the explanation too."""
    file = os.environ.get("TORCHELASTIC_ERROR_FILE")
    if error is None or not explained or not file or isinstance(error, SystemExit):
        return
    import json
    import time
    import traceback
    from pathlib import Path

    try:
        known = json.loads(Path(file).read_text(encoding="utf-8")) if os.path.exists(file) else {"message": {}}
        message = known["message"]
        message.setdefault("message", f"{type(error).__name__}: {error}")
        extra = message.setdefault("extraInfo", {"timestamp": str(int(time.time()))})
        stack = extra.get("py_callstack") or "".join(traceback.format_exception(error))
        extra["py_callstack"] = f"{stack}\n{explained}"
        Path(file).write_text(json.dumps(known), encoding="utf-8")
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return  # it is torchrun's file, and its form may be another by now
