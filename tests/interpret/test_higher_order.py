"""Derivatives of derivatives: what `check` says of them is what happens when they are run."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.interpret.checking import check_source

_START = """
import torch
import torch.nn.functional as F
net = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
params = list(net.parameters())
"""

FAILING = {
    "a second derivative of which the loss is made": """
for _ in range(3):
    x = torch.rand(8, 2, requires_grad=True)
    u = net(x)
    slope = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]
    curve = torch.autograd.grad(slope, x, torch.ones_like(slope))[0]
    loss = (slope - curve).pow(2).mean()
    loss.backward()
""",
    "rows of a Hessian, of gradients without a graph": """
loss = net(torch.rand(8, 2)).pow(2).mean()
grads = torch.autograd.grad(loss, params)
flat = torch.cat([g.reshape(-1) for g in grads])
for g in flat:
    row = torch.autograd.grad(g, params, retain_graph=True)
""",
    "a penalty alone": """
x = torch.rand(8, 2, requires_grad=True)
grads = torch.autograd.grad(net(x).sum(), x)[0]
penalty = (grads.norm(2, dim=1) - 1).pow(2).mean()
penalty.backward()
""",
}
RUNNING = {
    "one of two results of a custom function, written in place": """
class Both(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y, x + y

    @staticmethod
    def backward(ctx, first, second):
        x, y = ctx.saved_tensors
        return first * y + second, first * x + second

product, total = Both.apply(params[0] * 2, params[0] * 3)
product.add_(1.0)
(product.sum() + total.sum()).backward()
opt.step()
""",
    "a second derivative with its graph": """
for _ in range(3):
    x = torch.rand(8, 2, requires_grad=True)
    u = net(x)
    slope = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]
    curve = torch.autograd.grad(slope, x, torch.ones_like(slope), create_graph=True)[0]
    loss = (slope - curve).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    "rows of a Hessian": """
loss = net(torch.rand(8, 2)).pow(2).mean()
grads = torch.autograd.grad(loss, params, create_graph=True)
flat = torch.cat([g.reshape(-1) for g in grads])
rows = []
for g in flat:
    row = torch.autograd.grad(g, params, retain_graph=True, allow_unused=True)
    rows.append(torch.cat([r.reshape(-1) for r in row if r is not None]))
""",
    "a product of the Hessian and a vector, again and again": """
loss = net(torch.rand(8, 2)).pow(2).mean()
grads = torch.autograd.grad(loss, params, create_graph=True)
direction = [torch.randn_like(p) for p in params]
for _ in range(4):
    product = sum((g * d).sum() for g, d in zip(grads, direction))
    direction = torch.autograd.grad(product, params, retain_graph=True)
""",
    "a penalty beside the loss": """
for _ in range(3):
    x = torch.rand(8, 2, requires_grad=True)
    score = net(x)
    grads = torch.autograd.grad(score.sum(), x, create_graph=True)[0]
    loss = score.mean() + 10 * (grads.norm(2, dim=1) - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    "tasks whose losses are swept at once": """
w = torch.nn.Parameter(torch.randn(1, 2))
meta = torch.optim.SGD([w], lr=0.1)
for _ in range(4):
    meta.zero_grad()
    total = 0.0
    for task in range(3):
        inner = F.linear(torch.rand(8, 2), w).pow(2).mean()
        (g,) = torch.autograd.grad(inner, w, create_graph=True)
        total = total + F.linear(torch.rand(8, 2), w - 0.1 * g).pow(2).mean()
    total.backward()
    meta.step()
""",
    "tasks whose inner passes are real passes": """
w = torch.nn.Parameter(torch.randn(1, 2))
meta = torch.optim.SGD([w], lr=0.1)
for _ in range(4):
    total = 0.0
    for task in range(3):
        inner = F.linear(torch.rand(8, 2), w).pow(2).mean()
        w.grad = None
        inner.backward()
        total = total + F.linear(torch.rand(8, 2), w - 0.1 * w.grad).pow(2).mean()
    meta.zero_grad()
    total.backward()
    meta.step()
""",
}
# What a derivative leads back to: taking one of it frees the forward pass, which then can not be used.
LEADING_BACK = (
    "torch.tanh(h)", "torch.sigmoid(h)", "h.exp()", "h.softmax(-1)", "h.log_softmax(-1)", "torch.relu(h)",
    "(h * h + 1).sqrt()", "(h * h + 1).rsqrt()", "(h * h + 1).reciprocal()", "h.sin()", "h.cos()", "h.pow(3)", "h ** 2",
    "(h * h + 1).log()", "F.gelu(h)", "F.silu(h)", "F.softplus(h)", "F.leaky_relu(h)", "h.erf()", "h.tan()", "h.atan()",
)  # fmt: skip


def _error(source: str) -> str:
    try:
        exec(compile(source, "program.py", "exec"), {"__name__": "__main__"})
    except RuntimeError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", FAILING)
def test_what_fails_is_found_and_create_graph_is_the_remedy(name: str, tmp_path: Path) -> None:
    source = _START + FAILING[name]
    assert _error(source)
    findings = [found for found in check_source(source, tmp_path) if found.severity.value == "error"]
    assert [found.remedies[0].kind for found in findings] == ["create_graph"]
    written = source.splitlines()[findings[0].remedies[0].site.line - 1]
    assert "autograd.grad" in written
    assert "create_graph" not in written


@pytest.mark.parametrize("name", RUNNING)
def test_nothing_is_said_of_what_runs(name: str, tmp_path: Path) -> None:
    source = _START + RUNNING[name]
    assert not _error(source)
    assert check_source(source, tmp_path) == []


@pytest.mark.parametrize("expression", LEADING_BACK)
def test_a_derivative_leads_back_into_the_forward_pass(expression: str, tmp_path: Path) -> None:
    source = f"""{_START}
x = torch.rand(8, 2, requires_grad=True)
h = net[0](x)
y = ({expression}).sum()
slope = torch.autograd.grad(y, x, create_graph=True)[0]
curve = torch.autograd.grad(slope.sum(), x, allow_unused=True)[0]
y.backward()
"""
    assert "a second time" in _error(source)
    assert [found.code for found in check_source(source, tmp_path)] != []
