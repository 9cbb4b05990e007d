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
from afterward.observe.identities import Identities
from afterward.observe.looking import members_of, name_of, parameters_held_by, written_unnoticed
from afterward.observe.node_numbers import next_node
from afterward.observe.plainly import plainly
from afterward.observe.recording.events import PassSeen
from afterward.observe.silent.totals import total

STEPS = 4  # of optimizers, looked at after a pass that was looked at


@dataclass(slots=True)
class Held:
    """One parameter of an optimizer, as the looks have shown it."""

    reference: weakref.ref[Any]
    shape: tuple[int, ...]
    version: int
    trains: bool = True  # it asked for gradients when it was last looked at
    moved: bool = False  # it got other values
    total: float | None = None  # of its values, where no pass had reached it: what is loaded again may be the same
    reached: bool = False  # some pass has reached it, or it had a gradient


@dataclass(slots=True)
class Known:
    """One optimizer, as the looks have shown it."""

    number: int
    reference: weakref.ref[Any]
    name: str
    of_torch: bool = False  # of a class of torch's own: such a step changes nothing without a gradient
    had_gradient: bool = False  # some parameter of it had a gradient when it was looked at
    gone_at: int | None = None  # the node counter as it went
    held: dict[int, Held] = field(default_factory=dict)
    moved_at: int = -1  # the moment of the last look that saw any of its parameters changed
    looks: int = 0
    still: int = 0  # looked-at steps in a row, up to now, that changed nothing
    complete: bool = False  # it was looked at once more when the run, or its life, ended


