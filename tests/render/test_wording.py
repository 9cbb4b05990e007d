"""Sentences are made of templates, and read by nothing: each template of a cause is whole sentences by itself."""

from __future__ import annotations

import re
import sys

import pytest

from afterward import repair
from afterward.model import facts
from afterward.model.diagnosis import Diagnosis, Effect, Label, Remedy
from afterward.model.site import Site
from afterward.model.words import Words
from afterward.render import remedies
from afterward.render.template import fill
from afterward.render.wording import paragraph
from afterward.rules import all_rules

CAUSES = {
    f"{rule.code} {form}": one.why
    for rule in all_rules()
    for words in [sys.modules[rule.check.__module__].WORDS]
    for form, one in ({"": words} if isinstance(words, Words) else words).items()
}


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("name", CAUSES)
def test_a_cause_is_whole_sentences_whatever_is_known(name: str, known: bool) -> None:
    names = re.findall(r"\{(\w+)\}|[!?](\w+):", CAUSES[name])
    text = fill(CAUSES[name], [facts.lines(one or other, Site("a.py", 3, 3)) for one, other in names if known])
    first, *rest = re.split(r"(?<=\.) ", text)
    assert not text or text.endswith((".", ".)"))
    assert all(one[:1].isupper() or one.startswith("`") for one in rest)
    assert first != "."
    assert not known or "  " not in text


def test_a_message_in_whole_sentences_has_one_point_at_the_end_of_each() -> None:
    site = Site("a.py", 3, 3)
    value, freed = facts.code("value", "h"), facts.call("freed_by", Site("a.py", 2, 2))
    help = Remedy("detach_state", Effect.CUTS_GRADIENTS)
    found = Diagnosis(Label(site), facts=(value, freed), remedies=(help,), code="AFT103")
    assert paragraph(found) == (
        "`h` carries a freed graph into a later step. `h` carries its graph from one step to the next, so this loss "
        "depends on the graph of an earlier step. The `backward()` on line 2 already freed it. Detach what is carried "
        "from step to step; gradients then do not flow into earlier steps."
    )


def test_each_kind_of_remedy_has_a_short_name() -> None:
    assert set(repair._KINDS) <= set(remedies._KINDS)
