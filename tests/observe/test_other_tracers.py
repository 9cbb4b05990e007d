"""Before Python 3.12 there is one place for a tracer: whoever has it, as a coverage tool, keeps it."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import torch

import afterward


@pytest.mark.skipif(hasattr(sys, "monitoring"), reason="this Python has room for several")
def test_another_tracer_is_left_at_its_place(capsys: pytest.CaptureFixture[str], torch_as_it_was: None) -> None:
    lines: list[int] = []

    def tracer(frame: Any, event: str, argument: Any) -> Any:
        lines.append(frame.f_lineno)
        return tracer

    known = sys.gettrace()
    sys.settrace(tracer)
    try:
        with afterward.watch() as run:
            assert sys.gettrace() is tracer
            loss = torch.ones(2, requires_grad=True).pow(2).sum()
            loss.backward()
            with pytest.raises(RuntimeError):
                loss.backward()
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(known)
    assert lines
    assert "no line can be named" in capsys.readouterr().err
    assert all(found.reused is None for found in run.report().findings)  # a stale line is never shown


@pytest.mark.skipif(hasattr(sys, "monitoring"), reason="this Python has room for several")
def test_a_debugger_that_takes_the_place_in_between(capsys: pytest.CaptureFixture[str], torch_as_it_was: None) -> None:
    """`breakpoint()` and `c`: pdb takes the tracer's place and leaves it empty, and the last mark is stale."""
    known = sys.gettrace()
    sys.settrace(None)
    try:
        with afterward.watch() as run:
            loss = torch.ones(2, requires_grad=True).pow(2).sum()
            sys.settrace(None)
            loss.backward()
            with pytest.raises(RuntimeError):
                loss.backward()
        assert sys.gettrace() is None
    finally:
        sys.settrace(known)
    assert capsys.readouterr().err.count("no line can be named") == 1
    assert all(found.reused is None for found in run.report().findings)
