"""Questions about the nodes that passes have walked, kept as rising numbers."""

from __future__ import annotations

from array import array
from bisect import bisect_left


def meets(used: array[int], first: int, end: int) -> bool:
    """Did a pass walk any node of this interval?"""
    place = bisect_left(used, first)
    return place < len(used) and used[place] < end


def contains(used: array[int], order: int) -> bool:
    """Did a pass walk this node?"""
    return meets(used, order, order + 1)
