"""A lambda is a function: what it builds and sweeps belongs to its own line, and it gives what it gave."""

from __future__ import annotations

from pathlib import Path

from tests.watching import watch_source

SOLVER = """
def repeat(f, z):
    for _ in range(3):
        z = f(z)
    return z


x = torch.ones(3, requires_grad=True)
y = torch.tanh(x)
product = (
    lambda v:
    torch.autograd.grad(y, x, v)[0]
)
repeat(product, torch.ones(3))
"""


def test_a_pass_in_a_lambda_has_the_line_of_the_lambda(tmp_path: Path, torch_as_it_was: None) -> None:
    (found,) = watch_source(SOLVER, tmp_path).findings
    assert found.code == "AFT101"
    assert (found.freed.line, found.freed.step, found.reused.line, found.reused.step) == (12, 1, 12, 2)
    assert found.remedies[0].kind == "retain_graph"
    assert found.retain is not None
    assert found.retain.kind.startswith("retain_right")


def test_what_a_lambda_builds_has_its_line(tmp_path: Path, torch_as_it_was: None) -> None:
    source = """
net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh())
encode = lambda batch: net(batch)
losses = lambda f, x: [part.sum() for part in f(x)]


for one in losses(encode, torch.ones(2, 3)):
    one.backward()
"""
    (found,) = watch_source(source, tmp_path).findings
    assert (found.built.line, found.reused.line) == (4, 8)


def test_lambdas_give_what_they_gave(tmp_path: Path, torch_as_it_was: None) -> None:
    source = """
none, zero, empty = (lambda: print("")), (lambda: int("0")), (lambda *a, k=len("ab"), **kw: list(a))
nested = lambda a: (lambda b: max(a, b))
items = sorted([3, 1, 2], key=lambda n: -abs(n))
made = lambda: (yield len("abc"))
chosen = [f(2) for f in (lambda n: n.bit_length(), lambda n: str(n))]
def decorated(f=lambda: dict(a=1)): return f()
kept = (none(), zero(), empty(1, 2), nested(1)(5), items, list(made()), chosen, decorated())
"""
    seen = watch_source(source, tmp_path)
    assert seen.error is None
    assert seen.names["kept"] == (None, 0, [1, 2], 5, [3, 2, 1], [3], [2, "2"], {"a": 1})
