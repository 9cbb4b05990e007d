"""One watch over a program: every hook goes on here, and comes off here."""

from __future__ import annotations

import os
import sys
import time
from array import array
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Any

from afterward.model.history import Gap, History
from afterward.model.memory import Memory
from afterward.observe import compat
from afterward.observe.failure.walk import look, roots_of
from afterward.observe.looking import interruption, unseen, warn
from afterward.observe.marks.marking import is_mark
from afterward.observe.marks.stack import called_by_library, library_calls, runs_inside_another
from afterward.observe.marks.statements import SHIFT
from afterward.observe.marks.tape import Calls, Tape, new_tape, unnoticed
from afterward.observe.marks.userfiles import is_user_file
from afterward.observe.recording.account import Account
from afterward.observe.recording.engine import Hook, passes_announced
from afterward.observe.recording.events import PassSeen, StepSeen
from afterward.observe.recording.gc_pause import collector_at_rest
from afterward.observe.recording.progress import OnBeat, Pulse
from afterward.observe.recording.recorder import Recorder, Recorders
from afterward.observe.recording.replicas import Replicas
from afterward.observe.silent.flat_parts import Bare
from afterward.observe.silent.ledger import LedgerWriter
from afterward.observe.silent.survey import Detail, Surveyor
from afterward.observe.silent.updates import STEPS as STEPS_LOOKED_AT
from afterward.observe.silent.updates import Updates, loss_value, parameters_of

if TYPE_CHECKING:
    from afterward.observe.proving.meter import Meter

SURVEYS = 8  # looks at everything that is alive, at most
QUIET = 1 << 15  # passes noted in a row before the recorder is tidied up
SECOND = 2  # the pass of a site that is looked at more closely: the first may be unlike the others
EARLY_SURVEY = 4  # the pass of a site at which everything is looked at first: a program may have but few steps
SECOND_SURVEY = 64  # the pass of a site at which everything is looked at once more: what grows by epochs shows now
LATE_LOOKS = (16, 256)  # the passes of a site at which suspects are looked at once more
EXAMINED = 4  # failing passes of a call site that are examined: a program may catch the same error ten thousand times
FIRST_LOOKS = 8  # passes looked at per call site; after that only each power of two
FEW_LOOKS, MOST_LOOKS = 4, 40  # or up to so many, while passes of another site, or steps, were seen only a few times


OnBroken = Callable[[BaseException, History], None]


OUR_FILES = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep


def examine(*args: Any, **kwargs: Any) -> History:
    """The post-mortem, which most programs never need: it is imported when one does."""
    from afterward.observe.failure import postmortem

    return postmortem.examine(*args, **kwargs)


def _no_counter() -> int:
    return 0


@dataclass
class Failures:
    """The passes of one statement that failed in one way."""

    count: int = 0
    findings: dict[str, Any] = field(default_factory=dict)  # what was put on the last of the errors that was examined


