"""Random programs, printed as Python: what the interpreter says will fail does so, there and in that way."""

from __future__ import annotations

from collections import Counter

import pytest

pytest.importorskip("torch")
agree_check = pytest.importorskip("agree_check")


def test_what_is_said_happens() -> None:
    counts: Counter[str] = Counter()
    agree_check.agree(150, 20, counts, shrink=False)
    assert counts["said, and so it is"] > 1
