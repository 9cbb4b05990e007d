"""Predict from source which backward passes would fail: all files, all cores, and what was found before."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from typing import Any

from afterward.errors import AfterwardError, SourceUnreadable, UnknownRule
from afterward.interpret import Sources, interpret_file, parse
from afterward.interpret.notebook import as_program
from afterward.interpret.project import Relevance, has_program, python_files, read
from afterward.model.diagnosis import Diagnosis, Label, Report, Severity
from afterward.model.site import Site
from afterward.tasks.check_cache import Cache
from afterward.tasks.check_silent import silent_findings

SECONDS = 0.5  # for one file
STDIN = "-"
_COMMENT = re.compile(r"#\s*afterward:\s*ignore(?:\[([^\]]*)\])?")
_MANY = 12  # files, from which on processes pay

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Checked:
    """What came of one file."""

    file: str
    findings: tuple[Diagnosis, ...] = ()
    gaps: tuple[str, ...] = ()
    error: str | None = None
    read: tuple[str, ...] = ()  # other files that the answer depends on


@dataclass(slots=True)
class Settings:
    """What to look for, and where not to look."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    seconds: float = SECONDS
    jobs: int = 0
    cache: bool = True


@dataclass(slots=True)
class Result:
    """A whole check: the report, the lines about files that could not be checked, and what it took."""

    report: Report
    errors: list[str] = field(default_factory=list)
    files: int = 0
    seconds: float = 0.0

    @property
    def exit(self) -> int:
        if any(found.severity is not Severity.INFO for found in self.report.findings):
            return 1
        return 2 if self.errors else 0


def check(
    paths: Sequence[str], settings: Settings, stdin: bytes | None = None, progress: Progress | None = None
) -> Result:
    """Check files and folders; `-` is what was given as `stdin`."""
    begin = time.perf_counter()
    _known_rules((*settings.select, *settings.ignore))
    named = [path for path in paths if path != STDIN]
    files, errors = python_files(named, list(settings.exclude))
    results: list[Checked] = []
    if STDIN in paths:
        results.append(_check_bytes("<stdin>", stdin or b"", Sources(), settings.seconds))
    cache = Cache(settings.cache)
    todo: list[str] = []
    for file in files:
        known = cache.find(file)
        if known is None:
            todo.append(file)
        else:
            results.append(_from_cache(file, known))
    for done in _all(todo, settings, progress):
        results.append(done)
        cache.keep(done.file, done.read, {"error": done.error, "gaps": list(done.gaps), "findings": done.findings})
    cache.write()
    errors += [done.error for done in results if done.error is not None]
    findings = _settled(results, settings)
    gaps = tuple(dict.fromkeys(gap for done in results for gap in done.gaps))
    report = Report(tuple(paths), findings, gaps)
    return Result(report, errors, len(files) + (STDIN in paths), time.perf_counter() - begin)


def _from_cache(file: str, known: dict[str, Any]) -> Checked:
    return Checked(file, tuple(known["findings"]), tuple(known["gaps"]), known["error"])


def _all(files: list[str], settings: Settings, progress: Progress | None) -> Iterable[Checked]:
    jobs = settings.jobs or os.cpu_count() or 1
    total = len(files)
    if total < _MANY or jobs == 1:
        sources = Sources()
        relevance = Relevance(sources)
        for number, file in enumerate(files, 1):
            yield check_file(file, sources, relevance, settings.seconds)
            if progress is not None:
                progress(number, total)
        return
    chunks = [files[start : start + 16] for start in range(0, total, 16)]
    number = 0
    with ProcessPoolExecutor(min(jobs, len(chunks))) as pool:
        futures = [pool.submit(_check_some, chunk, settings.seconds) for chunk in chunks]
        for chunk, future in zip(chunks, futures, strict=True):
            try:
                done = future.result()
            except BrokenProcessPool:
                done = [Checked(file, error=f"{file}: could not be checked: the process ended") for file in chunk]
            yield from done
            number += len(chunk)
            if progress is not None:
                progress(number, total)


def _check_some(files: list[str], seconds: float) -> list[Checked]:
    sources = Sources()
    relevance = Relevance(sources)
    return [check_file(file, sources, relevance, seconds) for file in files]


def check_file(file: str, sources: Sources, relevance: Relevance, seconds: float = SECONDS) -> Checked:
    """Check one file; whatever is wrong with it becomes one line."""
    try:
        data = read(file)
    except SourceUnreadable as error:
        return Checked(file, error=_short(str(error)))
    return _check_bytes(file, data, sources, seconds, relevance)


