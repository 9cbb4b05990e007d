"""Watch a program run, and report what became of its graphs."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from time import monotonic
from typing import TYPE_CHECKING, Any, TextIO, cast

if TYPE_CHECKING:
    from afterward.model.diagnosis import Diagnosis, Report
    from afterward.model.gap import Gap
    from afterward.model.history import History
    from afterward.model.progress import Progress
    from afterward.model.saved import Chapter, SavedRun
    from afterward.observe.recording.session import Session
    from afterward.tasks.children import Household

    Note = Callable[[Diagnosis], str]

REMEMBERED = 64  # errors that were not examined, of which it is still known what they are like
ENOUGH = 8  # passes, before there is anything silent to be judged


@dataclass(frozen=True)
class Told:
    """What was made of an error: the numbers of its findings, and the notes for the exception."""

    numbers: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass
class Watched:
    """What a watch has seen so far. `findings` grows while the program runs."""

    session: Session
    note: Note | None = None
    findings: list[Diagnosis] = field(default_factory=list)
    chapters: list[Chapter] = field(default_factory=list)
    # Of the processes that the program started: their findings that left the process, and sources only they loaded.
    left: set[int] = field(default_factory=set)
    sources: dict[str, str] = field(default_factory=dict)
    # The findings of each error: an attribute of it would show, and go along when it is pickled or copied.
    _explained: dict[int, list[tuple[str | None, tuple[int, ...]]]] = field(default_factory=dict)
    _again: deque[tuple[int, str | None, tuple[int, ...]]] = field(default_factory=lambda: deque(maxlen=REMEMBERED))

    def broken(self, error: BaseException, history: History) -> Told:
        """A pass broke: diagnose it now, and note whose diagnosis it is."""
        from afterward.observe.marks.own_modules import own_modules
        from afterward.observe.recording.gc_pause import collector_at_rest

        with own_modules.ours(), collector_at_rest():
            from afterward.rules import diagnose

            found = diagnose(history)
        told = Told(self._tell(history, found), tuple(map(self.note, found)) if self.note is not None else ())
        self._explained.setdefault(id(error), []).append((_message(error), told.numbers))
        _attach(told.notes, error)
        return told

    def broken_again(self, error: BaseException, told: Told) -> None:
        """The same pass broke once more, and was not examined."""
        self._again.append((id(error), _message(error), told.numbers))
        _attach(told.notes, error)

    def look_into(self, error: BaseException | None) -> None:
        """An exception that no pass was seen to raise has left the program: is it one of autograd's?"""
        if error is None or issubclass(type(error), SystemExit) or self.escaped(error) or "torch" not in sys.modules:
            return
        with our_imports():
            from afterward.observe.failure.raised import examine_raised
            from afterward.observe.failure.saved_reads import examine_read
            from afterward.observe.failure.unfinished_reduction import examine_unfinished
            from afterward.observe.marks.userfiles import is_user_file

        session = self.session
        try:
            recorder, gaps, ledger = session.recorders.current(), session.gaps, session.looks.ledger
            for examine in (examine_read, examine_unfinished, examine_raised):
                history = examine(recorder, error, is_user=is_user_file, gaps=gaps, ledger=ledger)
                if history is None:
                    continue
                if any(one.of_run for one in history.raised):
                    whole = session.look_back(final=False)
                    history = replace(whole, raised=history.raised) if whole is not None else history
                session.histories.append(history)
                self.broken(error, history)
                return
        except Exception as failure:
            session.failed_open("the error that ended the program could not be examined", failure)

    def findings_of(self, error: BaseException) -> tuple[int, ...]:
        """The numbers of the findings that explain this very exception."""
        message = _message(error)
        again = [(text, numbers) for address, text, numbers in self._again if address == id(error)]
        known = [*self._explained.get(id(error), ()), *again]
        return next((numbers for text, numbers in reversed(known) if _is_still(message, text)), ())

    def escaped(self, error: BaseException | None) -> set[int]:
        """The findings whose exception left the program: by cause or context, it is the one that ended it."""
        numbers: set[int] = set()
        seen: set[int] = set()
        while error is not None and id(error) not in seen:
            seen.add(id(error))
            numbers |= set(self.findings_of(error))
            error = error.__cause__ or error.__context__
        return numbers

    def look_back(self) -> None:
        """The run is over: say what raised nothing and is wrong all the same."""
        history = self.session.look_back()
        if history is None:
            return
        try:
            with our_imports():
                from afterward.rules import diagnose

                found = diagnose(history)
        except Exception as error:  # a bug of ours is a gap, never a broken run
            self.session.failed_open("the run could not be judged", error)
        else:
            self._tell(history, found)

    def live(self, show: Callable[[Progress], None]) -> None:
        """Have `show` told how the run stands, now and then, with what would be said if it ended now."""
        due = 0.0
        found: tuple[Diagnosis, ...] = ()

        def with_findings(progress: Progress) -> None:
            nonlocal due, found
            began = monotonic()
            if began >= due and progress.passes >= ENOUGH:
                found = self._glance()
                ended = monotonic()
                due = ended + max(1.0, min(10 * (ended - began), 10.0))  # to judge takes longer than to count
            show(replace(progress, findings=found))

        self.session.show_live(with_findings)

    def standing(self) -> Progress | None:
        """How the run stands, for the last line of a live view."""
        return self.session.live_progress.progress() if self.session.live_progress is not None else None

    def _glance(self) -> tuple[Diagnosis, ...]:
        from afterward.rules import diagnose

        history = self.session.look_back(final=False)
        return (*self.findings, *(diagnose(history) if history is not None else ()))

    def _tell(self, history: History, found: Sequence[Diagnosis]) -> tuple[int, ...]:
        from afterward.model.saved import Chapter

        first = len(self.findings)
        self.findings += found
        numbers = tuple(range(first, len(self.findings)))
        self.chapters.append(Chapter(history, numbers))
        return numbers

    def saved(self, report: Report, first: int = 0) -> SavedRun:
        """The run with its histories and the source as it ran: what a page or a file is made of.

        A report that begins later begins with the finding of number `first`.
        """
        from afterward.model.saved import Chapter, SavedRun, files_of

        count = len(report.findings)
        chapters = (
            Chapter(c.history, tuple(n - first for n in c.findings if 0 <= n - first < count)) for c in self.chapters
        )
        run = SavedRun(report, tuple(c for c in chapters if c.findings or not first))
        texts = {**self.sources, **self.session.recorders.statements.sources}
        return replace(run, sources={file: texts[file] for file in files_of(run) if file in texts})

    def report(
        self,
        argv: Sequence[str],
        error: BaseException | None,
        exit_status: int | None,
        *,
        escaped: set[int] | None = None,
    ) -> Report:
        from afterward.model.diagnosis import Report, Severity

        escaped = self.left | (self.escaped(error) if escaped is None else escaped)
        findings = tuple(
            replace(f, caught=f.severity is Severity.ERROR and n not in escaped) for n, f in enumerate(self.findings)
        )
        torch = sys.modules.get("torch")
        kind = None
        if escaped and (exit_status != 0 or escaped - self.left):
            histories = [*self.session.histories, *(c.history for c in self.chapters if self.left & set(c.findings))]
            kinds = [error for history in histories for error in history.errors()]
            kind = kinds[-1] if kinds else None
        return Report(
            argv=tuple(argv),
            findings=findings,
            gaps=tuple(_gap_text(gap) for gap in self._gaps()),
            exit=exit_status,
            error=kind,
            torch=getattr(torch, "__version__", None),
            summary=self.session.summary(),
            memory=self.session.memory(),
        )

    def _gaps(self) -> list[Gap]:
        gaps = list(self.session.gaps)
        for history in self.session.histories:
            gaps += [gap for gap in history.gaps if gap not in gaps]
        return gaps


