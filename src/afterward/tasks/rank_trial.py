"""A trial of a program that trains on several ranks: each is measured, and leaves what it has shown in one folder."""

from __future__ import annotations

import contextlib
import os
import pickle
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from afterward.model.diagnosis import Diagnosis, Report
from afterward.model.facts import Note
from afterward.tasks.children import ASKED, Household
from afterward.tasks.trial import Measured, Request, Trial

LAUNCH = 30.0  # seconds that a launcher and its ranks may take to begin
OVER = 10.0  # seconds that ranks have to end once the time is up: one that hangs is ended then
AHEAD = 2  # passes that no rank has begun while another one begins this one: each waits for the others
_REQUEST = "request"


@dataclass
class RankTrial:
    """In one process of the program: what is measured there."""

    measured: Measured
    folder: Path
    end: Callable[[str], None]  # has what was found told, and what was measured left
    stopping: str = ""

    def broke(self) -> None:
        self.measured.broke()

    def enough(self, reason: str) -> None:
        """This rank may stop. Where the time is up, all of them stop before the same pass."""
        meter = self.measured.meter
        if reason == "time":
            self.stopping, meter.deadline, meter.limit = "time", None, self._agreed(meter.passes + AHEAD)
            if meter.passes < meter.limit:
                return
        self.end(self.stopping or reason)
        self._wait_for_others()
        os._exit(0)

    def _agreed(self, number: int) -> int:
        """The pass that the first rank to ask has named."""
        name = self.folder / "last"
        draft = self.folder / f"{os.getpid()}.last"
        draft.write_text(str(number))
        with contextlib.suppress(FileExistsError):
            os.link(draft, name)
        return int(name.read_text())

    def _wait_for_others(self) -> None:
        """One that ends while another still receives from it would break that one."""
        place = self.measured.meter.training.place
        until = time.monotonic() + OVER
        while place is not None and len(list(self.folder.glob("*.trial"))) < place[1] and time.monotonic() < until:
            time.sleep(0.05)

    def leave(self, ending: str, report: Report, error: BaseException | None) -> None:
        if self.measured.meter.passes:  # else it is a launcher, or loads data
            draft = self.folder / f"{os.getpid()}.draft"
            draft.write_bytes(pickle.dumps(self.measured.result(ending, report, error)))
            os.replace(draft, draft.with_suffix(".trial"))


def join_trial(household: Household) -> None:
    """This process belongs to a trial: it is measured, from before torch is loaded."""
    folder = Path(os.environ[ASKED])
    request, until = pickle.loads((folder / _REQUEST).read_bytes())
    measured = Measured(request, household.watched, until)
    one = RankTrial(measured, folder, lambda ending: household.ended(0, ending))
    measured.meter.enough, household.measures = one.enough, one


@dataclass
class Ranks:
    """In the first process: what the others have left."""

    folder: Path

    def joined(self, first: Trial) -> Trial:
        """What the first process has shown, with its ranks; the one that failed, or the first, speaks for all."""
        ranks = sorted(self._left(), key=lambda one: one.training.place or (0, 0))
        if first.passes:
            return first  # it trains by itself
        placed = [one for one in ranks if one.training.place is not None]
        if not placed:  # which process of another run is which is not known
            elsewhere = ranks or any(_in_other_processes(found) for found in first.report.findings)
            return replace(first, hindered=Note("not_measured")) if elsewhere else first
        ranks = placed
        lead = next((one for one in ranks if one.broken_at is not None), ranks[0])
        chapters, sources = first.chapters, {**lead.sources, **first.sources}
        ending = lead.ending if first.ending == "finished" else first.ending
        own = {"ending": ending, "report": first.report, "chapters": chapters, "sources": sources}
        return replace(lead, **own, error=first.error or lead.error, ranks=tuple(ranks))  # type: ignore[arg-type]

    def _left(self) -> Iterator[Trial]:
        for file in self.folder.glob("*.trial"):
            with contextlib.suppress(OSError, pickle.UnpicklingError, EOFError):
                yield pickle.loads(file.read_bytes())


def _in_other_processes(found: Diagnosis) -> bool:
    """Was it found in a process that the program has started?"""
    return any(note.kind in ("rank", "ranks", "processes") for note in found.notes)


def new_meeting() -> str:
    """A folder where the ranks of one run leave what they have shown."""
    return tempfile.mkdtemp(prefix="afterward-ranks-")


@contextmanager
def invited(request: Request, until: float | None) -> Iterator[Ranks]:
    """Within this block, processes that are started are measured as this one is."""
    folder = Path(request.meeting or new_meeting())
    (folder / _REQUEST).write_bytes(pickle.dumps((replace(request, shown=False), until)))
    os.environ[ASKED] = str(folder)
    try:
        yield Ranks(folder)
    finally:
        os.environ.pop(ASKED, None)
        shutil.rmtree(folder, ignore_errors=True)


def run_by_command(request: Request, until: float | None) -> Trial:
    """Run a command that starts the program's processes. What does not end in time is ended with the trial."""
    from afterward.tasks.command import run_command

    until = until + LAUNCH if until is not None else None
    with invited(request, until) as ranks:
        outcome = run_command([*request.command, *request.arguments], until + OVER if until is not None else None)
        ending = "time" if outcome.report.exit is None else "raised" if outcome.exit else "finished"
        saved = outcome.saved()
        chapters = list(saved.chapters) if request.shown else []
        first = Trial(ending, outcome.report, sources=dict(saved.sources), chapters=chapters)
        result = ranks.joined(first)
        unseen = not result.ranks and result.hindered is None and ending != "time"
        return replace(result, hindered=Note("not_measured")) if unseen else result
