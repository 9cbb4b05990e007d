"""Random programs as a Hypothesis strategy, which makes a program that shows something smaller."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st

from lifelab.generate import Writer
from lifelab.programs import Program


@cache
def _below(n: int) -> st.SearchStrategy[int]:
    return st.integers(0, n - 1)


@st.composite
def programs(draw: Any) -> Program:
    """A random program over the whole vocabulary."""
    return Writer(lambda n: int(draw(_below(n)))).program()
