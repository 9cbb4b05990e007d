"""Looks at passes, steps and failures as they come. Loaded with torch: a program without it needs none of this."""

from __future__ import annotations

import sys
from array import array
from dataclasses import dataclass
from time import perf_counter, time_ns  # bound here: a program may put another clock in their place
from types import FrameType
from typing import TYPE_CHECKING, Any

from afterward.model.history import History
from afterward.observe import compat, node_numbers
from afterward.observe.failure.walk import Shown, look, roots_of
from afterward.observe.looking import parameters_held_by, unseen
from afterward.observe.marks.own_modules import own_modules
from afterward.observe.marks.stack import called_by_library, library_calls, runs_inside_another
from afterward.observe.marks.statements import SHIFT
from afterward.observe.marks.userfiles import is_user_file
from afterward.observe.node_numbers import next_node, order_of
from afterward.observe.recording.events import PassSeen, StepSeen
from afterward.observe.recording.gc_pause import collector_at_rest
from afterward.observe.recording.recorder import Recorder
from afterward.observe.recording.replicas import Replicas
from afterward.observe.silent.flat_parts import Bare
from afterward.observe.silent.ledger import LedgerWriter
from afterward.observe.silent.survey import Detail, Surveyor
from afterward.observe.silent.updates import STEPS, Updates, loss_value

if TYPE_CHECKING:
    from afterward.observe.recording.session import Session

SURVEYS = 8  # looks at everything that is alive, at most
QUIET = 1 << 15  # passes noted in a row before the recorder is tidied up
EARLY_SURVEY = 4  # the pass of a site at which everything is looked at first: a program may have but few steps
SECOND_SURVEY = 64  # the pass of a site at which everything is looked at once more: what grows by epochs shows now
LATE_LOOKS = (16, 256)  # the passes of a site at which suspects are looked at once more
EXAMINED = 4  # failing passes of a call site that are examined: a program may catch the same error ten thousand times
ALL_EXAMINED = 16  # statements with failing passes that are examined before only each power of two is
FIRST_LOOKS = 8  # passes looked at per call site; after that only each power of two
ALL_LOOKS = 1024  # passes looked at before only each power of two is: a generated program has thousands of sites
FEW_LOOKS, MOST_LOOKS = 4, 40  # or up to so many, while passes of another site, or steps, were seen only a few times


def examine(*args: Any, **kwargs: Any) -> History:
    """The post-mortem, which most programs never need: it is imported when one does."""
    with own_modules.ours():
        from afterward.observe.failure import postmortem

    return postmortem.examine(*args, **kwargs)


@dataclass
class Failures:
    """The passes of one statement that failed in one way."""

    count: int = 0
    told: Any = None  # what `on_broken` made of the last of the errors that was examined


class Waiting(set[bool]):
    """A constant of a code object: who keeps code under its hash (tracers do) must be able to ask for it."""

    __hash__ = object.__hash__  # type: ignore[assignment]


