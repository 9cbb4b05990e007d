"""Random programs, printed as Python: what the interpreter says will fail does so, there and in that way."""

from __future__ import annotations

import traceback
import warnings
from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from afterward.interpret import Sources, interpret_file, parse

torch = pytest.importorskip("torch")
generate = pytest.importorskip("lifelab.generate")
source = pytest.importorskip("lifelab.source")

FILE = "/program.py"
_MESSAGES = {
    "second time": "second_backward",
    "modified by an inplace": "inplace",
    "does not require grad and does not have": "no_grad",
}


def what_happens(text: str) -> tuple[int, str] | None:
    """The line and kind of the error that ends the program."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(text, FILE, "exec"), {})
    except Exception as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == FILE]
        kind = next((name for part, name in _MESSAGES.items() if part in str(error)), "another")
        return (lines[0] or 0) if lines else 0, kind
    return None


def what_is_said(text: str) -> tuple[int, str] | None:
    data = text.encode()
    tree = parse(data, FILE)
    sources = Sources()
    sources.add(FILE, data, tree)
    for found in interpret_file(FILE, tree, sources, seconds=5.0).findings:
        late = next(found.history.broken_passes())
        assert late.where is not None
        assert late.error is not None
        return late.where.levels[0].site.line, late.error
    return None


def test_what_is_said_happens() -> None:
    counts: Counter[str] = Counter()

    @seed(20)
    @settings(
        max_examples=150,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(generate.programs())
    def compare(program: object) -> None:
        text = source.to_source(program)
        said, happens = what_is_said(text), what_happens(text)
        if said is None:
            counts["silent"] += 1
        elif happens is not None and happens[1] == "another" and happens[0] <= said[0]:
            counts["ended before, by something else"] += 1  # a wrong shape, say: shapes are not interpreted
        else:
            assert said == happens, text
            counts["said, and so it is"] += 1

    compare()
    assert counts["said, and so it is"] > 3
