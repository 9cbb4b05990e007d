"""In-place writes that no statement spells out: a module makes them on being called."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.watching import watch_source

from afterward.render.wording import help_text, said

WRITES = {  # source, the code, the line that writes, and what is said to make it write
    "an activation over its input": (
        """
gate = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Sigmoid())
post = torch.nn.Sequential(torch.nn.ReLU(inplace=True), torch.nn.Linear(4, 1))
g = gate(torch.randn(2, 4))
h = post(g)
h.sum().backward()
""",
        ("AFT202", 5, "inplace=True"),
    ),
    "an embedding over its rows": (
        """
emb, mix = torch.nn.Embedding(6, 3, max_norm=0.1), torch.nn.Linear(3, 3)
table = mix(emb.weight)
rows = emb(torch.tensor([1, 2]))
(rows @ table.t()).sum().backward()
""",
        ("AFT201", 4, "clone"),
    ),
}


@pytest.mark.parametrize("what", WRITES)
def test_the_call_that_writes_is_named(tmp_path: Path, torch_as_it_was: None, what: str) -> None:
    source, (code, line, how) = WRITES[what]
    (found,) = watch_source(source, tmp_path).findings
    assert (found.code, found.written.line) == (code, line)
    assert [remedy.kind for remedy in found.remedies] == ["out_of_place"]
    assert how in help_text(found, found.remedies[0]) + "".join(label.text for label in said(found).secondary)


def test_an_activation_that_writes_elsewhere_is_not_blamed(tmp_path: Path, torch_as_it_was: None) -> None:
    source = """
quiet, loud = torch.nn.ReLU(), torch.nn.ReLU(inplace=True)
x = torch.randn(2, 4, requires_grad=True)
s = torch.sigmoid(x)
h = quiet(s)
s.mul_(2)
h.sum().backward()
"""
    (found,) = watch_source(source, tmp_path).findings
    assert found.written.line == 6


def test_a_chain_of_writes_is_one_write(tmp_path: Path, torch_as_it_was: None) -> None:
    """`y.mul_(a).add_(w)` writes to `y` alone, though no statement gave `y.mul_(a)` a name."""
    source = """
def average(teacher, student):
    with torch.no_grad():
        for mine, theirs in zip(teacher.parameters(), student.parameters()):
            mine.mul_(0.9).add_(theirs, alpha=0.1)
student, teacher = (torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)) for _ in range(2))
x = torch.randn(2, 3)
loss = (student(x) - teacher(x)).pow(2).mean()
average(teacher, student)
loss.backward()
"""
    (found,) = watch_source(source, tmp_path).findings
    assert (found.code, found.written.line) == ("AFT201", 5)
