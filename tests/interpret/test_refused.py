"""What autograd refuses while a program computes: trained tensors written in place, computed ones used as leaves."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.interpret.checking import check_source

PROGRAM = """\
import torch
w = torch.ones(3, requires_grad=True)
for step in range(3):
    loss = (w**2).sum()
    {before}
    loss.backward()
    {statement}
"""


@pytest.mark.parametrize(
    ("before", "statement", "expected"),
    [
        ("", "w -= 0.1 * w.grad", ["AFT501"]),
        ("", "w[0] = 1.0", ["AFT501"]),
        ("", "w.data -= 0.1 * w.grad; w.grad = None", []),
        ("", "w = w - 0.1 * w.grad", ["AFT502"]),
        ("", "w = w - 0.1 * w.grad; w.grad.zero_()", ["AFT502"]),
        ("", "w = (w - 0.1 * w.grad).detach().requires_grad_()", []),
        ("scaled = 2 * loss", "print(0.1 * scaled.grad)", ["AFT502"]),
        ("scaled = 2 * loss; scaled.retain_grad(); loss = scaled", "print(0.1 * scaled.grad); w.grad = None", []),
        ("scaled = 2 * loss", "g = scaled.grad; print(0 if g is None else 0.1 * g); w.grad = None", []),
        ("", "torch.optim.SGD([w * 2], lr=0.1)", ["AFT502"]),
        ("", "torch.optim.SGD([torch.ones(3, requires_grad=True).cuda()], lr=0.1)", ["AFT502"]),
        ("", "torch.optim.SGD([torch.ones(3, device=d, requires_grad=True).cuda()], lr=0.1); w.grad = None", []),
        ("", "torch.optim.SGD([torch.ones(3).cuda().requires_grad_()], lr=0.1); w.grad = None", []),
        ("", "print(loss.numpy())", ["AFT503"]),
        ("", "print(w.numpy())", ["AFT503"]),
        ("", "print(loss.detach().numpy(), loss.numpy(force=True), w.data.numpy()); w.grad = None", []),
        ("import copy; kept = [loss]", "copy.deepcopy(kept)", ["AFT503"]),
        ("import copy; kept = [loss.detach(), w]", "copy.deepcopy(kept); w.grad = None", []),
    ],
)
def test_leaves_and_computed_tensors(before: str, statement: str, expected: list[str], tmp_path: Path) -> None:
    source = PROGRAM.format(before=before or "pass", statement=statement)
    found = [one.code for one in check_source(source, tmp_path) if one.severity.value == "error"]
    assert found == expected


@pytest.mark.parametrize(
    ("taken", "expected"),
    [
        ("part = out.unbind(0)[0]", ["AFT508"]),
        ("part, _ = out.chunk(2)", ["AFT508"]),
        ("part = next(iter(out))", ["AFT508"]),
        ("with torch.no_grad(): part = out[0]", ["AFT508"]),
        ("part = out[0]", []),
        ("part, _ = out.tensor_split(2)", []),
        ("part, _ = out.detach().chunk(2)", []),
    ],
)
def test_views_that_cannot_be_written(taken: str, expected: list[str], tmp_path: Path) -> None:
    source = f"import torch\nout = torch.nn.Linear(3, 4)(torch.ones(2, 3))\n{taken}\npart += 1\nout.sum().backward()\n"
    space: dict[str, object] = {}
    if expected:
        with pytest.raises(RuntimeError, match=r"is a view and is being modified inplace|created in no_grad mode"):
            exec(source, space)
    else:
        exec(source, space)
    assert [one.code for one in check_source(source, tmp_path) if one.severity.value == "error"] == expected