def _check_bytes(
    file: str, data: bytes, sources: Sources, seconds: float, relevance: Relevance | None = None
) -> Checked:
    lines = None
    try:
        if file.endswith(".ipynb"):
            data, lines = as_program(data, file)
        tree = parse(data, file)
    except SourceUnreadable as error:
        return Checked(file, error=_short(str(error)))
    if relevance is not None and not (has_program(tree, data) and relevance.relevant(file, data)):
        # What it imports may come to have a pass some day: then this answer is out of date.
        near = relevance.near(file, data) if has_program(tree, data) else []
        return Checked(file, _unused(file, data, ()), read=tuple(near))
    reach = relevance.reach(file, data) if relevance is not None else []
    sources.add(file, data, tree)
    try:
        outcome = interpret_file(file, tree, sources, seconds)
    except Exception as error:  # our own fault: one line, and the other files are still checked
        if os.environ.get("AFTERWARD_STRICT"):
            raise
        return Checked(file, gaps=(f"{file}: could not be interpreted: {type(error).__name__}: {error}",))
    findings: list[Diagnosis] = []
    for found in outcome.findings:
        findings += [_inferred(one, found.always, found.caught) for one in _diagnose(found.history)]
    findings += [_inferred(one, len(outcome.silent) == outcome.runs, False) for one in silent_findings(outcome)]
    gaps = tuple(
        f"{gap.site.file}:{gap.site.line}: {gap.what}" if gap.site is not None else f"{file}: {gap.what}"
        for gap in outcome.gaps
    )
    kept = _heeded(findings, sources)
    kept += _unused(file, data, tuple(findings))
    if lines is not None:
        kept = tuple(lines.moved(one) for one in kept)
    return Checked(file, kept, gaps, read=tuple({*reach, *outcome.modules} - {file}))


def _diagnose(history: Any) -> tuple[Diagnosis, ...]:
    from afterward.rules import diagnose

    return diagnose(history)


def _inferred(found: Diagnosis, always: bool, caught: bool) -> Diagnosis:
    """Words for what was worked out and not seen."""
    note = "predicted from the source: nothing was run"
    if not always:
        note += ", and whether it comes to this depends on values that are not known here"
    return replace(found, notes=(*found.notes, note), caught=caught)


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
            found.append(
                Diagnosis(
                    "this comment silences nothing",
                    Label(site, "nothing is found on this line"),
                    code="AFT900",
                    name="unused-ignore",
                    severity=Severity.INFO,
                )
            )
    return tuple(found)


# Putting it together


def _settled(results: list[Checked], settings: Settings) -> tuple[Diagnosis, ...]:
    """One finding per fault, though several programs may lead to it; in order of file and line."""
    best: dict[tuple[str, int, str], Diagnosis] = {}
    for done in results:
        for found in done.findings:
            site = found.primary.site
            key = (site.file, site.line, "" if found.severity is Severity.ERROR else found.code)
            if _wanted(found, settings) and (key not in best or _surer(found, best[key])):
                best[key] = found
    return tuple(sorted(best.values(), key=lambda one: (one.primary.site.file, one.primary.site.line, one.code)))


def _surer(one: Diagnosis, other: Diagnosis) -> bool:
    unsure = "whether it comes to this"
    return any(unsure in note for note in other.notes) and not any(unsure in note for note in one.notes)


def _wanted(found: Diagnosis, settings: Settings) -> bool:
    if settings.select and not _matches(found, settings.select):
        return False
    return not _matches(found, settings.ignore)


def _matches(found: Diagnosis, words: Iterable[str]) -> bool:
    return any(found.code.startswith(word.upper()) or found.name == word.lower() for word in words)


def _known_rules(words: Iterable[str]) -> None:
    from afterward.rules import all_rules

    for word in words:
        known = any(rule.code.startswith(word.upper()) or rule.name == word.lower() for rule in all_rules())
        if not known and not "AFT900".startswith(word.upper()) and word != "unused-ignore":
            raise UnknownRule(f"no rule is called {word}; `afterward rules` lists them")


def _short(text: str) -> str:
    """Paths in a line about a file are given as the reader wrote them, as far as that can be known."""
    here = os.getcwd() + os.sep
    return text.replace(here, "")


# Settings


def configured(folder: str) -> dict[str, Any]:
    """`[tool.afterward]` of the nearest pyproject.toml that has one, here or above."""
    if sys.version_info < (3, 11):
        return {}
    import tomllib  # type: ignore[import-not-found,unused-ignore]

    here = os.path.abspath(folder)
    while True:
        try:
            with open(os.path.join(here, "pyproject.toml"), "rb") as file:
                table = tomllib.load(file).get("tool", {}).get("afterward")
        except OSError:
            table = None
        except tomllib.TOMLDecodeError as error:
            raise AfterwardError(f"{os.path.join(here, 'pyproject.toml')}: not valid TOML: {error}") from None
        if isinstance(table, dict):
            return table
        above = os.path.dirname(here)
        if above == here:
            return {}
        here = above
