"""Fused optimizers do not raise the version counter: torch raises nothing, and the gradients are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.watching import watch_source

START = """
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 4))
opt = torch.optim.AdamW(net.parameters(), lr=0.1, fused={fused})
"""

BETWEEN = """
for step in range({times}):
    out = net(torch.randn(6, 4))
    a, b = out[0].sum(), out[1].pow(2).sum()
    a.backward(retain_graph=True)
    opt.step()
    b.backward()
    opt.zero_grad()
"""


@pytest.mark.parametrize("times", [1, 3])
def test_a_step_of_a_fused_optimizer_between_forward_and_backward(
    times: int, tmp_path: Path, torch_as_it_was: None
) -> None:
    (finding,) = watch_source((START + BETWEEN).format(fused=True, times=times), tmp_path).findings
    assert (finding.code, finding.bridge.name) == ("AFT203", "net[2].weight")
    assert finding.freed.line == 11


def test_the_same_fault_is_an_error_with_another_optimizer(tmp_path: Path, torch_as_it_was: None) -> None:
    (finding,) = watch_source((START + BETWEEN).format(fused=False, times=1), tmp_path).findings
    assert finding.code == "AFT201"


CARRIED = """
state = torch.zeros(2, 4)
for step in range(4):
    state = net(torch.randn(2, 4) + state)
    loss = state.pow(2).mean()
    opt.zero_grad()
    loss.backward({retain})
    opt.step()
"""


def test_what_retaining_would_do_is_told_of_a_fused_optimizer(tmp_path: Path, torch_as_it_was: None) -> None:
    seen = watch_source((START + CARRIED).format(fused=True, retain=""), tmp_path)
    history = seen.session.histories[-1]
    assert [finding.code for finding in seen.findings] == ["AFT103"]
    assert [step.unnoticed for step in history.steps] == [True]
    retained = watch_source((START + CARRIED).format(fused=True, retain="retain_graph=True"), tmp_path, "retained.py")
    assert retained.error is None  # nothing is raised
    assert "AFT203" in {finding.code for finding in retained.findings}


INPUTS = """
critic = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
opt_c = torch.optim.AdamW(critic.parameters(), lr=0.1, fused=True)
for step in range(3):
    fake = net(torch.randn(6, 4))
    for_net, for_critic = -critic(fake).mean(), critic(fake.detach()).mean()
    opt_c.zero_grad()
    for_critic.backward()
    opt_c.step()
    opt.zero_grad()
    for_net.backward(inputs=list(net.parameters()))
    opt.step()
"""


def test_parameters_that_get_no_gradient_from_a_pass_are_needed_by_it_too(
    tmp_path: Path, torch_as_it_was: None
) -> None:
    (finding,) = watch_source((START + INPUTS).format(fused=True), tmp_path).findings
    assert (finding.code, finding.bridge.name, finding.freed.line) == ("AFT203", "critic[2].weight", 15)


FINE = """
for step in range(40):
    opt.zero_grad()
    out = net(torch.randn(6, 4))
    out[0].sum().backward(retain_graph=True)
    out[1].pow(2).sum().backward()
    opt.step()
"""


def test_fused_training_that_is_right_is_left_alone(tmp_path: Path, torch_as_it_was: None) -> None:
    assert watch_source((START + FINE).format(fused=True), tmp_path).findings == []


def test_the_gradients_are_wrong_indeed(tmp_path: Path, torch_as_it_was: None) -> None:
    program = (START + BETWEEN).format(fused=True, times=1) + "wrong = [p.grad for p in net.parameters()]\n"
    compared = program.replace("    opt.zero_grad()\n", "") + (
        "torch.manual_seed(0)\n"
        "net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 4))\n"
        "out = net(torch.randn(6, 4))\n"
        "(out[0].sum() + out[1].pow(2).sum()).backward()\n"
        "off = (wrong[0] - net[0].weight.grad).norm() / net[0].weight.grad.norm()\n"
    )
    assert float(watch_source(compared, tmp_path).names["off"]) > 0.1