def _attach(notes: Iterable[str], error: BaseException) -> None:
    if hasattr(error, "add_note"):  # from Python 3.11 on
        for note in notes:
            cast("Any", error).add_note(note)


def _message(error: BaseException) -> str | None:
    """The first argument of an exception, if it is a text. As long as this very text is kept, no exception that is made
    later, and may lie where this one lay, has the same."""
    arguments = cast("Any", BaseException.args).__get__(error)
    return arguments[0] if arguments and type(arguments[0]) is str else None


def _is_still(message: str | None, text: str | None) -> bool:
    """Is it the text of then, or one that the program has made of it?"""
    if message is None or text is None:
        return message is text
    return message is text or (message != text and text in message)


def _gap_text(gap: Gap) -> str:
    return gap.what


running: list[Watched] = []


@contextmanager
def joinable(watched: Watched) -> Iterator[None]:
    """Within this block, `afterward.watch()` joins this watch: hooks that go on twice would come off in disorder."""
    running.append(watched)
    try:
        yield
    finally:
        running.remove(watched)


@dataclass
class Outcome:
    """How a watched program ended: the exception that ended it, if one did, and what is reported."""

    watched: Watched
    argv: Sequence[str]
    error: BaseException | None
    status: int | None  # of the program or command; None where it has none, or has not ended

    @property
    def exit(self) -> int:
        """The status to leave with."""
        return 1 if self.status is None else self.status

    @property
    def is_silent(self) -> bool:
        """Was nothing found? Then most doors say nothing, and need no report."""
        return not self.watched.findings

    @cached_property
    def report(self) -> Report:
        """Made when it is asked for: its classes take longer to load than a small program to run."""
        with our_imports():
            return self.watched.report(self.argv, self.error, self.status)

    def saved(self) -> SavedRun:
        return self.watched.saved(self.report)


