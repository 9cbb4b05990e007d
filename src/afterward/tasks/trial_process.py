"""In the process of a trial: carry its request out."""

from __future__ import annotations

import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable

from afterward.errors import AfterwardError
from afterward.model.diagnosis import Report
from afterward.tasks.rank_trial import invited, run_by_command
from afterward.tasks.run import Watched, run
from afterward.tasks.trial import Measured, Request, Trial


def perform(request: Request, give: Callable[[Trial], None]) -> None:
    """Runs in the new process: carry the request out, and give what came of it."""
    _connect(request)
    until = time.monotonic() + request.seconds if request.seconds is not None else None
    if request.command:
        give(run_by_command(request, until))
        return
    seen: list[Measured] = []

    def prepare(watched: Watched) -> None:
        one = Measured(request, watched, until)
        one.meter.enough = enough
        seen.append(one)
        tell = watched.broken

        def broken(error: BaseException, history: object) -> object:
            one.broke()
            return tell(error, history)  # type: ignore[misc, arg-type]

        watched.session.on_broken = broken

    def enough(reason: str) -> None:
        watched = seen[0].watched
        if not watched.findings:
            watched.look_back()
        report = watched.report([request.target, *request.arguments], None, None)
        give(seen[0].result(reason, report, None))
        os._exit(0)

    with invited(request, until) as ranks:
        try:
            outcome = run(request.target, request.arguments, as_module=request.as_module, prepare=prepare)
        except AfterwardError as error:
            give(Trial("refused", Report((request.target, *request.arguments)), str(error)))
            return
        if request.shown and outcome.error is not None and not isinstance(outcome.error, SystemExit):
            sys.stdout.flush()
            traceback.print_exception(type(outcome.error), outcome.error, outcome.error.__traceback__)
        ending = "finished" if outcome.exit == 0 else "raised"
        give(ranks.joined(seen[0].result(ending, outcome.report, outcome.error)))


def _connect(request: Request) -> None:
    """A trial reads what it is given and prints to nothing."""
    if request.folder:
        os.chdir(request.folder)
    nowhere = os.open(os.devnull, os.O_RDWR)
    if request.stdin is not None:
        with tempfile.TemporaryFile() as piped:
            piped.write(request.stdin)
            piped.seek(0)
            os.dup2(piped.fileno(), 0)
    elif not request.shown:
        os.dup2(nowhere, 0)
    if not request.shown:
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
