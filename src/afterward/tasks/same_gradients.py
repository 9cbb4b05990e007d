"""Are two gradients one, and from which step on do two runs train otherwise?"""

from __future__ import annotations

import math

from afterward.model.training import StepTaken, Training, Use

TOLERANCE = 1e-4  # of a gradient's largest entry: the order of additions may differ


def same(one: Use | None, other: Use | None) -> bool:
    """One gradient, up to the order of additions."""
    if one is None or other is None:
        return one is other or not any((one or other).numbers)  # type: ignore[union-attr]
    return one.digest == other.digest or difference(one, other) <= TOLERANCE


def difference(one: Use | None, other: Use | None) -> float:
    """How far two gradients are apart, as a share of the larger one's largest number."""
    ours, theirs = (one.numbers if one else ()), (other.numbers if other else ())
    scale = max((abs(x) for x in (*ours, *theirs) if math.isfinite(x)), default=0.0)
    if len(ours) != len(theirs) or not scale:
        return 0.0 if list(ours) == list(theirs) else 1.0
    apart = [
        abs(a - b) if math.isfinite(a) and math.isfinite(b) else scale * (str(a) != str(b))
        for a, b in zip(ours, theirs, strict=True)
    ]
    return max(apart) / scale


def first_difference(one: Training, other: Training) -> int | None:
    """The first step of any optimizer that gets other gradients; 0: none, None: no step to compare, or other random
    numbers from the first step on."""
    ours = [h for h in one.happenings if isinstance(h, StepTaken)]
    theirs = [h for h in other.happenings if isinstance(h, StepTaken)]
    pairs = list(zip(ours, theirs, strict=False))
    for number, (a, b) in enumerate(pairs, 1):
        keys = a.uses.keys() | b.uses.keys()
        if a.optimizer != b.optimizer or not all(same(a.uses.get(key), b.uses.get(key)) for key in keys):
            return number if pairs[0][0].random == pairs[0][1].random else None
    return 0 if pairs else None
