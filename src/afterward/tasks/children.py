"""Processes that a watched program starts: each tells what it found, and the program's report carries it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from afterward.errors import AfterwardError

if TYPE_CHECKING:
    from afterward.model.diagnosis import Diagnosis, Report
    from afterward.model.history import History
    from afterward.model.saved import SavedRun
    from afterward.tasks.run import Told, Watched

_INVITATION = """
try:
    from afterward.tasks.child import begin
except ImportError:
    pass
else:
    begin({folder!r})
"""
ASKED = "AFTERWARD_TRIAL"  # names the folder of a trial, for each process that the program starts
# Where a launcher tells a process its place in a job, and how many there are.
_RANKS = (("RANK", "WORLD_SIZE"), ("SLURM_PROCID", "SLURM_NTASKS"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"))


def new_folder() -> str:
    """The name of a folder that is not there yet, where temporary files belong."""
    named = (os.environ.get(name, "") for name in ("TMPDIR", "TEMP", "TMP"))
    base = next((one for one in named if os.path.isdir(one)), "/tmp" if os.path.isdir("/tmp") else os.getcwd())
    return os.path.join(base, "afterward-" + os.urandom(8).hex())


class Measures(Protocol):
    """What is measured in a process of a trial."""

    def broke(self) -> None: ...
    def leave(self, ending: str, report: Report, error: BaseException | None) -> None: ...


@dataclass(eq=False)
class Household:
    """A program's processes. They leave word in a folder, which is there only if one had something to say."""

    watched: Watched
    folder: str = field(default_factory=new_folder)
    # In a child: what was there when it began, and the exception that ended it.
    _inherited: int = 0
    _alone: bool = False
    _error: BaseException | None = None
    measures: Measures | None = None  # where this process belongs to a trial

    def invitation(self) -> str:
        return _INVITATION.format(folder=self.folder)

    def began(self) -> None:
        """In a process of the program, before anything of it runs."""
        watched = self.watched
        self._inherited = len(watched.findings)
        self._alone = not watched.session.recorders.main.passes  # nothing that is looked back on was its parent's
        watched.note = None  # a traceback that travels to another process would take the note along
        watched.session.on_broken = self._broken

    def _broken(self, error: BaseException, history: History) -> Told:
        if self.measures is not None:
            self.measures.broke()
        told = self.watched.broken(error, history)
        self._leave_word(None)  # a process may be killed before it ends
        self._leave_measures("raised", None)
        return told

    def failed(self, error: BaseException | None) -> None:
        self._error = error

    def ended(self, status: int, ending: str = "") -> None:
        if self._alone and len(self.watched.findings) == self._inherited:
            self.watched.look_back()
        self._leave_word(status)
        self._leave_measures(ending or ("finished" if status == 0 else "raised"), status)
        self._error = None

    def _leave_measures(self, ending: str, status: int | None) -> None:
        if self.measures is not None:
            self.measures.leave(ending, self.watched.report([_process_name()], self._error, status), self._error)

    def _leave_word(self, status: int | None) -> None:
        from afterward.model.saved import as_saved

        watched, first = self.watched, self._inherited
        if len(watched.findings) == first or not self.folder:
            return
        try:
            report = watched.report([_process_name()], self._error, status)
            rank, ranks = _place_in_job()
            report = replace(report, rank=rank, ranks=ranks)
            if status is None:  # not known yet whether the program catches it
                report = replace(report, findings=tuple(replace(each, caught=False) for each in report.findings))
            report = replace(report, findings=report.findings[first:])
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            draft = os.path.join(self.folder, f"{os.getpid()}.draft")
            with open(draft, "w", encoding="utf-8") as file:
                file.write(as_saved(watched.saved(report, first)))
            os.replace(draft, draft.removesuffix("draft") + "json")
        except Exception as failure:
            watched.session.failed_open("what a process found could not be passed on", failure)

    def gather(self, error: BaseException | None, *, keep: bool = False, failed: bool = False) -> None:
        """In the program itself, when it has ended: its report now carries what its processes found.

        `failed`: the job did, so an error that a process caught (a worker hands it on) has, where no other has.
        """
        if not os.path.isdir(self.folder):
            return
        import shutil
        from pathlib import Path

        from afterward.model.saved import read_saved

        told: list[SavedRun] = []
        for file in sorted(Path(self.folder).glob("*.json")):
            try:
                told.append(read_saved(file.read_bytes()))
            except (OSError, AfterwardError) as failure:
                self.watched.session.gap(f"what a process found could not be read: {failure}")
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)
        self._adopt(told, _texts(error))
        if failed and not self.watched.left:
            self.watched.left |= set(range(len(self.watched.findings)))

    def _adopt(self, told: list[SavedRun], last_words: str) -> None:
        from afterward.model.saved import Chapter

        known: dict[object, int] = {}
        processes: dict[int, list[Report]] = {}
        watched = self.watched
        for run in told:
            for gap in run.report.gaps:
                watched.session.gap(gap)
            for number, found in enumerate(run.report.findings):
                history = run.history_of(number)
                at = known.get(_fault(found))
                if at is None:
                    at = known[_fault(found)] = len(watched.findings)
                    watched.findings.append(found)
                    watched.chapters += [Chapter(history, (at,))] if history is not None else []
                    watched.sources.update(run.sources)
                processes.setdefault(at, []).append(run.report)
                if not found.caught or _raised(history, last_words):
                    watched.left.add(at)
        for at, reports in processes.items():
            watched.findings[at] = _seen_in(watched.findings[at], reports)


