"""Predict from source which backward passes would fail: all files, all cores, and what was found before."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from afterward.model.diagnosis import Diagnosis, LookedAt, NotAnalysed, Report, Severity
from afterward.tasks.check_cache import Cache, Known
from afterward.tasks.check_settings import Settings
from afterward.tasks.checked import Checked
from afterward.tasks.python_files import python_files

STDIN = "-"
_KEEPING = ("AFT303",)  # faults of a call that several programs may come to, each with a need of its own

Progress = Callable[[int, int], None]


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
        results.append(_check_stdin(stdin or b""))
    cache = Cache(settings.cache)
    todo: list[str] = []
    for file in files:
        known = cache.find(file)
        if known is None:
            todo.append(file)
        else:
            results.append(Checked(file, known.findings, known.gaps, known.error, looked=known.looked))
    for done in _all(todo, settings, progress):
        results.append(done)
        cache.keep(done.file, done.read, Known(done.findings, done.gaps, done.error, done.looked))
    cache.write(files)
    order = {file: number for number, file in enumerate(files)}
    results.sort(key=lambda done: order.get(done.file, -1))  # whether or not it was in the cache
    errors += [done.error for done in results if done.error is not None]
    findings = _settled(results, settings)
    gaps = tuple(dict.fromkeys(gap for done in results for gap in done.gaps))
    count = len(files) + (STDIN in paths)
    report = Report(tuple(paths), findings, gaps, looked_at=_looked_at(results, count))
    return Result(report, errors, count, time.perf_counter() - begin)


def files_of(paths: Sequence[str], settings: Settings) -> list[str]:
    """The files that a check of these paths would read."""
    return python_files([path for path in paths if path != STDIN], list(settings.exclude))[0]


def _check_stdin(data: bytes) -> Checked:
    from afterward.tasks.check_file import Shared, check_bytes

    return check_bytes("<stdin>", data, Shared(), alone=True)


def _all(files: list[str], settings: Settings, progress: Progress | None) -> Iterable[Checked]:
    """What is not in the cache. The interpreter is loaded only if there is something for it to do."""
    if not files:
        return ()
    from afterward.tasks.check_files import check_files

    return check_files(files, settings.jobs, progress)


# Putting it together


def _settled(results: list[Checked], settings: Settings) -> tuple[Diagnosis, ...]:
    """One finding per fault, though several programs may lead to it; in order of file and line."""
    best: dict[tuple[str, int, str], Diagnosis] = {}
    for done in results:
        for found in done.findings:
            site = found.primary.site
            key = (site.file, site.line, "" if found.severity is Severity.ERROR else found.code)
            if (
                wanted(found, settings)
                and not _is_needed_elsewhere(found, results)
                and (key not in best or _surer(found, best[key]))
            ):
                best[key] = found
    return tuple(sorted(best.values(), key=lambda one: (one.primary.site.file, one.primary.site.line, one.code)))


def _is_needed_elsewhere(found: Diagnosis, results: list[Checked]) -> bool:
    """Does another program come to this pass and need the graph that it keeps? A test does without what training
    needs."""
    line = found.primary.site.file, found.primary.site.line
    others = [done for done in results if line in done.looked.analysed] if found.code in _KEEPING else []
    there = [{(one.code, one.primary.site.file, one.primary.site.line) for one in done.findings} for done in others]
    return any((found.code, *line) not in findings for findings in there)


def _surer(one: Diagnosis, other: Diagnosis) -> bool:
    return one.always and not other.always


def _looked_at(results: list[Checked], files: int) -> LookedAt:
    """All files together: what one program did not come to, another may have."""
    loops = {loop for done in results for loop in done.looked.loops}
    analysed = {line for done in results for line in done.looked.analysed}
    missed = {(file, line): why for done in results for file, line, why in done.looked.missed}
    unread = [NotAnalysed(done.file, 1, "could not be read") for done in results if done.error is not None]
    left = [NotAnalysed(*line, why) for line, why in sorted(missed.items()) if line not in analysed]
    return LookedAt(files, len(loops), (*unread, *left))


def wanted(found: Diagnosis, settings: Settings) -> bool:
    """Do the settings ask for a finding?"""
    if settings.select and not _matches(found, settings.select):
        return False
    return not _matches(found, settings.ignore)


def _matches(found: Diagnosis, words: Iterable[str]) -> bool:
    return any(found.code.startswith(word.upper()) or found.name == word.lower() for word in words)


def _known_rules(words: Sequence[str]) -> None:
    if not words:
        return
    from afterward.rules import all_rules, find_rule

    for word in words:
        known = any(rule.code.startswith(word.upper()) or rule.name == word.lower() for rule in all_rules())
        if not known and not "AFT900".startswith(word.upper()) and word != "unused-ignore":
            find_rule(word)