class Updates:
    """What the looks at passes and at the steps after them have shown about parameters."""

    def __init__(self) -> None:
        self.leaves = Identities()
        self.optimizers = Identities()
        self.known: dict[int, Known] = {}  # by number
        self._at: dict[int, list[Known]] = {}  # by address, one after the other
        self.shapes: dict[int, tuple[int, ...]] = {}  # of leaves that passes have reached
        self._versions: dict[int, tuple[int, int]] = {}  # leaf -> (its version, the node counter) at the last look
        self._reached: dict[int, int] = {}  # leaf -> moment of the pass that reached it, since the last step
        self._unnoticed: dict[int, tuple[int, int]] = {}  # leaf -> writes torch did not count, node counter at the last
        self._sums: dict[int, float] = {}  # of parameters that no optimizer holds, at the first look
        self.rewritten: set[int] = set()  # of these, what the program itself has given other values

    def pass_begins(self, seen: PassSeen, shown: Shown) -> frozenset[int]:
        """Note what a pass reaches; says which leaves were changed after the forward had used them."""
        stale = set()
        for address, leaf in shown.leaves.items():
            number, now = self.leaves.of(leaf), self._version(leaf)
            version, counter = self._versions.get(number, (now, 0))
            if version != now and shown.used_at.get(address, counter) < counter:
                stale.add(number)
            self._versions[number] = (now, seen.counter)
            self.shapes[number] = tuple(plainly(leaf).shape)
            self._reached[number] = seen.moment
            self._note_sum(number, leaf)
        for known in self.known.values():
            for number in known.held.keys() & (seen.leaves or frozenset()):
                known.held[number].reached = True
        return frozenset(stale)

    def overwritten(self, shown: Shown) -> frozenset[int]:
        """Leaves that the graph has saved and that a step has changed since without torch's notice."""
        saved = ((self.leaves.at(address), order) for address, order in shown.saved_at.items())
        return frozenset(n for n, order in saved if n in self._unnoticed and order < self._unnoticed[n][1])

    def _version(self, parameter: Any) -> int:
        """How often a parameter was written to, as far as torch or a look at a step has noticed."""
        return int(plainly(parameter)._version) + self._unnoticed.get(self.leaves.of(parameter), (0, 0))[0]

    def numbers(self, leaves: Iterable[Any]) -> frozenset[int]:
        return frozenset([self.leaves.of(leaf) for leaf in leaves])

    @property
    def held(self) -> frozenset[int]:
        """Every parameter that an optimizer was seen to hold."""
        return frozenset(leaf for known in self.known.values() for leaf in known.held)

    def held_at(self, counter: int) -> frozenset[int]:
        """Every parameter that an optimizer held when the node counter stood there. One that is gone steps no more."""
        living = (one for one in self.known.values() if one.gone_at is None or counter <= one.gone_at)
        return frozenset(leaf for known in living for leaf in known.held)

    @property
    def untouched(self) -> frozenset[int]:
        """Parameters, held by no optimizer when they were looked at, that nothing has changed from look to look."""
        return frozenset(self._sums.keys() - self.rewritten)

    def _note_sum(self, number: int, leaf: Any) -> None:
        # By value: a program that updates by hand may write through `.data`, which torch does not count.
        torch = compat.torch_module()
        now = total(leaf) if type(leaf) is torch.nn.Parameter else None
        if now is None or any(number in known.held for known in self.known.values()):
            self._sums.pop(number, None)
        elif self._sums.setdefault(number, now) != now:
            self.rewritten.add(number)

    def stepped(self, optimizer: Any, moment: int, counter: int = 0) -> None:
        """Look at an optimizer that has just stepped: what it changed, and whether it had gradients to do it with."""
        known = self._known(optimizer)
        for parameter in written_unnoticed(optimizer):
            number = self.leaves.of(parameter)
            self._unnoticed[number] = (self._unnoticed.get(number, (0, 0))[0] + 1, counter)
        parameters = list(parameters_held_by(optimizer))
        changed = self._look(known, parameters, moment)
        known.looks += 1
        known.still = 0 if changed else known.still + 1
        for parameter in parameters:
            self._reached.pop(self.leaves.of(parameter), None)

    def meet(self, optimizer: Any, name: str) -> None:
        """Note an optimizer that a survey has found."""
        known = self._known(optimizer)
        if name != name_of(type(optimizer)):
            known.name = name
        known.had_gradient |= any(plainly(p).grad is not None for p in parameters_held_by(optimizer))
        self._look(known, parameters_held_by(optimizer), known.moved_at)

    def living(self) -> dict[int, tuple[str, Any]]:
        """The optimizers met so far that are still there, by address, under the names of their classes."""
        found = [known.reference() for known in self.known.values()]
        return {id(one): (name_of(type(one)), one) for one in found if one is not None}

    def owner_of(self, address: int, counter: int) -> Known | None:
        """The optimizer that was at an address when the node counter stood there."""
        living = [one for one in self._at.get(address, ()) if one.gone_at is None or counter <= one.gone_at]
        return living[0] if living else None

    def finish(self, moment: int) -> None:
        """One more look at every optimizer that is still alive."""
        for known in list(self.known.values()):
            optimizer = known.reference()
            if optimizer is not None:
                self._look(known, parameters_held_by(optimizer), moment)
                known.complete = True

    def _known(self, optimizer: Any) -> Known:
        number = self.optimizers.of(optimizer)
        known = self.known.get(number)
        if known is None:
            home = members_of(type(optimizer)).get("__module__")
            of_torch = type(home) is str and home.startswith("torch.optim.")
            known = Known(number, weakref.ref(optimizer, self._goes), name_of(type(optimizer)), of_torch)
            self.known[number] = known
            self._at.setdefault(id(optimizer), []).append(known)
        return known

    def _goes(self, reference: weakref.ref[Any]) -> None:
        """An optimizer is going; it still holds its parameters, so this is the time for a last look at them."""
        try:
            for known in self.known.values():
                if known.reference is not reference:
                    continue
                known.gone_at = next_node()
                parameters = [held.reference() for held in known.held.values()]
                if all(parameter is not None for parameter in parameters):
                    self._look(known, parameters, known.moved_at + 1)
                    known.complete = True
        except Exception:  # as Python itself is going, parts of it are gone already; nothing asks any more
            return

    def _look(self, known: Known, parameters: Iterable[Any], moment: int) -> bool:
        changed = False
        parameter: Any
        for parameter in parameters:
            number = self.leaves.of(parameter)
            held = known.held.get(number)
            if held is None:
                held = Held(weakref.ref(parameter), tuple(plainly(parameter).shape), self._version(parameter))
                held.total = total(parameter) if number not in self._reached else None
                known.held[number] = held
                changed = True  # it may have been: it is not known how it was before
            elif held.version != self._version(parameter):
                held.version, changed = self._version(parameter), True
                held.moved = held.moved or held.total is None or held.total != total(parameter)
            held.trains = bool(plainly(parameter).requires_grad)
            if plainly(parameter).grad is not None or number in self._reached:
                held.reached = True
        if changed:
            known.moved_at = moment
        return changed


def loss_value(outputs: Any) -> float | None:
    """The number that a pass starts from, where it starts from one."""
    torch = compat.torch_module()
    output = outputs[0] if isinstance(outputs, (tuple, list)) and len(outputs) == 1 else outputs
    if not compat.has_numbers(output) or output.numel() != 1 or not output.is_floating_point():
        return None
    try:
        with torch.no_grad():
            return float(output.detach().item())
    except RuntimeError:  # a tensor that only stands for numbers, as while tracing
        return None
