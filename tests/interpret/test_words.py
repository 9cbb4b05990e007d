"""What was not seen is said in the present: "frees", "is changed by", where a run would say "freed", "was changed"."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from afterward.tasks.check_file import Shared, check_file
from afterward.tasks.check_words import in_present

PAST = re.compile(r"\b(was|were|has|had|freed (?:its|that|it)|swept and|went|walked)\b(?! no history)")
CASES = Path(__file__).parents[1] / "cases"


@pytest.mark.parametrize(
    ("seen", "inferred"),
    [
        ("needs values that step 1's backward freed", "needs values that step 1's backward frees"),
        ("freed here, in step 1", "is freed here, in step 1"),
        (
            "`retain_graph=True` would fail here too: `w` was changed by `opt.step()` (line 3) since, in place",
            "`retain_graph=True` would fail here too: `w` is changed by `opt.step()` (line 3) before, in place",
        ),
        (
            "The forward pass saved `w` for its backward. `opt.step()` (line 3) has changed it in place since.",
            "The forward pass saves `w` for its backward. `opt.step()` (line 3) changes it in place before this pass.",
        ),
        ("`was_freed` keeps the graph built here", "`was_freed` keeps the graph built here"),
    ],
)
def test_a_sentence_is_put_into_the_present(seen: str, inferred: str) -> None:
    assert in_present(seen) == inferred


@pytest.mark.parametrize("case", sorted(one.parent for one in CASES.glob("*/buggy.py"))[::6], ids=lambda one: one.name)
def test_findings_on_the_cases_speak_in_the_present(case: Path) -> None:
    for found in check_file(str(case / "buggy.py"), Shared()).findings:
        *notes, predicted = found.notes
        assert predicted.startswith("predicted from the source")
        for text in (found.primary.text, found.why, *notes, *(label.text for label in found.secondary)):
            plain = re.sub(r"`[^`]*`", "", text)
            assert not PAST.search(plain), text
