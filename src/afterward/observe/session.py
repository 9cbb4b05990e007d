"""One watch over a program: every hook goes on here, and comes off here."""

from __future__ import annotations

import sys
import threading
from array import array
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from afterward.model.history import Gap, History
from afterward.observe import compat
from afterward.observe.engine import passes_announced
from afterward.observe.postmortem import examine
from afterward.observe.recorder import (
    CREATES,
    EVENT_LIMIT,
    GRAD,
    NUMBERS,
    PASS,
    RETAINS,
    STEP,
    PassSeen,
    Recorder,
    Recorders,
    StepSeen,
)
from afterward.observe.statements import MASK
from afterward.observe.userfiles import is_user_file
from afterward.observe.walk import look, roots_of

NOTED_LIMIT = EVENT_LIMIT * NUMBERS
FIRST_LOOKS = 8  # passes looked at per call site; after that only each power of two

OnBroken = Callable[[BaseException, History], None]


def _no_counter() -> int:
    return 0


class Session:
    """Watches from `start` to `stop`. What it could not see is in `gaps`; what broke is in `histories`."""

    def __init__(self, on_broken: OnBroken | None = None) -> None:
        self.recorders = Recorders()
        self.histories: list[History] = []
        self.gaps: list[Gap] = []
        self.on_broken = on_broken
        self.strict = False  # under test a failure of ours raises
        self._looks: dict[int, int] = {}
        self._tensor: Any = None
        self._counter: Callable[[], int] = _no_counter
        self._hooks = ExitStack()
        self._threaded = False
        self._last_error: int | None = None
        self._warned = False

    # Hooks

    def start(self) -> None:
        """Begin to record. Torch's own hooks go on when the program imports torch, not before."""
        self.recorders.publish(threaded=False)
        self._hooks.callback(self.recorders.withdraw)
        start = threading.Thread.start

        def start_threaded(thread: threading.Thread) -> None:
            self._go_threaded()
            start(thread)

        setattr(threading.Thread, "start", start_threaded)  # noqa: B010 - a method is being replaced
        self._hooks.callback(setattr, threading.Thread, "start", start)
        if compat.torch_module() is not None:
            self.torch_imported()

    def torch_imported(self) -> None:
        self.recorders.publish(threaded=self._threaded)
        self._tensor = compat.torch_module().Tensor
        self._counter = compat.sequence_counter() or _no_counter
        if self._counter is _no_counter:
            self.gap("this version of torch does not tell its node counter: no line can be named")
        begins, stepped = self._quick_hooks()
        hooked = self._hooks.enter_context(passes_announced(begins, self._pass_failed))
        if not hooked:
            self.gap("this version of torch runs its backward passes elsewhere: none can be seen")
        self._watch_steps(stepped)

    def _watch_steps(self, stepped: Any) -> None:
        try:
            from torch.optim.optimizer import register_optimizer_step_post_hook
        except ImportError:
            self.gap("this version of torch has no hook on optimizer steps")
            return
        handle = register_optimizer_step_post_hook(stepped)
        self._hooks.callback(handle.remove)

    def stop(self) -> None:
        self._hooks.close()

    def _go_threaded(self) -> None:
        if not self._threaded:
            self._threaded = True
            self.recorders.publish(threaded=True)

    # What the hooks report. Each of these runs inside the program: none may raise.

    def _quick_hooks(self) -> tuple[Any, Any]:
        """The two hooks that run in every step. They note a few numbers, with as few operations as can be."""
        recorder = self.recorders.main
        marks, noted, looks = recorder.marks, recorder.noted, self._looks
        counter, tensor = self._counter, self._tensor

        def begins(outputs: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            try:
                if self._threaded or len(outputs) != 1 or type(outputs[0]) is not tensor:
                    self._pass_begins(outputs, args, kwargs)
                    return
                node = outputs[0].grad_fn
                if node is None:
                    self._pass_begins(outputs, args, kwargs)
                    return
                what = PASS
                if args[1]:
                    what |= RETAINS
                if args[2]:
                    what |= CREATES
                if not kwargs["accumulate_grad"]:
                    what |= GRAD
                noted.extend((what, recorder.base + len(marks), counter(), node._sequence_nr()))
                site = marks[-1] & MASK if marks else -1
                looks[site] = count = looks.get(site, 0) + 1
                if count <= FIRST_LOOKS or count & (count - 1) == 0:
                    self._look(recorder, roots_of(outputs), args)
                elif len(noted) > NOTED_LIMIT:
                    recorder.forget_events()
            except Exception as error:
                self._failed_open("a backward pass could not be recorded", error)

        def stepped(optimizer: Any, args: Any, kwargs: Any) -> None:
            if self._threaded:
                self._stepped(optimizer)
            else:
                noted.extend((STEP, recorder.base + len(marks), counter(), id(optimizer)))

        return begins, stepped

    def _pass_begins(self, outputs: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """The general case: several roots, several threads, subclasses of tensors."""
        recorder = self.recorders.current()
        marks = recorder.marks
        roots = roots_of(outputs)
        orders = tuple(compat.order_of(node) for node, _ in roots)
        call = "backward" if kwargs.get("accumulate_grad", True) else "grad"
        recorder.add(PassSeen(recorder.moment, self._counter(), orders, bool(args[1]), bool(args[2]), call))
        site = marks[-1] & MASK if marks else -1
        self._looks[site] = count = self._looks.get(site, 0) + 1
        if count <= FIRST_LOOKS or count & (count - 1) == 0:
            self._look(recorder, roots, args)
        recorder.forget_events()

    def _look(self, recorder: Recorder, roots: list[tuple[Any, int]], args: tuple[Any, ...]) -> None:
        """Walk the graph of a pass that is about to run: what it will sweep, and how much is saved there."""
        seen = recorder.settle()[-1]
        assert isinstance(seen, PassSeen)
        inputs = (args[3] if len(args) > 3 else ()) or ()
        swept, size, seen.leaves = look([node for node, _ in roots], inputs)
        recorder.keep_look(seen, array("Q", sorted(swept)), size)
        if not self._threaded and "torch.cuda" in sys.modules and compat.torch_module().cuda.is_initialized():
            self._go_threaded()  # the engine runs custom functions in a thread of each device

    def _stepped(self, optimizer: Any) -> None:
        recorder = self.recorders.current()
        recorder.add(StepSeen(recorder.moment, self._counter(), id(optimizer)))

    def _pass_failed(self, outputs: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        error = sys.exc_info()[1]
        if error is None or id(error) == self._last_error:
            return  # an outer pass, through which the error of an inner one travels
        kind = compat.error_kind(error)
        if kind is None:
            return
        self._last_error = id(error)
        try:
            inputs = (args[3] if len(args) > 3 else ()) or ()
            history = examine(
                self.recorders,
                error,
                kind,
                outputs,
                inputs,
                frame=sys._getframe(1),
                is_user=is_user_file,
                gaps=self.gaps,
            )
            self.histories.append(history)
            if self.on_broken is not None:
                self.on_broken(error, history)
        except Exception as failure:
            self._failed_open("the failing backward pass could not be examined", failure)

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

    def _failed_open(self, what: str, error: Exception) -> None:
        """A bug of ours is a gap and one line of warning, never a broken run."""
        if self.strict:
            raise error
        self.gap(f"{what}: {type(error).__name__}: {error}")
        if not self._warned:
            self._warned = True
            print(f"afterward: {what} ({type(error).__name__}: {error}); the program goes on", file=sys.stderr)
