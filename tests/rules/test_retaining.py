"""What `retain_graph=True` would do is looked up by facts: whatever they are, exactly one outcome fits them."""

from __future__ import annotations

import random
from itertools import product
from typing import get_type_hints

import pytest

from afterward.rules import _retaining as retaining
from afterward.rules._notes import NOTES
from afterward.rules._retaining import OUTCOMES, Retained, fitting

VALUES = [tuple(kind) if kind is not bool else (False, True) for kind in get_type_hints(Retained).values()]
EVERY = [Retained(*values) for values in product(*VALUES)]


def test_one_outcome_fits_all_facts_in_whatever_order_the_rows_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    known = [fitting(kept) for kept in EVERY]
    assert {len(names) for names in known} == {1}
    rows = list(OUTCOMES.items())
    random.Random(0).shuffle(rows)
    monkeypatch.setattr(retaining, "OUTCOMES", dict(rows))
    assert [fitting(kept) for kept in EVERY] == known


def test_each_outcome_is_possible_and_has_its_words() -> None:
    assert {name for kept in EVERY for name in fitting(kept)} == set(OUTCOMES)
    assert {f"retain_{name}" for name in OUTCOMES} == {kind for kind in NOTES if kind.startswith("retain_")}
