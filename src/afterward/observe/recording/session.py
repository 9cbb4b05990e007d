"""One watch over a program: every hook goes on here, and comes off here."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import cached_property
from typing import TYPE_CHECKING, Any

from afterward.observe import compat, compiler, node_numbers
from afterward.observe.looking import interruption, warn
from afterward.observe.marks.marking import is_mark
from afterward.observe.marks.own_modules import own_modules
from afterward.observe.marks.tape import Calls, Tape, new_tape, unnoticed
from afterward.observe.own_hooks import hooks_numbered_apart
from afterward.observe.recording.recorder import Recorders

if TYPE_CHECKING:
    from afterward.model.gap import Gap
    from afterward.model.history import History
    from afterward.model.memory import Memory
    from afterward.observe.proving.meter import Meter
    from afterward.observe.recording.account import Account
    from afterward.observe.recording.engine import Hook
    from afterward.observe.recording.looks import Looks
    from afterward.observe.recording.progress import LiveProgress, OnProgress

    OnBroken = Callable[[BaseException, History], Any]

OUR_FILES = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep


def _no_counter() -> int:
    return 0


class Session:
    """Watches from `start` to `stop`. What it could not see is in `gaps`; what broke is in `histories`."""

    def __init__(self, on_broken: OnBroken | None = None) -> None:
        self.recorders = Recorders()
        self.histories: list[History] = []
        self.gaps: list[Gap] = []
        self.on_broken = on_broken
        self.on_again: Callable[[BaseException, Any], None] | None = None  # one like it, that is not examined
        self.strict = False  # under test a failure of ours raises
        self.account: Account | None = None  # counts the bytes of every pass, where that was asked for
        self.live_progress: LiveProgress | None = None  # where it is shown as it runs
        self.meter: Meter | None = None  # measures each pass of a run that is to prove a patch
        self._hooks = ExitStack()
        self._warned = False

    @cached_property
    def looks(self) -> Looks:
        """Whoever looks at passes and steps, once there is torch."""
        with own_modules.ours():
            from afterward.observe.recording.looks import Looks

        return Looks(self)

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
        self._hooks.callback(compiler.announce_compiler(self.recorders.publish_for_compiler))
        self._hooks.callback(compiler.hide_from_compiler(is_mark))
        self._hooks.callback(compiler.not_compiled(OUR_FILES))

    def torch_imported(self) -> None:
        with own_modules.ours():
            from afterward.observe.recording import engine
            from afterward.observe.silent.updates import STEPS

        self._begin_tape(self.looks.begins, self.looks.stepped)
        self.tape.steps_due = STEPS  # a step may come before any backward
        if "torch._dynamo" in sys.modules:
            self._compiler_imported()
        if compat.sequence_counter() is None:
            self.gap("this version of torch does not expose its node counter: no line can be named")
        begins = unnoticed(self.tape.begins)
        if self.account is not None:
            begins = self.account.around(begins)
        if self.live_progress is not None:
            begins = self.live_progress.around(begins)
        failed: Hook = unnoticed(self.looks.pass_failed)
        ended, waiting = unnoticed(self.looks.ended), self.looks.waiting
        if self.meter is not None:
            from afterward.observe.recording.looks import Waiting

            begins, failed = self.meter.around(begins), self.meter.around_failure(failed)
            ended, waiting = self.meter.around_end(ended), Waiting({True})
            self._hooks.callback(self.meter.begin(self.recorders))
        hooked = self._hooks.enter_context(engine.passes_announced(begins, failed, ended, waiting))
        if not hooked:
            self.gap("this version of torch runs its backward passes elsewhere: none can be seen")
        self._hooks.callback(compat.mind_saved_hooks(self.gap))
        self._watch_steps(unnoticed(self.tape.stepped))

    def _watch_steps(self, stepped: Any) -> None:
        try:
            from torch.optim.optimizer import register_optimizer_step_post_hook
        except ImportError:
            self.gap("this version of torch has no hook on optimizer steps")
            return
        with hooks_numbered_apart():
            handle = register_optimizer_step_post_hook(stepped)
        self._hooks.callback(handle.remove)
        for one in (self.account, self.live_progress):
            if one is not None:
                self._hooks.callback(register_optimizer_step_post_hook(one.stepped).remove)
        if self.meter is not None:
            from torch.optim.optimizer import register_optimizer_step_pre_hook

            self._hooks.callback(register_optimizer_step_pre_hook(self.meter.before_step).remove)
            self._hooks.callback(register_optimizer_step_post_hook(self.meter.after_step).remove)

    def stop(self) -> None:
        self._hooks.close()

    def _begin_tape(self, on_pass: Callable[..., Any] = _no_counter, on_step: Callable[..., Any] = _no_counter) -> None:
        calls = Calls(self._emptied, self._marked_elsewhere, on_pass, on_step)
        self.tape: Tape = new_tape(calls, self.recorders.main.moment, self.recorders.main_thread)
        self.recorders.publish(self.tape)
        node_numbers.begin(self.tape)

    # What the tape hands on. Each of these runs inside the program: none may raise.

    # Where a signal of the program's interrupts one, that exception is handed back, to be raised in the program itself.

    def _emptied(self) -> BaseException | None:
        """The tape is full."""
        handled = sys.exc_info()[1]
        try:
            self.recorders.main.take_off()
        except BaseException as error:
            return self.came_up("statements could not be recorded", error, handled)
        return None

    def _marked_elsewhere(self, number: int) -> BaseException | None:
        handled = sys.exc_info()[1]
        try:
            self.recorders.mark_elsewhere(number)
        except BaseException as error:
            return self.came_up("a statement in another thread could not be recorded", error, handled)
        return None

    def look_back(self, *, final: bool = True) -> History | None:
        """What the whole run has shown, or so far; None where no pass was seen."""
        if compat.torch_module() is None:
            return None
        try:
            return self.looks.look_back(final=final) if self.recorders.main.settle() else None
        except Exception as error:
            self.failed_open("the run could not be looked back on", error)
            return None

    def keep_account(self) -> None:
        """Count, at every pass, the bytes that graphs hold. To be called before the watch begins."""
        from afterward.observe.recording.account import Account

        self.account = Account(self.recorders)

    def show_live(self, on_progress: OnProgress) -> None:
        """Tell, now and then, how the run stands. To be called before the watch begins."""
        from afterward.observe.recording.progress import LiveProgress

        self.live_progress = LiveProgress(on_progress)

    def memory(self) -> Memory | None:
        """The account, where one was kept."""
        return self.account.memory() if self.account is not None else None

    def summary(self) -> str:
        """One line on what was watched."""
        recorders = [self.recorders.main, *self.recorders.others.values()]
        passes = sum(recorder.passes for recorder in recorders)
        files, gaps = len(self.recorders.statements.sources), len(self.gaps)
        missed = f"; {gaps} gap{'s' if gaps != 1 else ''}: not everything could be watched" if gaps else ""
        return (
            f"watched {passes:,} backward pass{'es' if passes != 1 else ''} "
            f"in {files} file{'s' if files != 1 else ''}{missed}"
        )

    def gap(self, what: str) -> None:
        from afterward.model.gap import Gap

        if all(gap.what != what for gap in self.gaps):
            self.gaps.append(Gap(what))

    def came_up(self, what: str, error: BaseException, handled: BaseException | None) -> BaseException | None:
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
