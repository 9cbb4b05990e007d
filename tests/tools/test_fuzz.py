"""Whatever bytes come from elsewhere, each reader does its work or refuses in a line. `make fuzz` tries for an hour."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests import tool

TOOLS = Path(__file__).parents[2] / "tools"
sys.path.insert(0, str(TOOLS))

from fuzzlab.damage import damaged, damaged_bytes  # noqa: E402
from fuzzlab.targets import PROGRAM, TARGETS, framed, unframed  # noqa: E402

fuzz = tool.load("fuzz")

# Each of these once ended in a traceback.
_CACHE: dict[str, Any] = {"names": ["a"], "states": [[0, -1, "", 0]], "reads": [[]], "entries": {"0": [0]}}
KEPT = {
    "a builtin without its argument": ("source", PROGRAM.replace("hidden.sum()", "hidden / sum()").encode()),
    "a cache of the wrong shape": ("cache", json.dumps({**_CACHE, "states": [[1]], "reads": [0]}).encode()),
    "a cache whose entries are too short": ("cache", json.dumps(_CACHE).encode()),
}


@pytest.mark.parametrize("name", sorted(TARGETS))
def test_what_it_was_made_for_is_read(name: str) -> None:
    for data in TARGETS[name].seeds():
        TARGETS[name].reads(data)


@pytest.mark.parametrize("name", sorted(TARGETS))
@given(seed=st.integers(0, 2**32))
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), database=None)
def test_damaged_input_is_read_or_refused(name: str, seed: int) -> None:
    target, rng = TARGETS[name], random.Random(seed)
    seeds = target.seeds()
    data = damaged_bytes(rng.choice(seeds), seeds, rng, is_json=target.is_json, is_talk=name == "messages")
    target.reads(data)


@pytest.mark.parametrize("name", sorted(TARGETS))
@given(data=st.binary(max_size=60))
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck), database=None)
def test_any_bytes_are_read_or_refused(name: str, data: bytes) -> None:
    TARGETS[name].reads(data)


@pytest.mark.parametrize("what", sorted(KEPT))
def test_what_once_failed(what: str) -> None:
    name, data = KEPT[what]
    TARGETS[name].reads(data)


def test_a_fault_is_found_and_kept() -> None:
    """The fuzzer itself: a reader that fails on a part of its input is caught, and what fails is handed back."""

    def reads(data: bytes) -> None:
        if isinstance(json.loads(data).get("a"), list):
            raise KeyError("a list")

    def careful(data: bytes) -> None:
        try:
            reads(data)
        except (ValueError, AttributeError):
            return

    tried = fuzz.fuzz("made up", fuzz.Target(careful, lambda: [b'{"a": 1, "b": [2]}'], is_json=True), 5.0, 0)
    assert [why.strip().splitlines()[-1] for why, _ in tried.wrong] == ["KeyError: 'a list'"]
    assert isinstance(json.loads(tried.wrong[0][1])["a"], list)


def test_damage_leaves_json_and_messages_whole() -> None:
    rng = random.Random(0)
    for _ in range(200):
        json.dumps(damaged({"a": [1, {"b": "x"}], "c": None}, rng))
    (talk,) = TARGETS["messages"].seeds()
    assert b"".join(map(framed, unframed(talk))) == talk
