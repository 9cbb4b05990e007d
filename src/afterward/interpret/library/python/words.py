"""Sets of names, written as text: a long list of names reads better so."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())
