"""Facts that a report speaks of: a name, a count, a place, each of a kind that says how it is shown.

A rule, a remedy or a proof holds facts and no sentence; `render` puts them into the templates.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from afterward.model.site import Site


class FactKind(str, Enum):
    CODE = "code"  # an expression of the program
    NAMES = "names"  # several of them
    COUNT = "count"  # of a noun
    SIZE = "size"  # bytes
    SECONDS = "seconds"
    SHARE = "share"  # a fraction
    LINES = "lines"  # one line, or several
    STEP = "step"  # the step in which a place was reached
    CALL = "call"  # a backward pass, by its step or its line
    UPDATE = "update"  # a step of an optimizer, or another write, with its line
    VERBATIM = "verbatim"  # what PyTorch, Python or the program itself has printed


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing known, under the name by which templates ask for it."""

    name: str
    kind: FactKind
    text: str = ""
    number: float | None = None
    many: tuple[str, ...] = ()
    sites: tuple[Site, ...] = ()
    measured: bool = False  # a figure of this very run: another run, or a prediction, has none

    @property
    def is_known(self) -> bool:
        """Is there anything to show?"""
        return bool(self.text or self.many or self.sites) or self.number is not None


@dataclass(frozen=True, slots=True)
class Note:
    """A fact worth a sentence of its own, by its kind; the sentence is a template of that name."""

    kind: str
    facts: tuple[Fact, ...] = ()


def code(name: str, text: str) -> Fact:
    return Fact(name, FactKind.CODE, text)


def names(name: str, many: tuple[str, ...]) -> Fact:
    return Fact(name, FactKind.NAMES, many=tuple(one for one in many if one))


def count(name: str, number: int | None, noun: str = "", *, measured: bool = True) -> Fact:
    known = number is not None
    return Fact(name, FactKind.COUNT, noun if known else "", number, measured=measured)


def size(name: str, number: int) -> Fact:
    """Bytes; zero is taken as not measured."""
    return Fact(name, FactKind.SIZE, number=number or None, measured=True)


def seconds(name: str, number: float | None) -> Fact:
    return Fact(name, FactKind.SECONDS, number=number, measured=True)


def share(name: str, number: float | None) -> Fact:
    return Fact(name, FactKind.SHARE, number=number, measured=True)


def lines(name: str, *sites: Site | None) -> Fact:
    return Fact(name, FactKind.LINES, sites=tuple(site for site in sites if site is not None))


def step(name: str, site: Site | None) -> Fact:
    return Fact(name, FactKind.STEP, sites=(site,) if site is not None and site.step is not None else ())


def call(name: str, site: Site | None, function: str = "backward") -> Fact:
    """A call of `backward()` or `autograd.grad()`; always known, if only as an earlier one."""
    return Fact(name, FactKind.CALL, function, sites=(site,) if site is not None else ())


def update(name: str, text: str, site: Site | None) -> Fact:
    return Fact(name, FactKind.UPDATE, text, sites=(site,) if site is not None else ())


def verbatim(name: str, text: str) -> Fact:
    return Fact(name, FactKind.VERBATIM, text)
