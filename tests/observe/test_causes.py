"""Causes that are easily taken for one another."""

from __future__ import annotations

from pathlib import Path

from tests.watching import watch_source

from afterward.render.wording import said

MEMORY = """
critic = torch.nn.Linear(4, 1)
encode = torch.nn.Linear(4, 4)
memory = torch.zeros(2, 4)
for step in range(3):
    memory = 0.9 * memory + 0.1 * encode(torch.randn(2, 4))
    loss = critic(memory).mean()
    loss.backward()
"""


def test_what_goes_through_a_layer_is_no_summand_of_the_loss(tmp_path: Path, torch_as_it_was: None) -> None:
    """A layer's own operation is called Addmm, and is no addition."""
    (finding,) = watch_source(MEMORY, tmp_path).findings
    assert (finding.code, finding.bridge.name) == ("AFT103", "memory")


def test_what_is_only_added_up_is(tmp_path: Path, torch_as_it_was: None) -> None:
    summed = MEMORY.replace("critic(memory).mean()", "memory.mean() * 0.5")
    (finding,) = watch_source(summed, tmp_path).findings
    assert finding.code == "AFT106"


EVERY_SECOND = """
net = torch.nn.Linear(4, 4)
mean = torch.zeros(4)
for step in range(4):
    if step % 2 == 0:
        mean = torch.tanh(mean + net(torch.randn(4)))
        mean.sum().backward()
    else:
        net(torch.randn(4)).sum().backward()
"""


def test_a_state_may_be_renewed_every_second_step(tmp_path: Path, torch_as_it_was: None) -> None:
    (finding,) = watch_source(EVERY_SECOND, tmp_path).findings
    assert (finding.code, finding.bridge.name, finding.remedies[0].kind) == ("AFT103", "mean", "detach_state")


IN_A_CALLBACK = """
class Trainer:
    callbacks = [lambda trainer: trainer.kept.square().sum().backward()]

net, trainer = torch.nn.Linear(4, 1), Trainer()
for step in range(2):
    trainer.kept = net(torch.randn(3, 4)).exp()
    trainer.kept.mean().backward()
    for callback in trainer.callbacks:
        callback(trainer)
"""


def test_a_loop_that_holds_one_of_two_passes_is_not_why(tmp_path: Path, torch_as_it_was: None) -> None:
    (finding,) = watch_source(IN_A_CALLBACK, tmp_path).findings
    assert (finding.code, finding.remedies[0].kind) == ("AFT102", "combine_losses")


ACTED = """
policy, critic, alpha = torch.nn.Linear(4, 2), torch.nn.Linear(2, 1), torch.zeros(1, requires_grad=True)
opts = [torch.optim.SGD(p, 0.1) for p in (policy.parameters(), critic.parameters(), [alpha])]
act = torch.tanh(policy(torch.randn(3, 4)))
(-critic(act)).mean().backward()
opts[0].step()
(alpha * act).mean().backward()
"""


def test_what_a_pass_only_goes_through_is_not_its_own(tmp_path: Path, torch_as_it_was: None) -> None:
    """The critic judges the action; nobody steps it by this loss. So the action is data to the second one."""
    (finding,) = watch_source(ACTED, tmp_path).findings
    assert (finding.code, finding.remedies[0].kind) == ("AFT105", "detach_input")


UNROLLED = """
learner, theta, total = torch.nn.Linear(3, 3), torch.ones(3), 0.0
opt = torch.optim.SGD(learner.parameters(), 0.1)
for step in range(1, 7):
    theta = theta + torch.tanh(learner(theta))
    total = total + theta.square().mean()
    if step % 2 == 0:
        opt.zero_grad()
        total.backward()
        opt.step()
        total = 0.0
"""


def test_iterations_of_one_update_belong_together(tmp_path: Path, torch_as_it_was: None) -> None:
    """The sum goes over two turns and begins anew; what comes from the update before is the state."""
    (finding,) = watch_source(UNROLLED, tmp_path).findings
    assert (finding.code, finding.bridge.name) == ("AFT103", "theta")


def test_a_pass_over_several_losses_of_which_one_was_used(tmp_path: Path, torch_as_it_was: None) -> None:
    source = """
net = torch.nn.Linear(3, 2)
first, second = net(torch.ones(3)).exp()
first.backward()
torch.autograd.backward([first, second])
"""
    (finding,) = watch_source(source, tmp_path).findings
    assert finding.code in ("AFT101", "AFT102")
    assert finding.remedies[0].form != "later"


def test_what_has_no_name_is_not_called_by_the_name_of_the_loss(tmp_path: Path, torch_as_it_was: None) -> None:
    source = """
weight = torch.ones(3, requires_grad=True)
give = iter([weight.exp()] * 2).__next__
opt = torch.optim.SGD([weight], 0.1)
for x in torch.randn(2, 3):
    loss = (give() * x).sum()
    loss.backward()
    opt.step()
"""
    (finding,) = watch_source(source, tmp_path).findings
    assert finding.code == "AFT104"
    assert "`loss` is computed once" not in said(finding).why


def test_two_passes_that_both_train_the_shared_part(tmp_path: Path, torch_as_it_was: None) -> None:
    """The first loss steps the encoder, and the second is to step the decoder: nothing is data here."""
    source = """
encoder, decoder, judge = torch.nn.Linear(4, 2), torch.nn.Linear(2, 4), torch.nn.Linear(4, 1)
first, second = (torch.optim.SGD(one.parameters(), 0.1) for one in (encoder, decoder))
for x in torch.randn(3, 6, 4):
    again = decoder(encoder(x))
    rest = (x - again).pow(2).mean()
    first.zero_grad(); rest.backward(); first.step()
    loss = judge(again).mean() + rest
    second.zero_grad(); loss.backward(); second.step()
"""
    (finding,) = watch_source(source, tmp_path).findings
    assert (finding.code, finding.remedies[0].kind) == ("AFT102", "recompute_forward")