def run(
    target: str,
    arguments: Sequence[str],
    *,
    as_module: bool = False,
    note: Note | None = None,
    prepare: Callable[[Watched], None] | None = None,
    ended: Callable[[BaseException | None, object], None] | None = None,
    into: str | None = None,
    joins: Callable[[Household], None] | None = None,
) -> Outcome:
    """Run a program as Python would, watch it, and say what became of its graphs.

    `prepare` may change the watch before anything runs; `ended` is told at once how the program has ended, and what a
    `SystemExit` says. `into` is the folder of a job, to which this process belongs: what was found is left there too;
    `joins` may have it measured.
    """
    from afterward.observe.looking import set_builtins_aside, set_collector_aside, set_handlers_aside
    from afterward.observe.marks.importing import imports_marked
    from afterward.observe.marks.own_modules import own_modules
    from afterward.observe.marks.program import exit_code, run_program
    from afterward.observe.recording.children import children_announced
    from afterward.observe.recording.session import Session
    from afterward.tasks.children import Household

    session = Session()
    watched = Watched(session, note)
    household = Household(watched, into) if into else Household(watched)
    session.on_broken, session.on_again = watched.broken, watched.broken_again
    if into:
        household.began()
    if joins is not None:
        joins(household)
    if prepare is not None:
        prepare(watched)
    error: BaseException | None = None
    with ExitStack() as hooks:
        hooks.callback(session.stop)
        statements = session.recorders.statements
        hooks.enter_context(imports_marked(statements, session.gap, session.imported))
        hooks.enter_context(joinable(watched))
        hooks.enter_context(children_announced(household))
        session.start()
        error = run_program(target, arguments, as_module=as_module, statements=statements, on_gap=session.gap)
        code = exit_code(error)
        if ended is not None:
            ended(error, code)
        set_handlers_aside()
        set_collector_aside()
        set_builtins_aside()
        with own_modules.ours():
            watched.look_into(error)
            if not watched.findings:
                watched.look_back()
    with own_modules.ours():
        status = exit_status(error, code)
        if into:
            household.failed(error)
            household.ended(status)
        else:
            household.gather(error)
    return Outcome(watched, [target, *arguments], error, status)


def print_error(error: BaseException) -> None:
    """Print an exception as Python prints one that has ended a program."""
    from afterward.observe.marks import program

    program.print_error(error)


def warn(line: str) -> None:
    """Say something to a person, whatever the program has done to its streams."""
    from afterward.observe import looking

    looking.warn(line)


def usable_stream(name: str) -> TextIO:
    """`stdout` or `stderr`, for a report: the program may have closed it, or put something of its own in its place."""
    from afterward.observe import looking

    return looking.usable_stream(name)


def our_imports() -> AbstractContextManager[None]:
    """Within this block, what is imported is ours, whatever modules the program has."""
    from afterward.observe.marks.own_modules import own_modules

    return own_modules.ours()


def print_exit(code: object) -> None:
    """Print what `sys.exit` was given as Python prints it."""
    from afterward.observe.marks import program

    program.print_exit(code)


def exit_status(error: BaseException | None, code: object) -> int:
    """The status with which Python would leave after this; `code` is what a `SystemExit` says."""
    kind = type(error)
    if error is None or (issubclass(kind, SystemExit) and code is None):
        return 0
    if issubclass(kind, SystemExit) and issubclass(type(code), int):  # it may lie about its class
        number = int.__index__(cast("int", code))
        return number & 0xFF if -(1 << 63) <= number < 1 << 63 else 0xFF  # too large for C: -1
    return 130 if issubclass(kind, KeyboardInterrupt) else 1
