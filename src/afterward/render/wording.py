"""What a finding says: its templates, filled in with its facts. Text is made here, at the very end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from afterward.model import facts
from afterward.model.diagnosis import Certainty, Diagnosis, Effect, Label, Remedy
from afterward.model.facts import Fact, FactKind, Note
from afterward.model.site import Site
from afterward.model.words import Words
from afterward.render.template import capital, fill, listed, quoted, show
from afterward.rules import help_for, label_for, note_for, words_of

EFFECTS = {
    Effect.SAME_GRADIENTS: "gradients do not change",
    Effect.CUTS_GRADIENTS: "some gradients are cut",
    Effect.CHANGES_GRADIENTS: "gradients change",
    Effect.SKETCH: "gradients change",
}
_IN_CELL = "<cell {cell}, line {cell_line}: >"  # of a notebook that is a file
_UNNAMED = Fact("target", FactKind.VERBATIM, "the value")


@dataclass(frozen=True, slots=True)
class Labelled:
    """A place and what is said of it."""

    site: Site
    text: str


@dataclass(frozen=True, slots=True)
class Said:
    """A finding in words."""

    headline: str
    primary: Labelled
    secondary: tuple[Labelled, ...]
    why: str
    notes: tuple[str, ...]
    helps: tuple[str, ...]  # one for each remedy, in their order


def said(found: Diagnosis) -> Said:
    """All sentences of a finding, in the tense of its certainty."""
    return Said(
        headline(found),
        _labelled(found, found.primary),
        tuple(_labelled(found, label) for label in found.secondary),
        _why(found),
        tuple(_note(found, note) for note in _notes(found)),
        tuple(help_text(found, remedy) for remedy in found.remedies),
    )


def headline(found: Diagnosis) -> str:
    """The value and the fault in one clause."""
    return _filled(found, _words(found).headline)


def located(found: Diagnosis) -> str:
    """The headline; in a notebook that is a file, after its cell, for what shows lines of a file has no other place."""
    return _filled(found, _IN_CELL, found.primary.facts) + headline(found)


def paragraph(found: Diagnosis) -> str:
    """All of it in whole sentences: what is wrong, why, and the change that is recommended."""
    words = said(found)
    change = [f"{capital(words.helps[0])}."] if words.helps else []
    return " ".join((f"{capital(located(found))}.", *([words.why] if words.why else []), *change))


def help_text(found: Diagnosis, remedy: Remedy) -> str:
    """What to change, and what that does to the gradients. Where the change itself is at hand, its code is not said."""
    effect = facts.verbatim("effect", EFFECTS[remedy.effect])
    known = {fact.name: fact for fact in (_UNNAMED, effect, *remedy.facts) if fact.is_known}
    if remedy.patch:
        known.pop("code", None)
    target = known["target"]
    if remedy.also and target.kind is FactKind.CODE:
        known["target"] = facts.names("target", (target.text, *remedy.also))
    return fill(help_for(_words(found), remedy.kind, remedy.form), known.values(), here=found.primary.site)


def _words(found: Diagnosis) -> Words:
    return words_of(found.code, found.form)


def _filled(found: Diagnosis, template: str, more: Iterable[Fact] = ()) -> str:
    known = (*found.facts, _amount(found), *more)
    present = found.certainty is Certainty.PREDICTED
    return fill(template, known, present=present, here=found.primary.site)


def _why(found: Diagnosis) -> str:
    """Whole sentences, of which a fact may be the first word."""
    return capital(_filled(found, _words(found).why))


def _labelled(found: Diagnosis, label: Label) -> Labelled:
    site = label.site
    named = site.step is not None and site.cell != site.file
    own = (*label.facts, facts.step("at_step", site if named else None))
    return Labelled(site, _filled(found, _IN_CELL + label_for(_words(found), label.role), own))


def _note(found: Diagnosis, note: Note) -> str:
    return _filled(found, note_for(_words(found), note.kind), note.facts)


def _notes(found: Diagnosis) -> Iterable[Note]:
    """What is worth a note beside what the rule says: further bridges, what retaining would do, what was not seen."""
    yield from found.notes
    if found.other_bridges:
        names = listed([quoted(bridge.name) for bridge in found.other_bridges])
        count = facts.count("count", len(found.other_bridges))
        yield Note("other_bridges", (count, facts.verbatim("names", names)))
    if found.retain is not None:
        yield found.retain
    if found.certainty is Certainty.PREDICTED:
        if found.conditions:
            tests = listed([f"{quoted(one.test)} is {str(one.value).lower()}" for one in found.conditions])
            yield Note("predicted_if", (facts.verbatim("conditions", tests),))
        else:
            yield Note("predicted" if found.always else "predicted_maybe")


def _amount(found: Diagnosis) -> Fact:
    """How much is involved: `7 nodes, 672 B`. Bytes are known of all that a pass freed, not of a part of it."""
    known = {fact.name: fact for fact in found.facts if fact.is_known}
    shown = ("nodes",) if "all_nodes" in known else ("nodes", "bytes")
    return facts.verbatim("amount", ", ".join(show(known[name]) for name in shown if name in known))
