"""The templates of a rule: what it says, without the facts. `render` fills them in (see `render.template`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Words:
    """All sentences of one rule, or of one form of its fault. Nothing but `render` reads them.

    `fault` names the fault without any fact: for a list of rules, and where another run is spoken of. `headline` names
    the value too, and makes sense alone in an editor. Labels go by the role of a place, notes by their kind, and helps
    by kind and form of a remedy, where the common words for it do not fit.
    """

    fault: str
    headline: str
    why: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    helps: Mapping[tuple[str, str], str] = field(default_factory=dict)
