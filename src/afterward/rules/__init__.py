"""The rules: each reads a `History` and says what is wrong, if it is. Found by walking this folder."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, wraps
from importlib import resources

from afterward.errors import UnknownRule, alike
from afterward.model.diagnosis import Diagnosis, Severity
from afterward.model.history import History
from afterward.model.words import Words
from afterward.rules import _unused_ignore
from afterward.rules._cause import forget
from afterward.rules._helps import HELPS
from afterward.rules._labels import LABELS
from afterward.rules._notes import NOTES

Check = Callable[[History], Iterator[Diagnosis]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A code, a name that reads well in `# afterward: ignore[...]`, and the function that decides."""

    code: str
    name: str
    severity: Severity
    summary: str
    check: Check
    breaks: int = 0  # the sentence of the law; 0: none of them

    def page(self) -> str:
        """The page that explains the rule."""
        file = self.name.replace("-", "_") + ".md"
        return resources.files(__package__).joinpath(file).read_text(encoding="utf-8")


_registered: list[Rule] = []


def rule(code: str, severity: Severity, breaks: int = 0) -> Callable[[Check], Check]:
    """Register a rule and stamp its code, name and severity on what it yields. What it finds breaks a sentence of the
    law (docs/the-law.md), but for errors of another kind and advice."""

    def register(check: Check) -> Check:
        name = check.__name__.replace("_", "-")

        @wraps(check)
        def stamped(history: History) -> Iterator[Diagnosis]:
            for found in check(history):
                yield replace(found, code=code, name=name, severity=severity)

        summary = (check.__doc__ or "").strip().splitlines()[0]
        _registered.append(Rule(code, name, severity, summary, stamped, breaks))
        return stamped

    return register


@lru_cache(maxsize=1)
def all_rules() -> tuple[Rule, ...]:
    """Every rule of this package, by code."""
    for module in pkgutil.iter_modules(__path__):
        if not module.name.startswith("_"):
            importlib.import_module(f"{__name__}.{module.name}")
    return tuple(sorted(_registered, key=lambda found: found.code))


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
    return words.helps.get((kind, form)) or HELPS.get((kind, form)) or HELPS.get((kind, "other"), "")


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
