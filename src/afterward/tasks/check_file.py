"""Predict from source which backward passes of one file would fail."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from afterward.errors import SourceUnreadable
from afterward.interpret import Assumption, Door, Outcome, Part, Sources, interpret_file, parse
from afterward.interpret.fragments.missing import completed
from afterward.interpret.fragments.reading import read_fragment
from afterward.interpret.project.notebook import Cells, as_program, to_read
from afterward.interpret.project.programs import Reach, acts
from afterward.interpret.project.project import Relevance, calls_backward, read
from afterward.interpret.search.coverage import backward_calls
from afterward.model import facts
from afterward.model.diagnosis import Certainty, Condition, Diagnosis, Severity
from afterward.model.facts import Note
from afterward.model.saved import Chapter
from afterward.model.site import Site
from afterward.rules import diagnose
from afterward.rules._unused_ignore import unused_ignore
from afterward.tasks.check_columns import as_pasted, in_code_points
from afterward.tasks.check_silent import said_of, silent_findings
from afterward.tasks.checked import Checked, Looked

_LARGE = 4_000_000  # bytes of source
_COMMENT = re.compile(r"#\s*afterward:\s*ignore(?:\[([^\]]*)\])?")


class Shared:
    """What the files of a project have in common: syntax trees, imported modules, what speaks of passes."""

    def __init__(self) -> None:
        self.sources = Sources()
        self.relevance = Relevance(self.sources)

    @property
    def is_large(self) -> bool:
        """Is it time to begin again? A syntax tree takes some hundred times the room of its text."""
        return sum(len(text) for text in self.sources.texts.values()) > _LARGE


def check_file(file: str, shared: Shared) -> Checked:
    """Check one file; whatever is wrong with it becomes one line."""
    try:
        data = read(file)
    except SourceUnreadable as error:
        return unreadable(file, str(error))
    try:
        return check_bytes(file, data, shared)
    finally:
        shared.sources.forget(file)


def unreadable(file: str, why: str) -> Checked:
    """Paths in a line about a file are given as the reader wrote them, as far as that can be known."""
    return Checked(file, error=why.replace(os.getcwd() + os.sep, ""))


@dataclass(frozen=True, slots=True)
class _Read:
    """The content of a file as it is interpreted, and how its lines and columns lie in what the reader has."""

    data: bytes
    tree: ast.Module
    cells: Cells | None = None
    moved: Sequence[int] = ()
    no_code: Sequence[int] = ()

    def as_written(self, found: Diagnosis) -> Diagnosis:
        found = as_pasted(found, self.moved)
        return self.cells.moved(found) if self.cells is not None else found


def _read(file: str, data: bytes, alone: bool) -> _Read:
    if alone:
        reading = read_fragment(data.decode("utf-8-sig", "replace"))
        if reading is not None:
            return _Read(reading.text.encode(), completed(reading.tree), None, reading.moved, reading.no_code)
    if file.endswith(".ipynb"):
        data, cells = as_program(data, file, to_read)
        return _Read(data, parse(data, file), cells)
    return _Read(data, parse(data, file))


def check_bytes(file: str, data: bytes, shared: Shared, alone: bool = False) -> Checked:
    """Check the content of a file. `alone`: it is not on disk, so nothing is known about files around it."""
    sources, relevance = shared.sources, shared.relevance
    try:
        read_as = _read(file, data, alone)
    except SourceUnreadable as error:
        return unreadable(file, str(error))
    data, tree = read_as.data, read_as.tree
    own = alone or calls_backward(data)
    does = own or acts(tree)
    relevant = alone or (does and relevance.relevant(file, data))
    program = alone or (relevant and Reach(tree, data, partial(relevance.of_project, file)).comes_to_a_pass())
    if not program and not (own and relevant):
        # What it imports may come to have a pass some day: then this answer is out of date.
        near = relevance.near(file, data) if does else []
        return Checked(file, _unused(file, data, ()), read=tuple(near))
    reach = relevance.reach(file, data) if not alone else []
    sources.add(file, data, tree)
    try:
        outcome = interpret_file(file, tree, sources, program, alone, said_of)
    except Exception as error:  # our own fault: one line, and the other files are still checked
        if os.environ.get("AFTERWARD_STRICT"):
            raise
        why = f"could not be interpreted: {type(error).__name__}: {error}"
        return Checked(file, gaps=(f"{file}: {why}",), looked=Looked(missed=((file, 1, why),)))
    found_once = _once(found for part in outcome.parts for found in _findings(part))
    findings = [in_code_points(found, sources.texts) for found in found_once]
    told = (*_heeded(findings, sources), *_unused(file, data, tuple(findings)))
    kept = tuple(map(read_as.as_written, told))
    gaps = tuple(
        f"{gap.site.file}:{gap.site.line}: {gap.what}" if gap.site is not None else f"{file}: {gap.what}"
        for gap in outcome.gaps
    )
    gaps += tuple(f"{file}:{number}: this line was not read as code" for number in read_as.no_code)
    chapters = _chapters(outcome, kept) if alone else ()
    read_too = tuple(sorted({*reach, *outcome.modules} - {file}))
    return Checked(file, kept, gaps, read=read_too, looked=_looked(file, tree, outcome), chapters=chapters)


def _findings(part: Part) -> Iterator[Diagnosis]:
    """What fails in a run of one program, and what all of its runs show that raises nothing."""
    for found in part.findings:
        depends = Depends(found.always, found.assumed, part.door)
        yield from (_predicted(one, depends, found.caught) for one in diagnose(found.history))
    always = len(part.silent) == part.runs and not part.alone
    depends = Depends(always, part.silent[0].assumed if part.silent else (), part.door)
    yield from (_predicted(one, depends, False) for one in silent_findings(part))


def _once(findings: Iterator[Diagnosis]) -> Iterator[Diagnosis]:
    """Each fault that raises nothing once, though it shows under several conditions."""
    known = set()
    for one in findings:
        if one.severity is Severity.ERROR or one.key not in known:
            yield one
        known.add(one.key)


def _chapters(outcome: Outcome, kept: tuple[Diagnosis, ...]) -> tuple[Chapter, ...]:
    """The histories of an interpreted text, each with the numbers of the findings that it shows."""
    histories = [found.history for part in outcome.parts for found in part.findings]
    histories += [one.history for part in outcome.parts for one in part.silent[:1] if one.history is not None]
    chapters = []
    left = dict(enumerate(kept))
    for history in histories:
        shown = {(one.code, one.primary.site.line) for one in diagnose(history)}
        numbers = tuple(n for n, one in left.items() if (one.code, one.primary.site.line) in shown)
        chapters.append(Chapter(history, numbers))
        left = {n: one for n, one in left.items() if n not in numbers}
    return tuple(chapters)


def _looked(file: str, tree: ast.Module, outcome: Outcome) -> Looked:
    """What the runs have looked at, and the calls of backward in this file that they did not come to."""
    coverage = outcome.coverage
    reasons = {(gap.site.file, gap.site.line): gap.what for gap in outcome.gaps if gap.site is not None}
    missed = [(file, line) for line in sorted(set(backward_calls(tree))) if (file, line) not in coverage.analysed]
    return Looked(
        tuple(sorted(coverage.loops)),
        tuple(sorted(line for line in coverage.analysed)),
        tuple((*line, reasons.get(line) or coverage.why_not(line)) for line in missed),
    )


@dataclass(frozen=True, slots=True)
class Depends:
    """What a prediction depends on."""

    always: bool
    assumed: tuple[Assumption, ...] = ()
    door: Door | None = None


def _predicted(found: Diagnosis, depends: Depends, caught: bool) -> Diagnosis:
    """As a prediction. What would be measured in a run is not known: an interpreted program's figures are its own."""
    known = tuple(fact for fact in found.facts if not fact.measured)
    doors = depends.door.all if depends.door is not None else ()
    found = replace(
        found,
        facts=known,
        notes=(*found.notes, *_assuming(depends.assumed)),
        certainty=Certainty.PREDICTED,
        always=depends.always,
        conditions=tuple(Condition(one.test, one.side) for one in doors),
        caught=caught,
    )
    return found if found.severity is Severity.ERROR else replace(found, nodes=0, bytes=0)


