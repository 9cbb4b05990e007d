"""Questions about the nodes that passes have walked, kept as rising numbers."""

from __future__ import annotations

from array import array
from bisect import bisect_left


def meets(swept: array[int], first: int, end: int) -> bool:
    """Did a pass walk any node of this interval?"""
    place = bisect_left(swept, first)
    return place < len(swept) and swept[place] < end


def contains(swept: array[int], order: int) -> bool:
    """Did a pass walk this node?"""
    return meets(swept, order, order + 1)
