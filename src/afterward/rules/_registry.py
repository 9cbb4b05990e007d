"""What makes a function a rule: its code, a name that reads well, and the stamp on what it yields."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import wraps
from importlib import resources

from afterward.model.diagnosis import Diagnosis, Severity
from afterward.model.history import History

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


registered: list[Rule] = []


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
        registered.append(Rule(code, name, severity, summary, stamped, breaks))
        return stamped

    return register
