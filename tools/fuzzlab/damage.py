"""Damages JSON part by part, so that what comes out is still JSON, and reaches code that random bytes never do."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

from fuzzlab.targets import framed, unframed

ODD: tuple[Any, ...] = (
    None, True, 0, -1, 1, 2**31, 2**63, -(2**63), 10**40, 1.5, 1e308, float("inf"), float("nan"), "", "\0", "\ud800",
    "\x1b[2J", "\u202e", "AFT103", "x" * 5000, "../../etc", "file:///%00", [], {}, [[]], [None], {"": 0},
    {"columns": [], "rows": []},
)  # fmt: skip


def _places(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """(container, key) of every part."""
    todo = [value]
    while todo:
        one = todo.pop()
        keys: Any = list(one) if isinstance(one, dict) else range(len(one)) if isinstance(one, list) else ()
        for key in keys:
            found.append((one, key))
            todo.append(one[key])
    return found


def damaged(value: Any, rng: random.Random) -> Any:
    """The same with a few parts changed, dropped, doubled, moved or nested."""
    value = copy.deepcopy(value)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        places = _places(value, [])
        if not places:
            return copy.deepcopy(rng.choice(ODD))
        owner, key = rng.choice(places)
        what = rng.randrange(7)
        if what == 0:
            del owner[key]
        elif what == 1 and isinstance(owner, list):
            owner.insert(key, copy.deepcopy(owner[key]))
        elif what == 2:
            other, place = rng.choice(places)
            owner[key] = copy.deepcopy(other[place])
        elif what == 3 and isinstance(owner[key], int):
            owner[key] += rng.choice((-1, 1, 7, 10**6))
        elif what == 4:
            nested: Any = owner[key]
            for _ in range(rng.choice((1, 3, 300))):
                nested = [nested]
            owner[key] = nested
        elif what == 5 and isinstance(owner, dict):
            owner[rng.choice(["", "columns", "rows", "source", "text", str(key)])] = copy.deepcopy(rng.choice(ODD))
        else:
            owner[key] = copy.deepcopy(rng.choice(ODD))
    return value


def damaged_bytes(data: bytes, seeds: list[bytes], rng: random.Random, *, is_json: bool, is_talk: bool) -> bytes:
    """Input that was kept (or a seed) with some more damage."""
    try:
        if is_talk and rng.random() < 0.8:
            said = unframed(data) or unframed(rng.choice(seeds))
            place = rng.randrange(len(said))
            said[place] = damaged(said[place], rng)
            if rng.random() < 0.3:
                rng.shuffle(said)
            return b"".join(framed(one) for one in said)
        if is_json and rng.random() < 0.9:
            return json.dumps(damaged(json.loads(data), rng)).encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError, IndexError):
        data = rng.choice(seeds)
    raw = bytearray(data)
    for _ in range(rng.choice((1, 2, 8))):
        at = rng.randrange(len(raw) + 1)
        what = rng.randrange(4)
        if what == 0:
            raw[at:at] = bytes(rng.randrange(256) for _ in range(rng.choice((1, 4))))
        elif what == 1:
            del raw[at : at + rng.choice((1, 1, 16, 400))]
        elif what == 2:
            other = rng.choice(seeds)
            start = rng.randrange(len(other) + 1)
            raw[at:at] = other[start : start + rng.choice((4, 40))]
        elif raw[at : at + 1]:
            raw[at] ^= 1 << rng.randrange(8)
    return bytes(raw)
