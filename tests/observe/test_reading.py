"""Saved values that the program reads off the graph itself, after a pass has freed them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.watching import watch_source

BEFORE = """
net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh())
kept = {}
for step in range(3):
    out = net(torch.ones(1, 3))
    kept["out"] = out.grad_fn
    out.sum().backward()
"""
READS = {
    "straight": "print(out.grad_fn._saved_result)",
    "by an item": "print(kept['out']._saved_result)",
    "further down": "print(out.grad_fn.next_functions[0][0]._saved_mat1)",
    "by getattr": "print([getattr(out.grad_fn, name) for name in ['_saved_result']])",
    "in a function that cleans up": """
def read(node):
    try:
        return node._saved_result
    finally:
        for name in list(kept):
            kept.pop(name)
read(out.grad_fn)
""",
}


@pytest.mark.parametrize("how", READS)
def test_a_freed_value_that_is_read_is_explained(tmp_path: Path, how: str) -> None:
    source = BEFORE + READS[how]
    seen = watch_source(source, tmp_path)
    (found,) = seen.findings
    assert found.code == "AFT108"
    lines = source.splitlines()
    reads = [n for n, line in enumerate(lines, 1) if "_saved_" in line]
    assert found.reused is not None
    assert found.freed is not None
    assert found.built is not None
    assert [found.reused.line, found.freed.line, found.built.line] == [*reads, 7, 5]


def test_an_error_of_another_kind_is_left_alone(tmp_path: Path) -> None:
    assert watch_source(BEFORE + "print(out.grad_fn._saved_nothing)", tmp_path).findings == []
