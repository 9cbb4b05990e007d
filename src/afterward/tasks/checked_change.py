"""The first change that a remedy writes after which `check` no longer finds the fault. Nothing is run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING

from afterward.model.diagnosis import Diagnosis, Remedy
from afterward.tasks.check_file import Shared, check_bytes
from afterward.tasks.checked import Checked
from afterward.tasks.files import compiles

if TYPE_CHECKING:
    from afterward.repair import Patch

TRIES = 6


def checked(file: str, text: str) -> Checked:
    return check_bytes(file, text.encode("utf-8"), Shared())


def changes(found: Diagnosis, remedy: Remedy, texts: Mapping[str, str], file: str) -> Iterator[tuple[Patch, str]]:
    """The patches of this file alone that leave it a program, each with the new text."""
    from afterward.repair import Workshop, candidates

    for patch in islice(candidates(Workshop(texts), found, remedy), TRIES):
        text = patch.applied(texts).get(file)
        if text is not None and len(patch.edits) == 1 and compiles(text, file):
            yield patch, text


def cures(before: Checked, after: Checked) -> bool:
    """A finding has gone, none has come, and every training loop still has its `backward()`."""
    known, left = [found.code for found in before.findings], [found.code for found in after.findings]
    trains = len(after.looked.loops) >= len(before.looked.loops)
    return trains and len(left) < len(known) and all(left.count(code) <= known.count(code) for code in left)
