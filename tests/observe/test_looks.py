"""Looks are rare: the first passes of each call site, then each power of two, whatever comes between them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.watching import watch_source

from afterward.observe.recording.events import PassSeen
from afterward.observe.recording.looks import FIRST_LOOKS

ONE = """
for step in range(100):
    (weight * weight).sum().backward()
    weight.grad = None
"""
TWO = """
for step in range(100):
    (weight * weight).sum().backward()
    weight.grad = None
    (weight * 2).sum().backward()
    weight.grad = None
"""
RETAINING = ONE.replace("backward()", "backward(retain_graph=True)")


@pytest.mark.parametrize(("source", "sites"), [(ONE, 1), (TWO, 2), (RETAINING, 1)])
def test_first_passes_then_powers_of_two(source: str, sites: int, tmp_path: Path, torch_as_it_was: None) -> None:
    seen = watch_source("weight = torch.ones(3, requires_grad=True)" + source, tmp_path)
    passes = [event for event in seen.session.recorders.main.settle() if isinstance(event, PassSeen)]
    assert len(passes) == 100 * sites
    looked = [number // sites + 1 for number, event in enumerate(passes) if event.used is not None]
    expected = [*range(1, FIRST_LOOKS + 1), 16, 32, 64]
    assert looked == [number for number in expected for _ in range(sites)]
    # Passes share a window only if every pass between them was looked at too.
    windows: dict[int, list[int]] = {}
    for number, event in enumerate(passes):
        if event.used is not None:
            windows.setdefault(event.window, []).append(number)
    assert all(numbers == list(range(numbers[0], numbers[-1] + 1)) for numbers in windows.values())
