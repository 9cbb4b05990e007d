"""What was not seen is said in the present: "frees", "modifies", where a run would say "freed", "modified"."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from afterward.model.diagnosis import Certainty
from afterward.render.wording import said
from afterward.tasks.check_file import Shared, check_file

PAST = re.compile(r"\b(was|were|has|had|freed (?:its|that|it)|went|(?<!is )(?<!are )modified)\b(?! (no|its|a) )")
CASES = Path(__file__).parents[1] / "cases"


@pytest.mark.parametrize("case", sorted(one.parent for one in CASES.glob("*/buggy.py"))[::6], ids=lambda one: one.name)
def test_findings_on_the_cases_speak_in_the_present(case: Path) -> None:
    for found in check_file(str(case / "buggy.py"), Shared()).findings:
        assert found.certainty is Certainty.PREDICTED
        words = said(found)
        *notes, predicted = words.notes
        assert predicted.startswith("predicted from the source")
        labels = (label.text for label in (words.primary, *words.secondary))
        for text in (words.headline, words.why, *notes, *labels):
            plain = re.sub(r"`[^`]*`", "", text)
            assert not PAST.search(plain), text
