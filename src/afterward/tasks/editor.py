"""What an editor asks for: what is wrong in a text that may not be saved yet, and the changes that could cure it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from afterward.errors import AfterwardError
from afterward.model.diagnosis import Diagnosis, Effect, Remedy
from afterward.tasks.check import wanted
from afterward.tasks.check_file import Shared, check_bytes
from afterward.tasks.check_settings import Settings, configured


@dataclass(frozen=True, slots=True)
class Change:
    """A span of a text, by its offsets, and what takes its place."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A remedy written as changes. Nothing was run, so it is not proven."""

    remedy: Remedy
    changes: Mapping[str, tuple[Change, ...]]
    recommended: bool


def findings_in(file: str, text: str) -> tuple[list[Diagnosis], str | None]:
    """The findings on lines of this file, or one line why it cannot be checked; what it imports is read from disk."""
    checked = check_bytes(file, text.encode("utf-8", "surrogatepass"), Shared())
    if checked.error is not None:
        return [], checked.error
    settings = _settings(os.path.dirname(file))
    found = [one for one in checked.findings if one.primary.site.file == file and wanted(one, settings)]
    return sorted(found, key=lambda one: (one.primary.site.line, one.code)), None


def _settings(folder: str) -> Settings:
    try:
        table = configured(folder)
    except AfterwardError:
        return Settings()  # the command line says what is wrong with it

    def words(name: str) -> tuple[str, ...]:
        given = table.get(name, [])
        return tuple(one for one in given if isinstance(one, str)) if isinstance(given, list) else ()

    return Settings(words("select"), words("ignore"))


def suggestions(found: Diagnosis, texts: Mapping[str, str]) -> Iterator[Suggestion]:
    """One for each remedy that can be written down, the recommended one first."""
    try:
        from afterward.repair import Workshop, candidates
    except ImportError:  # LibCST is not installed
        return
    shop = Workshop(texts)
    for number, remedy in enumerate(found.remedies):
        if remedy.effect is Effect.SKETCH:
            continue
        patch = next(candidates(shop, found, remedy), None)
        if patch is not None and all(file in texts for file in patch.edits):
            changes = {
                file: tuple(Change(edit.start, edit.end, edit.text) for edit in edits)
                for file, edits in patch.edits.items()
            }
            yield Suggestion(patch.carries_out(remedy), changes, number == 0)


def page_file(found: Diagnosis) -> Path | None:
    """The file of that page, where there is one on disk."""
    import afterward.rules

    file = Path(afterward.rules.__file__).with_name(found.name.replace("-", "_") + ".md")
    return file if file.is_file() else None


def page_for(found: Diagnosis) -> str:
    """The page of the rule that found it; the comment that silences nothing has none."""
    from afterward.tasks.rules import page_of

    try:
        return page_of(found.code)
    except AfterwardError:
        return f"# {found.code} {found.name}\n"