def _fault(found: Diagnosis) -> object:
    """The processes of a program often all fail in one way: what makes two findings one."""
    places = (found.primary.site, found.built, found.freed, found.reused, found.written, found.cut)
    return found.code, found.bridge, tuple((s.file, s.line, s.column) if s is not None else None for s in places)


def _seen_in(found: Diagnosis, reports: list[Report]) -> Diagnosis:
    from afterward.model import facts
    from afterward.model.facts import Note

    ranks = sorted({report.rank for report in reports if report.rank is not None})
    if ranks and all(report.rank is not None for report in reports):
        of = max(report.ranks or 0 for report in reports)
        known = facts.count("of", of if of > len(ranks) else None)  # the others may have been stopped before
        note = Note("ranks" if len(ranks) > 1 else "rank", (facts.verbatim("ranks", spans(ranks)), known))
        return replace(found, notes=(*found.notes, note))
    names = tuple(dict.fromkeys(report.argv[0] for report in reports))
    return replace(found, notes=(*found.notes, Note("processes", (facts.names("names", names),))))


def spans(numbers: Sequence[int]) -> str:
    """`0-3, 6` for the numbers 0, 1, 2, 3 and 6."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][-1] + 1:
            found[-1].append(number)
        else:
            found.append([number])
    return ", ".join(str(span[0]) if len(span) == 1 else f"{span[0]}-{span[-1]}" for span in found)


def _place_in_job() -> tuple[int | None, int | None]:
    """(rank, how many) as the launcher of a job tells it."""
    for rank, ranks in _RANKS:
        mine, all_of_them = os.environ.get(rank, ""), os.environ.get(ranks, "")
        if mine.isdigit():
            return int(mine), int(all_of_them) if all_of_them.isdigit() else None
    return None, None


def _process_name() -> str:
    """What a person calls this process: its name in `multiprocessing`, else what it runs."""
    process = sys.modules.get("multiprocessing.process")
    name = str(process.current_process().name) if process is not None else "MainProcess"
    return name if name != "MainProcess" else os.path.basename(sys.argv[0] if sys.argv else "") or name


def _raised(history: History | None, last_words: str) -> bool:
    """Was an error that a process caught (a pool's worker hands it on) what ended the program?"""
    broken = history.broken_passes() if history is not None else ()
    return any(run.message and run.message in last_words for run in broken)


def _texts(error: BaseException | None) -> str:
    texts = []
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        texts.append(str(error))
        error = error.__cause__ or error.__context__
    return "\n".join(texts)
