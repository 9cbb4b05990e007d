"""Follows, from look to look, what optimizers really change, and with which gradients.

An update writes to a parameter in place, and torch counts such writes; so what a step left alone is known exactly.
Nothing of the program is kept alive: optimizers and parameters are held weakly.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from afterward.observe import compat
from afterward.observe.failure.walk import Shown
from afterward.observe.looking import parameters_held_by
from afterward.observe.recording.events import PassSeen

NUMBERS = 512  # of a parameter, by which a change of it is noticed
STEPS = 4  # of optimizers, looked at after a pass that was looked at


@dataclass(slots=True)
class Held:
    """One parameter of an optimizer, as the looks have shown it."""

    reference: weakref.ref[Any]
    shape: tuple[int, ...]
    version: int
    trains: bool = True  # it asked for gradients when it was last looked at
    moved: bool = False  # some update has written to it
    reached: bool = False  # some pass has reached it, or it had a gradient

    def stands_for(self, parameter: Any) -> bool:
        """An identity may be given to another parameter once the first is gone."""
        return self.reference() is parameter


@dataclass(slots=True)
class Known:
    """One optimizer, as the looks have shown it."""

    reference: weakref.ref[Any]
    held: dict[int, Held] = field(default_factory=dict)
    moved_at: int = -1  # the moment of the last look that saw any of its parameters changed
    looks: int = 0
    still: int = 0  # looked-at steps in a row, up to now, that changed nothing
    emptied: list[tuple[int, int, str]] = field(default_factory=list)  # (moment of pass, of step, "none" | "zero")
    used: int = 0  # steps that found gradients of the passes before them
    complete: bool = False  # it was looked at once more when the run, or its life, ended


class Updates:
    """What the looks at passes and at the steps after them have shown about parameters."""

    def __init__(self) -> None:
        self.known: dict[int, Known] = {}
        self.shapes: dict[int, tuple[int, ...]] = {}  # of leaves that passes have reached
        self._versions: dict[int, tuple[int, int]] = {}  # leaf -> (its version, the node counter) at the last look
        self._reached: dict[int, int] = {}  # leaf -> moment of the pass that reached it, since the last step
        self._unnoticed: dict[int, tuple[int, int]] = {}  # leaf -> writes torch did not count, node counter at the last
        self._sums: dict[int, float | None] = {}  # of parameters that no optimizer holds; None: it has changed

    def pass_begins(self, seen: PassSeen, shown: Shown) -> frozenset[int]:
        """Note what a pass reaches; says which leaves were changed after the forward had used them."""
        stale = set()
        for number, leaf in shown.leaves.items():
            now = self._version(leaf)
            version, counter = self._versions.get(number, (now, 0))
            if version != now and shown.used_at.get(number, counter) < counter:
                stale.add(number)
            self._versions[number] = (now, seen.counter)
            self.shapes[number] = tuple(leaf.shape)
            self._reached[number] = seen.moment
            self._note_sum(number, leaf)
        for known in self.known.values():
            for number in known.held.keys() & shown.leaves.keys():
                known.held[number].reached = True
        return frozenset(stale)

    def overwritten(self, shown: Shown) -> frozenset[int]:
        """Leaves that the graph has saved and that a step has changed since without torch's notice."""
        since = ((number, self._unnoticed[number][1]) for number in shown.saved_at if number in self._unnoticed)
        return frozenset(number for number, counter in since if shown.saved_at[number] < counter)

    def _version(self, parameter: Any) -> int:
        """How often a parameter was written to, as far as torch or a look at a step has noticed."""
        return int(parameter._version) + self._unnoticed.get(id(parameter), (0, 0))[0]

    @property
    def untouched(self) -> frozenset[int]:
        """Parameters, held by no optimizer when they were looked at, that nothing has changed from look to look."""
        return frozenset(number for number, total in self._sums.items() if total is not None)

    def _note_sum(self, number: int, leaf: Any) -> None:
        # By value: a program that updates by hand may write through `.data`, which torch does not count.
        # A tensor of another make, such as one that is spread over machines, is not asked for its numbers.
        torch = compat.torch_module()
        if type(leaf) is not torch.nn.Parameter or any(number in known.held for known in self.known.values()):
            self._sums[number] = None
        elif self._sums.get(number, 0.0) is not None:
            with torch.no_grad():
                some = leaf.detach().flatten()[:: max(1, leaf.numel() // NUMBERS)]
                total = float(some.abs().sum().item())
            self._sums[number] = total if self._sums.get(number, total) == total else None

    def stepped(self, optimizer: Any, moment: int, counter: int = 0) -> None:
        """Look at an optimizer that has just stepped: what it changed, and whether it had gradients to do it with."""
        known = self._known(optimizer)
        for parameter in compat.written_unnoticed(optimizer):
            times, _ = self._unnoticed.get(id(parameter), (0, 0))
            self._unnoticed[id(parameter)] = (times + 1, counter)
        parameters = list(parameters_of(optimizer))
        changed = self._look(known, parameters, moment)
        known.looks += 1
        known.still = 0 if changed else known.still + 1
        mine = [(p, at) for p in parameters if (at := self._reached.pop(id(p), None)) is not None]
        if not mine:
            return
        if all(p.grad is None for p, _ in mine):
            if not changed:
                known.emptied.append((max(at for _, at in mine), moment, "none"))
        elif any(p.grad is not None and (not _plain(p.grad) or has_gradient(p)) for p, _ in mine):
            known.used += 1
        else:
            known.emptied.append((max(at for _, at in mine), moment, "zero"))

    def meet(self, optimizer: Any) -> None:
        """Note an optimizer that a survey has found."""
        known = self._known(optimizer)
        self._look(known, parameters_of(optimizer), known.moved_at)

    def living(self) -> dict[int, tuple[str, Any]]:
        """The optimizers met so far that are still there, under the names of their classes."""
        found = {number: known.reference() for number, known in self.known.items()}
        return {number: (type(one).__name__, one) for number, one in found.items() if one is not None}

    def finish(self, moment: int) -> None:
        """One more look at every optimizer that is still alive."""
        for known in list(self.known.values()):
            optimizer = known.reference()
            if optimizer is not None:
                self._look(known, parameters_of(optimizer), moment)
                known.complete = True

    def _known(self, optimizer: Any) -> Known:
        known = self.known.get(id(optimizer))
        if known is None or known.reference() is not optimizer:
            known = self.known[id(optimizer)] = Known(weakref.ref(optimizer, self._goes))
        return known

    def _goes(self, reference: weakref.ref[Any]) -> None:
        """An optimizer is going; it still holds its parameters, so this is the time for a last look at them."""
        try:
            for known in self.known.values():
                parameters = [held.reference() for held in known.held.values()]
                if known.reference is reference and all(parameter is not None for parameter in parameters):
                    self._look(known, parameters, known.moved_at + 1)
                    known.complete = True
        except Exception:  # as Python itself is going, parts of it are gone already; nobody asks any more
            return

    def _look(self, known: Known, parameters: Iterable[Any], moment: int) -> bool:
        changed = False
        parameter: Any
        for parameter in parameters:
            held = known.held.get(id(parameter))
            if held is None or not held.stands_for(parameter):
                held = Held(weakref.ref(parameter), tuple(parameter.shape), self._version(parameter))
                known.held[id(parameter)] = held
                changed = True  # it may have been: nobody knows how it was before
            elif held.version != self._version(parameter):
                held.version, held.moved, changed = self._version(parameter), True, True
            held.trains = bool(parameter.requires_grad)
            if parameter.grad is not None or id(parameter) in self._reached:
                held.reached = True
        if changed:
            known.moved_at = moment
        return changed


def parameters_of(optimizer: Any) -> Iterable[Any]:
    return parameters_held_by(optimizer)


def has_gradient(leaf: Any) -> bool:
    """Is there a gradient other than zeros?"""
    gradient = leaf.grad
    if gradient is None or not _plain(gradient):
        return False
    with compat.torch_module().no_grad():
        return bool(gradient.any())


def _plain(tensor: Any) -> bool:
    """A tensor of torch's own make: one of another, such as one spread over machines, is not asked for its numbers."""
    return type(tensor) is compat.torch_module().Tensor and not tensor.is_sparse


def loss_value(outputs: Any) -> float | None:
    """The number that a pass starts from, where it starts from one."""
    torch = compat.torch_module()
    output = outputs[0] if isinstance(outputs, (tuple, list)) and len(outputs) == 1 else outputs
    if type(output) is not torch.Tensor or output.numel() != 1 or not output.is_floating_point():
        return None
    try:
        with torch.no_grad():
            return float(output.detach().item())
    except RuntimeError:  # a tensor that only stands for numbers, as while tracing
        return None