def _assuming(assumed: tuple[Assumption, ...]) -> tuple[Note, ...]:
    """What a prediction rests on."""
    trained = {network: one.name for one in assumed for network in one.trains}
    return tuple(
        Note(
            kind,
            (
                facts.code("name", one.name),
                facts.code("optimizer", trained.get(one.name, "")),
                facts.names("names", one.trains),
            ),
        )
        for one in assumed
        if (kind := _ASSUMES.get(one.role, ""))
    )


_ASSUMES = {  # the role of what is assumed: its note
    "network": "assumes_parameters",
    "function": "assumes_dependence",
    "number": "assumes_number",
    "loss": "assumes_loss",
    "one_forward": "assumes_one_forward",
    "before": "assumes_before",
    "leaf": "assumes_leaf",
    "module": "assumes_training",
    "body": "assumes_loop",
}


# Comments


def _heeded(findings: list[Diagnosis], sources: Sources) -> tuple[Diagnosis, ...]:
    """The findings that no comment on their line silences."""
    return tuple(found for found in findings if not _silenced(found, sources))


def _silenced(found: Diagnosis, sources: Sources) -> bool:
    site = found.primary.site
    text = sources.texts.get(site.file, b"").decode("utf-8", "replace").splitlines()
    for line in range(site.line, min(site.end_line, len(text)) + 1):
        match = _COMMENT.search(text[line - 1])
        if match is not None and _names(match, found):
            return True
    return False


def _names(match: re.Match[str], found: Diagnosis) -> bool:
    if match[1] is None:
        return True
    return bool({one.strip().lower() for one in match[1].split(",")} & {found.code.lower(), found.name})


def _unused(file: str, data: bytes, findings: tuple[Diagnosis, ...]) -> tuple[Diagnosis, ...]:
    """A comment that silences nothing is out of date."""
    if b"afterward:" not in data:
        return ()
    found = []
    for number, text in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        match = _COMMENT.search(text)
        if match is None:
            continue
        here = [one for one in findings if one.primary.site.file == file and one.primary.site.line == number]
        if not any(_names(match, one) for one in here):
            site = Site(file, number, number, match.start(), match.end())
            found.append(unused_ignore(site))
    return tuple(found)