class Looks:
    """What a session has looked at so far, and whether the next pass or step is due for a look."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._looks: dict[int, int] = {}
        self._failures: dict[tuple[int, str], Failures] = {}  # by the statement that called, and the kind of error
        self._last_error: tuple[int, int] | None = None  # its identity, and how many passes there were by then
        self._window = 0
        self._looked_at = 0
        self._surveys = 0
        self._began = perf_counter()
        self.updates = Updates()
        self._replicas = Replicas()
        self.waiting = Waiting()  # contains True while a pass runs whose end is to be looked at
        self.ledger = LedgerWriter(self.updates.leaves)
        self.surveyor = Surveyor(session.recorders, self.updates, self.ledger)

    # Each of the first three runs inside the program: none may raise. Where a signal of the program's interrupts one,
    # that exception is handed back, to be raised in the program itself.

    def begins(self, outputs: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> BaseException | None:
        began, handled = time_ns(), sys.exc_info()[1]
        try:
            recorder = self.session.recorders.current()
            marks = recorder.marks
            site = marks[-1] >> SHIFT if marks else -1
            if self.session.tape.skipped:
                self._window += 1
                self.session.tape.skipped = 0
            if recorder is self.session.recorders.main and site >= 0:
                left = self.session.tape.left(site)
                if left:
                    self._looks[site] -= left  # they did not come
                self.session.tape.rest(site, self._pass_begins(recorder, site, outputs, args, kwargs))
            else:
                self._pass_begins(recorder, site, outputs, args, kwargs)
            if node_numbers.numbers.engines:
                self.session.tape.on_creating = node_numbers.numbers.makes_as_before
            recorder.note_own_time(began, time_ns())
        except BaseException as error:
            return self.session.came_up("a backward pass could not be recorded", error, handled)
        return None

    def _pass_begins(self, recorder: Recorder, site: int, outputs: Any, args: Any, kwargs: dict[str, Any]) -> int:
        """Note a pass in full, and look at it if it is due; says how many passes of this site need no look now."""
        call = "backward" if kwargs.get("accumulate_grad", True) else "grad"
        seen = PassSeen(recorder.moment, next_node(), (), bool(args[1]), bool(args[2]), call)
        if len(outputs) == 1:
            seen.tensor = id(outputs[0])
        recorder.add(seen)
        seen.site = site
        count = self._looks.get(site, 0) + 1
        more = FIRST_LOOKS < count <= MOST_LOOKS and self._wants_more()
        due = count <= FIRST_LOOKS or more or not count & (count - 1)
        self._looked_at += due
        due = due and (self._looked_at <= ALL_LOOKS or not self._looked_at & (self._looked_at - 1))
        if due and compat.may_look():
            with unseen():
                seen.through = library_calls(sys._getframe(1), is_user_file)
                seen.nested = runs_inside_another(sys._getframe(1), compat.backward_entry())
                self._look(recorder, seen, outputs, args)
                if 1 < count <= FIRST_LOOKS and seen.used is not None and recorder is self.session.recorders.main:
                    roots = (node for node, _ in roots_of(outputs))
                    self.surveyor.rows_taken.look(roots, seen)
                for node, _ in roots_of(outputs)[:1]:
                    node_numbers.numbers.ask(node, site)
        elif seen.creates_graph and node_numbers.numbers.engines:
            node_numbers.numbers.makes_as_before(site)
        if seen.used is None and call == "backward":
            self.ledger.unseen()
        recorder.take_off()
        recorder.forget_events()
        # Up to the next power of two nothing is due; the passes until then are counted as had.
        quiet = 0
        if count > FIRST_LOOKS and not more and site >= 0 and recorder is self.session.recorders.main:
            quiet = min((1 << count.bit_length()) - count - 1, QUIET)
        self._looks[site] = count + quiet
        if not due or quiet:
            self._window += 1  # from here on something was not looked at
        late = count in LATE_LOOKS and self.surveyor.records.suspects
        if (count in (EARLY_SURVEY, FIRST_LOOKS, SECOND_SURVEY) or late) and self._surveys < SURVEYS:
            self._surveys += 1
            with unseen():
                self.surveyor.look(recorder, sys._getframe(2), seen, early=count == EARLY_SURVEY)
        return quiet

    def _look(self, recorder: Recorder, seen: PassSeen, outputs: Any, args: tuple[Any, ...]) -> None:
        """Walk the graph of a pass that is about to run: what it will use, and how much is saved there."""
        roots = roots_of(outputs)
        inputs = (args[3] if len(args) > 3 else ()) or ()
        seen.roots = tuple(order_of(node) for node, _ in roots)
        seen.outputs = tuple(output for _, output in roots)
        seen.one_of_several = any(compat.outputs_of(node) != 1 for node, _ in roots)
        shown = look([node for node, _ in roots], inputs)
        if shown is None:
            return
        if seen.call == "backward":  # of the leaves that it names it fills `.grad`; `autograd.grad` returns theirs
            shown.leaves.update({id(one): one for one in inputs if id(one) in shown.used_at})
        else:
            numbers = (self.updates.leaves.at(id(one)) for one in inputs)
            seen.asked = frozenset(number for number in numbers if number is not None)
        seen.leaves = self.updates.numbers(shown.leaves.values())
        seen.window = self._window
        detail = Detail(seen, self._clock(), loss_value(outputs))
        if (seen.retains_graph or seen.creates_graph) and isinstance(outputs, (tuple, list)) and len(outputs) == 1:
            detail.follow(outputs[0], self._clock)
            detail.by_library = called_by_library(sys._getframe(), is_user_file)
        if seen.call == "backward":
            if recorder is self.session.recorders.main:
                self.ledger.pass_begins(seen, shown.leaves.values(), self.updates.held, recorder.unlooked, id(outputs))
                self.waiting.add(True)
            else:
                self.ledger.unseen()
            seen.taken = self._taken(shown)
            seen.stale = self.updates.pass_begins(seen, shown)
            seen.overwritten = self.updates.overwritten(shown)
            reduced = self._replicas.reduced(shown.leaves)
            seen.reduced = frozenset(self.updates.leaves.of(shown.leaves[one]) for one in reduced)
            self.session.tape.steps_due = STEPS
            self.surveyor.bare += [Bare(seen, shown.bare)] if shown.bare else []
        self.surveyor.details[id(seen)] = detail
        self.surveyor.largest.look(recorder, shown)
        recorder.keep_look(seen, array("Q", sorted(shown.orders)), shown.bytes)

    def ended(self, outputs: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> BaseException | None:
        handled = sys.exc_info()[1]
        try:
            with unseen():
                self.ledger.pass_ended(id(outputs))
            if not self.ledger.is_waiting:
                self.waiting.clear()
        except BaseException as error:
            return self.session.came_up("the gradients of a backward pass could not be looked at", error, handled)
        return None

    def _taken(self, shown: Shown) -> dict[int, int]:
        """Where a pass reaches leaves that no optimizer holds: the oldest node that takes each leaf, by numbers. What
        the graph applies to something trained is on the way of its gradients, and is left out."""
        number = {at: self.updates.leaves.of(leaf) for at, leaf in shown.leaves.items() if at in shown.used_at}
        held = self.updates.held_at(next_node())
        trained = {at for at, leaf in number.items() if leaf in held}
        if not trained or len(trained) == len(number):
            return {}
        between = shown.applied_to(trained)
        return {leaf: shown.used_at[at] for at, leaf in number.items() if at not in between}

    def stepped(self, optimizer: Any) -> BaseException | None:
        """A step that is due for a look, or that was made in another thread and so is not noted yet."""
        began, handled = time_ns(), sys.exc_info()[1]
        try:
            recorder = self.session.recorders.current()
            if recorder is not self.session.recorders.main:
                recorder.add(StepSeen(recorder.moment, next_node(), id(optimizer)))
            if self.session.tape.steps_due:
                self.session.tape.steps_due -= 1
                if compat.may_look():
                    with unseen():
                        self._look_at_step(recorder, optimizer)
            recorder.note_own_time(began, time_ns())
        except BaseException as error:
            return self.session.came_up("an optimizer's step could not be looked at", error, handled)
        return None

    def _look_at_step(self, recorder: Recorder, optimizer: Any) -> None:
        if recorder is not self.session.recorders.main:
            self.ledger.unseen()
        else:
            self.ledger.stepped(optimizer, parameters_held_by(optimizer), recorder.moment, recorder.unlooked)
        self.updates.stepped(optimizer, recorder.moment, next_node())

    def _wants_more(self) -> bool:
        """Is there a pass, or a step, that comes less often than others and was looked at a few times only?"""
        rare = any(count < FEW_LOOKS for count in self._looks.values())
        return rare or any(known.looks < FEW_LOOKS for known in self.updates.known.values())

    def _clock(self) -> float:
        return perf_counter() - self._began

    def pass_failed(self, outputs: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> BaseException | None:
        error = sys.exc_info()[1]
        try:
            kind = compat.error_kind(error) if error is not None else None
            if error is not None and kind is not None:
                self._failed(error, kind, outputs, args, sys._getframe(1))
        except BaseException as failure:
            return self.session.came_up("the failing backward pass could not be examined", failure, error)
        return None

    def _failed(self, error: BaseException, kind: str, outputs: Any, args: tuple[Any, ...], frame: FrameType) -> None:
        recorder = self.session.recorders.current()
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
            if self.session.on_again is not None and failures.told is not None:
                self.session.on_again(error, failures.told)
            return
        statements = len(self._failures)
        if statements > ALL_EXAMINED and statements & (statements - 1):
            self.session.gap(f"backward failed in more than {ALL_EXAMINED} statements: not all were examined")
            return
        inputs = (args[3] if len(args) > 3 else ()) or ()
        with unseen():
            history = examine(
                self.session.recorders,
                error,
                kind,
                outputs,
                inputs,
                frame=frame,
                is_user=is_user_file,
                gaps=self.session.gaps,
                ledger=self.ledger,
            )
        self.session.histories.append(history)
        if self.session.on_broken is not None:
            failures.told = self.session.on_broken(error, history)

    def look_back(self, *, final: bool) -> History:
        self.session.recorders.main.forget_events()
        with collector_at_rest(), unseen():
            return self.surveyor.history(self.session.gaps, final=final)
