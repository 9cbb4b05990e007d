"""Begins a watch in a process that was started by something else: a launcher, a shell script, a batch system.

`AFTERWARD=1` asks for it, and `AFTERWARD_FOLDER` names the folder where each process leaves what it found, for one
report (`afterward merge FOLDER`). A process that runs a file of the program's is replaced by `afterward run` on that
file: same process, same arguments. One that runs something installed (pytest, a launcher) is watched as it is.
"""

from __future__ import annotations

import atexit
import os
import sys

from afterward.tasks.child import begin
from afterward.tasks.children import Household
from afterward.tasks.command import REPLACED, Main, main_of


def start() -> None:
    """As the first act of a process, before its main module is known to Python."""
    if os.environ.pop(REPLACED, None) == str(os.getpid()):
        return  # `afterward run` is at work already
    folder = os.environ.get("AFTERWARD_FOLDER", "")
    main = main_of(sys.orig_argv)
    if main is not None and main.is_programs_own:
        _replace_by_run(main, folder)
    else:
        _watch_as_it_is(folder)


def _replace_by_run(main: Main, folder: str) -> None:
    os.environ[REPLACED] = str(os.getpid())
    into = ["--into", folder] if folder else []
    command = [sys.executable, *main.flags, "-m", "afterward", "run", *into, *main.rest]
    try:
        os.execv(sys.executable, command)
    except OSError:  # the program itself is what matters
        os.environ.pop(REPLACED, None)


def _watch_as_it_is(folder: str) -> None:
    household = begin(folder, alone=True)
    if household is not None:
        atexit.register(_end, household)


def _end(household: Household) -> None:
    """Leave word in the job's folder, or say it here where there is none."""
    from afterward.render.text import as_text

    household.ended(0)
    for found in household.watched.findings if not household.folder else ():
        print("\n" + as_text(found), file=sys.stderr)
