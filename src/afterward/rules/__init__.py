"""The rules: each reads a `History` and says what is wrong, if it is. Found by walking this folder."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Mapping
from functools import lru_cache

from afterward.errors import UnknownRule, alike
from afterward.model.diagnosis import Diagnosis, Severity
from afterward.model.history import History
from afterward.model.words import Words
from afterward.rules import _unused_ignore
from afterward.rules._cause import forget
from afterward.rules._helps import HELPS
from afterward.rules._labels import LABELS
from afterward.rules._notes import NOTES
from afterward.rules._registry import Rule, registered


@lru_cache(maxsize=1)
def all_rules() -> tuple[Rule, ...]:
    """Every rule of this package, by code."""
    for module in pkgutil.iter_modules(__path__):
        if not module.name.startswith("_"):
            importlib.import_module(f"{__name__}.{module.name}")
    return tuple(sorted(registered, key=lambda found: found.code))


def find_rule(code_or_name: str) -> Rule:
    for found in all_rules():
        if code_or_name.upper() == found.code or code_or_name.lower() == found.name:
            return found
    meant = alike(code_or_name, (name for found in all_rules() for name in (found.code, found.name)))
    raise UnknownRule(f"no rule is called {code_or_name}{meant or '; `afterward rules` lists them'}")


# Words: for `render` alone


def words_of(code: str, form: str = "") -> Words:
    """The templates of a rule, or of one form of its fault."""
    module = _unused_ignore if code == _unused_ignore.CODE else sys.modules[find_rule(code).check.__module__]
    words: Words | Mapping[str, Words] = module.WORDS
    return words if isinstance(words, Words) else words[form] if form in words else next(iter(words.values()))


def label_for(words: Words, role: str) -> str:
    """The template of a labelled place."""
    return words.labels.get(role) or LABELS.get(role, "")


def note_for(words: Words, kind: str) -> str:
    """The template of a note."""
    return words.notes.get(kind) or NOTES.get(kind, "")


def help_for(words: Words, kind: str, form: str) -> str:
    """The template of a remedy."""
    common = HELPS.get(kind, {})
    return words.helps.get((kind, form)) or common.get(form) or common.get("other", "")


def diagnose(history: History) -> tuple[Diagnosis, ...]:
    """What the rules have to say about one history.

    The history of a pass that broke holds only what belongs to the failure: nothing silent is judged by it.
    """
    broken = any(True for _ in history.broken_passes())
    rules = [each for each in all_rules() if not broken or each.severity is Severity.ERROR]
    try:
        return tuple(found for each in rules for found in each.check(history))
    finally:
        forget()
