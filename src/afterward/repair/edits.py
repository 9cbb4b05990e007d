"""A change to a text: spans and what takes their place. Nothing outside a span changes by a byte."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Characters from `start` up to `end` give way to `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Patch:
    """One remedy written out: the edits of each file, and what they do in a few words."""

    kind: str
    summary: str
    edits: Mapping[str, tuple[Edit, ...]]

    def applied(self, texts: Mapping[str, str]) -> dict[str, str]:
        """The new text of each file that changes."""
        return {file: apply(texts[file], edits) for file, edits in self.edits.items()}


def apply(text: str, edits: Iterable[Edit]) -> str:
    """The text with all edits made. Edits that overlap are a mistake of ours."""
    result, position = [], 0
    for edit in sorted(edits):
        if edit.start < position:
            raise ValueError("two edits overlap")
        result += [text[position : edit.start], edit.text]
        position = edit.end
    return "".join(result) + text[position:]


def unified(name: str, before: str, after: str, context: int = 3) -> str:
    """The change as `git apply` and `patch` read it. Lines are split at newlines alone, as they do."""
    lines = difflib.unified_diff(_lines(before), _lines(after), f"a/{name}", f"b/{name}", n=context)
    shown = []
    for line in lines:
        shown.append(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n")
    return "".join(shown)


def _lines(text: str) -> list[str]:
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