class Session:
    """Watches from `start` to `stop`. What it could not see is in `gaps`; what broke is in `histories`."""

    def __init__(self, on_broken: OnBroken | None = None) -> None:
        self.recorders = Recorders()
        self.histories: list[History] = []
        self.gaps: list[Gap] = []
        self.on_broken = on_broken
        self.strict = False  # under test a failure of ours raises
        self.account: Account | None = None  # counts the bytes of every pass, where that was asked for
        self.pulse: Pulse | None = None  # tells how the run stands, where somebody wants to see it live
        self.meter: Meter | None = None  # measures each pass of a run that is to prove a patch
        self._looks: dict[int, int] = {}
        self._counter: Callable[[], int] = _no_counter
        self._hooks = ExitStack()
        self._failures: dict[tuple[int, str], Failures] = {}  # by the statement that called, and the kind of error
        self._last_error: tuple[int, int] | None = None  # its identity, and how many passes there were by then
        self._warned = False
        self._window = 0
        self._surveys = 0
        self._steps_looked_at = 0
        self._began = time.perf_counter()
        self._updates = Updates()
        self._replicas = Replicas()
        self.ledger = LedgerWriter(self._updates.leaves)
        self.surveyor = Surveyor(self.recorders, self._updates, self.ledger)

    # Hooks

    def start(self) -> None:
        """Begin to record. Torch's own hooks go on when the program imports torch, not before."""
        self._hooks.callback(self.recorders.withdraw)
        try:
            self._begin_tape()
        except Exception as error:
            self.failed_open("statements cannot be recorded", error)
        if compat.torch_module() is not None:
            self.imported("torch")

    def imported(self, name: str) -> None:
        """Torch has been imported, or its compiler."""
        try:
            if name == "torch":
                self.torch_imported()
            else:
                self._compiler_imported()
        except Exception as error:
            self.failed_open(f"{name} is not watched", error)

    def _compiler_imported(self) -> None:
        self._hooks.callback(compat.announce_compiler(self.recorders.publish_for_compiler))
        self._hooks.callback(compat.hide_from_compiler(is_mark))
        self._hooks.callback(compat.not_compiled(OUR_FILES))

    def torch_imported(self) -> None:
        self._begin_tape()
        if "torch._dynamo" in sys.modules:
            self._compiler_imported()
        self._counter = compat.sequence_counter() or _no_counter
        if self._counter is _no_counter:
            self.gap("this version of torch does not expose its node counter: no line can be named")
        begins = self._tape.begins
        if self.account is not None:
            begins = self.account.around(begins)
        if self.pulse is not None:
            begins = self.pulse.around(begins)
        failed: Hook = unnoticed(self._pass_failed)
        ended: Hook | None = None
        if self.meter is not None:
            begins, failed, ended = self.meter.around(begins), self.meter.around_failure(failed), self.meter.pass_ends
            self._hooks.callback(self.meter.begin(self.recorders))
        hooked = self._hooks.enter_context(passes_announced(begins, failed, ended))
        if not hooked:
            self.gap("this version of torch runs its backward passes elsewhere: none can be seen")
        self._hooks.callback(compat.mind_saved_hooks(self.gap))
        self._watch_steps(self._tape.stepped)

    def _watch_steps(self, stepped: Any) -> None:
        try:
            from torch.optim.optimizer import register_optimizer_step_post_hook
        except ImportError:
            self.gap("this version of torch has no hook on optimizer steps")
            return
        handle = register_optimizer_step_post_hook(stepped)
        self._hooks.callback(handle.remove)
        for one in (self.account, self.pulse):
            if one is not None:
                self._hooks.callback(register_optimizer_step_post_hook(one.stepped).remove)
        if self.meter is not None:
            from torch.optim.optimizer import register_optimizer_step_pre_hook

            self._hooks.callback(register_optimizer_step_pre_hook(self.meter.before_step).remove)
            self._hooks.callback(register_optimizer_step_post_hook(self.meter.after_step).remove)

    def stop(self) -> None:
        self._hooks.close()

    def _begin_tape(self) -> None:
        main = self.recorders.main
        calls = Calls(self._emptied, self._marked_elsewhere, self._begins, self._stepped)
        self._tape: Tape = new_tape(calls, main.moment, self.recorders.main_thread)
        self._tape.steps_due = STEPS_LOOKED_AT  # a step may come before any backward
        self.recorders.publish(self._tape)

    # What the tape hands on. Each of these runs inside the program: none may raise.

    # Where a signal of the program's interrupts one, that exception is handed back, to be raised in the program itself.

    def _emptied(self) -> BaseException | None:
        """The tape is full."""
        handled = sys.exc_info()[1]
        try:
            self.recorders.main.take_off()
        except BaseException as error:
            return self._came_up("statements could not be recorded", error, handled)
        return None

    def _marked_elsewhere(self, number: int) -> BaseException | None:
        handled = sys.exc_info()[1]
        try:
            self.recorders.mark_elsewhere(number)
        except BaseException as error:
            return self._came_up("a statement in another thread could not be recorded", error, handled)
        return None

    def _begins(self, outputs: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> BaseException | None:
        began, handled = time.time_ns(), sys.exc_info()[1]
        try:
            recorder = self.recorders.current()
            marks = recorder.marks
            site = marks[-1] >> SHIFT if marks else -1
            if self._tape.skipped:
                self._window += 1
                self._tape.skipped = 0
            if recorder is self.recorders.main and site >= 0:
                left = self._tape.left(site)
                if left:
                    self._looks[site] -= left  # they did not come
                self._tape.rest(site, self._pass_begins(recorder, site, outputs, args, kwargs))
            else:
                self._pass_begins(recorder, site, outputs, args, kwargs)
            recorder.note_own_time(time.time_ns() - began)
        except BaseException as error:
            return self._came_up("a backward pass could not be recorded", error, handled)
        return None

    def _pass_begins(self, recorder: Recorder, site: int, outputs: Any, args: Any, kwargs: dict[str, Any]) -> int:
        """Note a pass in full, and look at it if it is due; says how many passes of this site need no look now."""
        call = "backward" if kwargs.get("accumulate_grad", True) else "grad"
        seen = PassSeen(recorder.moment, self._counter(), (), bool(args[1]), bool(args[2]), call)
        if len(outputs) == 1:
            seen.tensor = id(outputs[0])
        recorder.add(seen)
        seen.site = site
        count = self._looks.get(site, 0) + 1
        more = FIRST_LOOKS < count <= MOST_LOOKS and self._wants_more()
        due = count <= FIRST_LOOKS or more or not count & (count - 1)
        if due and compat.may_look():
            with unseen():
                seen.through = library_calls(sys._getframe(1), is_user_file)
                seen.nested = runs_inside_another(sys._getframe(1), compat.backward_entry())
                self._look(recorder, seen, outputs, args)
                if 1 < count <= FIRST_LOOKS and seen.swept is not None and recorder is self.recorders.main:
                    roots = (node for node, _ in roots_of(outputs))
                    self.surveyor.single_rows.look(roots, seen, closely=count == SECOND)
        if seen.swept is None and call == "backward":
            self.ledger.unseen()
        recorder.take_off()
        recorder.forget_events()
        # Up to the next power of two nothing is due; the passes until then are counted as had.
        quiet = 0
        if count > FIRST_LOOKS and not more and site >= 0 and recorder is self.recorders.main:
            quiet = min((1 << count.bit_length()) - count - 1, QUIET)
        self._looks[site] = count + quiet
        if not due or quiet:
            self._window += 1  # from here on something was not looked at
        late = count in LATE_LOOKS and self.surveyor.suspects
        if (count in (EARLY_SURVEY, FIRST_LOOKS, SECOND_SURVEY) or late) and self._surveys < SURVEYS:
            self._surveys += 1
            with unseen():
                self.surveyor.look(recorder, sys._getframe(2), seen, early=count == EARLY_SURVEY)
        return quiet

    def _look(self, recorder: Recorder, seen: PassSeen, outputs: Any, args: tuple[Any, ...]) -> None:
        """Walk the graph of a pass that is about to run: what it will sweep, and how much is saved there."""
        roots = roots_of(outputs)
        inputs = (args[3] if len(args) > 3 else ()) or ()
        seen.roots = tuple(compat.order_of(node) for node, _ in roots)
        seen.outputs = tuple(output for _, output in roots)
        seen.one_of_several = any(compat.outputs_of(node) != 1 for node, _ in roots)
        shown = look([node for node, _ in roots], inputs)
        if shown is None:
            return
        seen.leaves = self._updates.numbers(shown.leaves.values())
        seen.window = self._window
        detail = Detail(seen, self._clock(), loss_value(outputs))
        if (seen.retains_graph or seen.creates_graph) and isinstance(outputs, (tuple, list)) and len(outputs) == 1:
            detail.follow(outputs[0], self._clock)
            detail.by_library = called_by_library(sys._getframe(), is_user_file)
        if seen.call == "backward":
            if recorder is self.recorders.main:
                self.ledger.pass_begins(seen, shown.leaves.values(), self._updates.held)
            else:
                self.ledger.unseen()
            seen.stale = self._updates.pass_begins(seen, shown)
            seen.overwritten = self._updates.overwritten(shown)
            reduced = self._replicas.reduced(shown.leaves)
            seen.reduced = frozenset(self._updates.leaves.of(shown.leaves[one]) for one in reduced)
            self._tape.steps_due = STEPS_LOOKED_AT
            self.surveyor.bare += [Bare(seen, shown.bare)] if shown.bare else []
        self.surveyor.details[id(seen)] = detail
        recorder.keep_look(seen, array("Q", sorted(shown.orders)), shown.bytes)

    def _stepped(self, optimizer: Any) -> BaseException | None:
        """A step that is due for a look, or that was made in another thread and so is not noted yet."""
        began, handled = time.time_ns(), sys.exc_info()[1]
        try:
            recorder = self.recorders.current()
            if recorder is not self.recorders.main:
                recorder.add(StepSeen(recorder.moment, self._counter(), id(optimizer)))
            if self._tape.steps_due:
                self._tape.steps_due -= 1
                if compat.may_look():
                    with unseen():
                        self._look_at_step(recorder, optimizer)
            recorder.note_own_time(time.time_ns() - began)
        except BaseException as error:
            return self._came_up("an optimizer's step could not be looked at", error, handled)
        return None

    def _look_at_step(self, recorder: Recorder, optimizer: Any) -> None:
        if recorder is not self.recorders.main or self._tape.skipped:
            self.ledger.unseen()  # passes have gone by without a look
        else:
            self.ledger.stepped(optimizer, parameters_of(optimizer), recorder.moment)
        self._updates.stepped(optimizer, recorder.moment, self._counter())
        self._steps_looked_at += 1

    def _wants_more(self) -> bool:
        """Is there a pass, or a step, that comes less often than others and was looked at a few times only?"""
        rare = any(count < FEW_LOOKS for count in self._looks.values())
        return rare or any(known.looks < FEW_LOOKS for known in self._updates.known.values())

    def _clock(self) -> float:
        return time.perf_counter() - self._began

    def _pass_failed(self, outputs: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> BaseException | None:
        error = sys.exc_info()[1]
        try:
            kind = compat.error_kind(error) if error is not None else None
            if error is not None and kind is not None:
                self._failed(error, kind, outputs, args, sys._getframe(1))
        except BaseException as failure:
            return self._came_up("the failing backward pass could not be examined", failure, error)
        return None

    def _failed(self, error: BaseException, kind: str, outputs: Any, args: tuple[Any, ...], frame: FrameType) -> None:
        recorder = self.recorders.current()
        # A new error may lie where an old one lay: but then a pass has begun since.
        known = (id(error), recorder.passes)
        if known == self._last_error:
            return  # an outer pass, through which the error of an inner one travels
        if kind == "ddp_ready_twice" and runs_inside_another(frame, compat.backward_entry()):
            return  # a checkpoint's own pass knows its part alone: the outer one shows all uses
        self._last_error = known
        failures = self._failures.setdefault((recorder.marks[-1] >> SHIFT if recorder.marks else -1, kind), Failures())
        failures.count += 1
        if failures.count > EXAMINED:  # a program that catches it again and again: it is what it was before
            vars(error).update(failures.findings)
            return
        inputs = (args[3] if len(args) > 3 else ()) or ()
        with unseen():
            history = examine(
                self.recorders,
                error,
                kind,
                outputs,
                inputs,
                frame=frame,
                is_user=is_user_file,
                gaps=self.gaps,
                ledger=self.ledger,
            )
        self.histories.append(history)
        if self.on_broken is not None:
            before = dict(vars(error))
            self.on_broken(error, history)
            failures.findings = {name: one for name, one in vars(error).items() if name not in before}

    def look_back(self, *, final: bool = True) -> History | None:
        """What the whole run has shown, or so far; None where no pass was seen."""
        if compat.torch_module() is None or not self.recorders.main.settle():
            return None
        self.recorders.main.forget_events()
        try:
            with collector_at_rest(), unseen():
                return self.surveyor.history(self.gaps, final=final)
        except Exception as error:
            self.failed_open("the run could not be looked back on", error)
            return None

    def keep_account(self) -> None:
        """Count, at every pass, the bytes that graphs hold. To be called before the watch begins."""
        self.account = Account(self.recorders)

    def show_live(self, on_beat: OnBeat) -> None:
        """Tell, now and then, how the run stands. To be called before the watch begins."""
        self.pulse = Pulse(on_beat)

    def memory(self) -> Memory | None:
        """The account, where one was kept."""
        return self.account.memory() if self.account is not None else None

    def summary(self) -> str:
        """One line on what was watched."""
        recorders = [self.recorders.main, *self.recorders.others.values()]
        passes = sum(recorder.passes for recorder in recorders)
        files = len(self.recorders.statements.sources)
        return (
            f"watched {passes:,} backward pass{'es' if passes != 1 else ''} "
            f"in {files} file{'s' if files != 1 else ''}; {len(self.gaps)} gap{'s' if len(self.gaps) != 1 else ''}"
        )

    def gap(self, what: str) -> None:
        if all(gap.what != what for gap in self.gaps):
            self.gaps.append(Gap(what))

    def _came_up(self, what: str, error: BaseException, handled: BaseException | None) -> BaseException | None:
        """Something was raised while we looked: by a signal handler of the program's, or by a mistake of ours."""
        theirs = interruption(error, handled)
        if theirs is None and isinstance(error, Exception):
            self.failed_open(what, error)
        return theirs

    def failed_open(self, what: str, error: Exception) -> None:
        """A bug of ours is a gap and one line of warning, never a broken run."""
        if self.strict:
            raise error
        self.gap(f"{what}: {type(error).__name__}: {error}")
        if not self._warned:
            self._warned = True
            warn(f"afterward: {what} ({type(error).__name__}: {error}); the program goes on")
