"""What every remedy works with: the diagnosis, and the sources it speaks of."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import libcst as cst

from afterward.errors import SourceUnreadable
from afterward.model import facts
from afterward.model.diagnosis import Diagnosis, Effect, Remedy
from afterward.model.facts import Fact
from afterward.model.site import Site
from afterward.model.training import Carried
from afterward.repair.edits import Edit, Patch
from afterward.repair.source import Loop, Source, Statement

# A remedy yields patches, best first; what is sent back is the error of the trial, if it was tried and failed. Where
# a value could not be detached, a second line says what it is (see `Shapes.learn`).
Candidates = Generator[Patch, str, None]
Place = tuple[Source, Statement]


@dataclass
class Workshop:
    """The files of a program as they stand, read when a remedy asks for one."""

    texts: Mapping[str, str]
    _sources: dict[str, Source | None] = field(default_factory=dict)
    tries: bool = False  # are patches run, so that a trial tells what a value is?
    # What the steps of a loop (file, first and last line) hand on with its graph, as a run of the program shows it.
    carried: Callable[[str, int, int], tuple[Carried, ...]] = lambda file, first, last: ()

    def source(self, site: Site | None) -> Source | None:
        """The file of a site; None where it cannot be edited."""
        return self._source(site.file) if site is not None and site.file in self.texts else None

    def sources(self, speaking_of: str = "") -> Iterator[Source]:
        """The files that can be edited: all, or those in which a pattern occurs."""
        files = (file for file, text in self.texts.items() if re.search(speaking_of, text))
        return (source for file in files if (source := self._source(file)) is not None)

    def functions(self, name: str) -> Iterator[tuple[Source, cst.FunctionDef]]:
        """The functions of the program that are called so."""
        for source in self.sources(rf"def {re.escape(name)}\b"):
            for each in source.statements:
                if isinstance(each, cst.FunctionDef) and each.name.value == name:
                    yield source, each

    def _source(self, file: str) -> Source | None:
        if file not in self._sources:
            try:
                self._sources[file] = Source(file, self.texts[file])
            except SourceUnreadable:
                self._sources[file] = None
        return self._sources[file]


@dataclass
class Job:
    """One remedy of one diagnosis, to be written as edits."""

    shop: Workshop
    found: Diagnosis
    remedy: Remedy

    @property
    def name(self) -> str:
        """The bridge, or what the remedy speaks of."""
        return self.remedy.target or (self.found.bridge.name if self.found.bridge is not None else "")

    @property
    def reading(self) -> Site | None:
        """Where the bridge is read again."""
        return self.found.bridge.site if self.found.bridge is not None else None

    def loop(self) -> tuple[Source, Loop, list[Statement]] | None:
        """The loop that takes the steps, with the statements of its body."""
        source = self.shop.source(self.found.ways.loop)
        loop = source.loop_at(self.found.ways.loop) if source is not None else None
        body = source.body(loop) if source is not None and loop is not None else None
        return (source, loop, body) if source is not None and loop is not None and body else None

    def patch(self, source: Source, *edits: Edit, said: tuple[str, tuple[Fact, ...]] | None = None) -> Patch:
        """One change to one file. `said`: another form of the remedy, with its facts, where the patch goes that way."""
        return Patch(self.remedy.kind, {source.file: tuple(edits)}, *(said or ()))

    def begun_again(self, source: Source, edit: Edit, code: str, target: str = "") -> Patch:
        """A change by which the state is what it was before the first step: by this code."""
        told = (facts.code("target", target or self.name), facts.code("code", code))
        return Patch(self.remedy.kind, {source.file: (edit,)}, "begun_again", told, Effect.CHANGES_GRADIENTS)

    def patches(self, edits: Mapping[str, Iterable[Edit]]) -> Patch:
        """One change to several files."""
        return Patch(self.remedy.kind, {file: tuple(each) for file, each in edits.items()})

    def at(self, site: Site | None) -> Place | None:
        """The file and the statement of a site."""
        source = self.shop.source(site)
        statement = source.statement_at(site) if source is not None else None
        return (source, statement) if source is not None and statement is not None else None

    def places(self, sites: Iterable[Site | None], *, alone: bool = False) -> Iterator[Place]:
        """The statements of these sites, each site once; `alone`: those that have their lines to themselves."""
        found = (place for site in dict.fromkeys(sites) if (place := self.at(site)) is not None)
        return ((source, statement) for source, statement in found if not alone or source.alone(statement))

    def way_to(self, site: Site | None) -> Iterator[tuple[Source, Statement]]:
        """The statement of a pass; then those that called its function as it ran, innermost first."""
        *outer, last = self.found.ways.freed or (None,)
        mine = last is not None and site is not None and (last.file, last.line) == (site.file, site.line)
        return self.places((site, *(reversed(outer) if mine else ())))

    def parting(self, one: tuple[Site, ...], other: tuple[Site, ...]) -> tuple[Source, Statement, Statement] | None:
        """Where two ways part: the first two statements, of one file, in which they differ."""
        for early, late in zip(one, other, strict=False):
            first, second = self.at(early), self.at(late)
            if first is None or second is None or first[0] is not second[0]:
                return None
            if first[1] is not second[1]:
                return first[0], first[1], second[1]
        return None
