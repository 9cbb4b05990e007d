"""`check --fix`: without running anything, write only what keeps the gradients and what a second check finds cured."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from afterward.errors import SourceUnreadable
from afterward.model.diagnosis import Diagnosis, Effect, Remedy
from afterward.tasks.checked_change import changes, checked, cures
from afterward.tasks.files import Original, read


@dataclass
class Rewritten:
    """New texts of files, and which findings they cure."""

    originals: dict[str, Original] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    cured: list[tuple[Diagnosis, Remedy]] = field(default_factory=list)


def rewrite(findings: Iterable[Diagnosis]) -> Rewritten:
    """Cure what can be cured by a change that keeps the gradients; files are only read."""
    done = Rewritten()
    for found in findings:
        remedy = next((r for r in found.remedies if r.effect is Effect.SAME_GRADIENTS), None)
        file = found.primary.site.file
        if remedy is None or remedy is not found.remedies[0] or file in done.texts or file.endswith(".ipynb"):
            continue  # a second finding in one file is met by the next check: its lines have moved
        try:
            original = read(file)
        except SourceUnreadable:
            continue
        text = _cured(found, remedy, file, original)
        if text is not None:
            done.originals[file], done.texts[file] = original, text
            done.cured.append((found, remedy))
    return done


def _cured(found: Diagnosis, remedy: Remedy, file: str, original: Original) -> str | None:
    """The text of the first patch after which a check of the file no longer tells the finding, nor a new one."""
    known = checked(file, original.text)
    for _, text in changes(found, remedy, {file: original.text}, file):
        if cures(known, checked(file, text)):
            return text
    return None
