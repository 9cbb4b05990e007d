"""What a finding says: its templates, filled in with its facts. Text is made here, at the very end."""

from __future__ import annotations

from afterward.model.diagnosis import Effect, Remedy
from afterward.model.facts import Fact, FactKind
from afterward.model.site import Site
from afterward.render.template import fill
from afterward.rules import help_for

EFFECTS = {
    Effect.SAME_GRADIENTS: "gradients do not change",
    Effect.CUTS_GRADIENTS: "some gradients are cut",
    Effect.CHANGES_GRADIENTS: "gradients change",
    Effect.SKETCH: "gradients change",
}
_UNNAMED = Fact("target", FactKind.VERBATIM, "the value")


def help_text(code: str, remedy: Remedy, here: Site | None = None) -> str:
    """What to change, and what that does to the gradients."""
    effect = Fact("effect", FactKind.VERBATIM, EFFECTS[remedy.effect])
    facts = {fact.name: fact for fact in (_UNNAMED, effect, *remedy.facts) if fact.is_known}
    target = facts["target"]
    if remedy.also and target.kind is FactKind.CODE:
        facts["target"] = Fact("target", FactKind.NAMES, many=(target.text, *remedy.also))
    return fill(help_for(code, remedy.kind, remedy.form), facts.values(), here=here)
