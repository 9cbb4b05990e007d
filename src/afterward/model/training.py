"""What a run that is to prove a patch has shown of the training: backward passes, clears and steps, in order.

Plain data, made by `observe` and judged by `tasks`. Parameters and optimizers are numbers that mean the same in every
run of the program: parameters count as modules register them, optimizers as they are made.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple


class Line(NamedTuple):
    """One line of one file of the program."""

    file: str
    line: int


class Border(NamedTuple):
    """Two passes of one line, in steps that follow each other, and the lines of the loop that takes those steps."""

    before: int  # number of the pass
    after: int
    file: str
    first: int
    last: int


class Carried(NamedTuple):
    """A value of the step before that a later pass goes through, by its name in the function of the loop."""

    name: str
    structure: object  # what it is, as plain data (`observe.proving.structure`)
    method: str = ""  # by which what keeps it cuts it: `memory.detach`


@dataclass(slots=True)
class PassTaken:
    """One call of `backward()` or `autograd.grad()`, as it began."""

    number: int  # from 1
    at: Line | None  # the innermost line of the program that called it
    value: str  # the loss, to the bit
    accumulates: bool  # False: `autograd.grad`, which leaves `.grad` alone
    reached: frozenset[int] = frozenset()  # parameters that its graph leads to
    fresh: frozenset[int] = frozenset()  # of these, what is reached by nodes made since the last pass of the same line
    # Of these, what a step has changed since the nodes were made that lead to it: the graph is of other values.
    stale: frozenset[int] = frozenset()
    inputs: tuple[tuple[int, ...], ...] = ()  # shapes of the other leaves, sorted
    through: frozenset[Line] = frozenset()  # the statements that built what it goes through
    terms: tuple[Line, ...] = ()  # the statements that made the numbers it is the sum of
    led: Counter[int] = field(default_factory=Counter)  # parameter -> how many of those numbers lead to it
    numbers: frozenset[int] = frozenset()  # the nodes of those numbers, by their order
    weights: dict[Line, float] = field(default_factory=dict)  # by what the numbers of each statement are scaled in it
    # By what each number made since the last pass of the same line is scaled in it, in the order of their making.
    shares: tuple[float, ...] = ()
    doubled: frozenset[Line] = frozenset()  # statements whose number it counts more than once
    oldest: int = -1  # the order of the oldest node
    counter: int = 0  # the node counter as it began: older nodes have smaller orders
    size: int = 0  # bytes that the graph has saved
    in_step: bool = False  # called by an optimizer: a closure
    looked: bool = True  # False: the graph was too large to walk
    failed: bool = False
    random: str = ""  # the state of the random numbers as it began


@dataclass(slots=True)
class Use:
    """The gradient of one parameter as a step used it."""

    sources: tuple[int, ...]  # the passes that it was added up from since it was last cleared
    digest: str  # all of it, to the bit
    numbers: tuple[float, ...]  # some of it, evenly spread
    edited: bool = False  # something else than a pass has changed it: clipped, scaled, replaced


@dataclass(slots=True)
class StepTaken:
    """One step of an optimizer: what it used for each parameter that had a gradient."""

    optimizer: int
    nth: int  # of this optimizer's steps, from 1
    at: Line | None
    uses: dict[int, Use] = field(default_factory=dict)
    closure: bool = False  # passes ran inside
    random: str = ""  # the state of the random numbers as it began


@dataclass(slots=True)
class Cleared:
    """Gradients were set to zero or to None."""

    parameters: frozenset[int]
    at: Line | None


@dataclass(slots=True)
class Edited:
    """Gradients were changed by something else than a pass: clipped, scaled, replaced. It is noticed afterwards."""

    parameters: frozenset[int]


Happening = PassTaken | StepTaken | Cleared | Edited


@dataclass(slots=True)
class Training:
    """All of it. Of a long run the first happenings are kept, and the last."""

    happenings: list[Happening] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)  # of parameters, as the program calls them
    holds: dict[int, tuple[int, ...]] = field(default_factory=dict)  # optimizer -> its parameters
    optimizers: dict[int, str] = field(default_factory=dict)  # names of optimizers
    taken: dict[int, int] = field(default_factory=dict)  # optimizer -> steps in all
    modules: dict[str, tuple[int, ...]] = field(default_factory=dict)  # name of a module -> all its parameters
    place: tuple[int, int] | None = None  # of this process among those that train together: its rank, how many
    replicated: set[int] = field(default_factory=set)  # parameters that are kept alike on all ranks
    carried: tuple[Carried, ...] = ()  # over the border that was asked for
    gap: str = ""  # why it could not be followed any further

    def border(self, file: str, first: int, last: int) -> Border | None:
        """The pass that fails and the one before it on the same line, in a loop of these lines; None: there is none."""
        passes = [taken for taken in self.happenings if isinstance(taken, PassTaken)]
        failed = next((taken for taken in passes if taken.failed), None)
        earlier = [
            taken.number for taken in passes if failed is not None and taken.at == failed.at and not taken.failed
        ]
        return Border(earlier[-1], failed.number, file, first, last) if failed is not None and earlier else None
