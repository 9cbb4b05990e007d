"""A proven patch trains as the program would have trained: gradients that are edited between two passes stay so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from afterward.model.diagnosis import Report
from afterward.tasks.fix import Fixed, Fixer
from afterward.tasks.law import counts
from afterward.tasks.obligations import Comparison
from afterward.tasks.trial import Request, Trial
from afterward.tasks.trial_runner import TrialRunner

TWO_HEADS = """import torch
torch.manual_seed(0)
enc, ha, hb = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1), torch.nn.Linear(4, 1)
params = [*enc.parameters(), *ha.parameters(), *hb.parameters()]
opt = torch.optim.SGD(params, lr=0.1)
for x in torch.randn(6, 8, 4):
    h = enc(x).tanh()
    {hook}
    la = 50 * ha(h).pow(2).mean()
    lb = (hb(h) - 1).pow(2).mean()
    opt.zero_grad()
    la.backward()
    {between}
    lb.backward()
    opt.step()
"""
CLIPPED = "torch.nn.utils.clip_grad_norm_([p for p in params if p.grad is not None], 0.1)"
EDITED = "[setattr(p, 'grad', p.grad.sign() * 0.01) for p in params if p.grad is not None]"
HOOKED = "h.register_hook(lambda g: g.clamp(-0.01, 0.01))"
ZEROED = "enc.zero_grad()"

MOVED = """import torch
torch.manual_seed(0)
actor, critic = torch.nn.Linear(3, 2), torch.nn.Linear(5, 1)
a_opt = torch.optim.SGD(actor.parameters(), lr=0.05)
c_opt = torch.optim.SGD(critic.parameters(), lr=0.05)
for s in torch.randn(5, 8, 3):
    a_loss = -critic(torch.cat([s, actor(s)], 1)).mean()
    c_loss = (critic(torch.cat([s, s[:, :2]], 1)) - 1).pow(2).mean()
    c_opt.zero_grad()
    c_loss.backward()
    c_opt.step()
    a_opt.zero_grad()
    a_loss.backward()
    a_opt.step()
"""


@pytest.fixture(scope="module")
def runner() -> Iterator[TrialRunner]:
    with TrialRunner() as each:
        yield each


def fixed(runner: TrialRunner, folder: Path, program: str) -> Fixed:
    (folder / "train.py").write_text(program)
    return Fixer(runner, Request("train.py", folder=str(folder))).fix()


@pytest.mark.parametrize(("hook", "between"), [("", CLIPPED), ("", EDITED), (HOOKED, ""), ("", ZEROED)])
def test_losses_are_not_added_where_gradients_change_between_them(
    runner: TrialRunner, tmp_path: Path, hook: str, between: str
) -> None:
    program = TWO_HEADS.format(hook=hook or "pass", between=between or "pass")
    result = fixed(runner, tmp_path, program)
    best = result.options[0][str(tmp_path / "train.py")]
    assert best == program.replace("la.backward()", "la.backward(retain_graph=True)")
    tried = {remedy.kind: remedy.proof for remedy in result.report.findings[0].remedies}
    assert tried["combine_losses"] is None or tried["combine_losses"].status != "proven"


class Stalling(TrialRunner):
    """The first trial of a change does not answer, as one whose threads wait for each other."""

    stalled = False

    def run(self, request: Request, **options: Any) -> Trial:
        if request.patched and not self.stalled:
            self.stalled = True
            return Trial("time", Report((request.target,)))
        return super().run(request, **options)


def test_a_trial_that_stood_still_is_run_once_more(tmp_path: Path) -> None:
    program = TWO_HEADS.format(hook="pass", between="pass")
    with Stalling() as runner:
        result = fixed(runner, tmp_path, program)
    assert runner.stalled
    assert "(la + lb).backward()" in result.options[0][str(tmp_path / "train.py")]


def test_a_loss_that_waits_for_its_step_still_reaches_what_it_reached(runner: TrialRunner, tmp_path: Path) -> None:
    file, program = tmp_path / "train.py", TWO_HEADS.format(hook="pass", between="pass")
    file.write_text(program)
    patched = {str(file): program.replace("ha(h)", "ha(h.detach())").encode()}
    base = runner.run(Request("train.py", folder=str(tmp_path)))
    cut = runner.run(Request("train.py", folder=str(tmp_path), patched=patched))
    assert [note.kind for note in Comparison(base, cut).reach()] == ["not_trained"]
    kept = {str(file): program.replace("la.backward()", "la.backward(retain_graph=True)").encode()}
    right = runner.run(Request("train.py", folder=str(tmp_path), patched=kept))
    assert list(Comparison(base, right).reach()) == []


def test_a_step_is_not_moved_to_where_another_loss_gets_into_it(runner: TrialRunner, tmp_path: Path) -> None:
    result = fixed(runner, tmp_path, MOVED)
    best = result.options[0][str(tmp_path / "train.py")]
    assert best.index("c_opt.step()") < best.index("a_loss = ") < best.index("a_loss.backward()")


def test_what_is_added_to_a_log_in_brackets_becomes_a_number(runner: TrialRunner, tmp_path: Path) -> None:
    program = """import torch
torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.05)
log = []
for x in torch.randn(60, 8, 3):
    loss = (net(x) - x.mean(1, keepdim=True)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    log += [loss]
"""
    result = fixed(runner, tmp_path, program)
    assert "    log += [loss.item()]\n" in result.options[0][str(tmp_path / "train.py")]


REPEATED = """import torch
torch.manual_seed(0)
net, head = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)
opt = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
for x in torch.randn(5, 8, 4):
    loss = head(net(x).tanh()).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize("loss", ["loss", "(-loss.tanh().mean() + 0.1 * net.weight.norm())"])
def test_a_repeated_backward_is_dropped_and_never_becomes_a_loss_counted_twice(
    runner: TrialRunner, tmp_path: Path, loss: str
) -> None:
    """Written out twice, it is two numbers, made alike of the same values."""
    program = REPEATED.replace("loss.backward()", f"{loss}.backward()")
    result = fixed(runner, tmp_path, program)
    once = program.replace(f"    {loss}.backward()\n    {loss}.backward()\n", f"    {loss}.backward()\n")
    assert [option[str(tmp_path / "train.py")] for option in result.options] == [once]
    assert result.report.findings[0].code == "AFT101"


def test_a_step_that_comes_too_early_goes_after_the_clipping_of_its_gradients(
    runner: TrialRunner, tmp_path: Path
) -> None:
    program = """import torch
torch.manual_seed(0)
net = torch.nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
def clip():
    torch.nn.utils.clip_grad_norm_(net.parameters(), 0.01)
for x in torch.randn(5, 8, 4):
    opt.zero_grad()
    loss = net(x).pow(2).mean()
    opt.step()
    loss.backward()
    clip()
"""
    best = fixed(runner, tmp_path, program).options[0][str(tmp_path / "train.py")]
    assert best == program.replace("    opt.step()\n", "").replace("    clip()\n", "    clip()\n    opt.step()\n")


CARRIED = """from dataclasses import dataclass, replace
import torch
torch.manual_seed(0)


@dataclass(frozen=True)
class Belief:
    mean: torch.Tensor
    seen: int


class Filter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gain, self.belief = torch.nn.Linear(3, 3), Belief(torch.zeros(2, 3), 0)

    def predict(self):
        old = self.belief
        return replace(old, mean=torch.tanh(self.gain(old.mean)))

    def forward(self, x):
        prior = self.predict()
        self.belief = Belief(prior.mean + self.gain(x), prior.seen + 1)
        return (x - prior.mean).pow(2).mean()
{method}

model = torch.nn.ModuleList([Filter()])
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for chunk in torch.randn(5, 4, 2, 3):
    loss = torch.stack([model[0](x) for x in chunk]).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("method", "cut"),
    [
        ("", "model[0].belief = Belief(mean=model[0].belief.mean.detach(), seen=model[0].belief.seen)"),
        (
            "\n    def detach(self):\n        self.belief = replace(self.belief, mean=self.belief.mean.detach())\n",
            "model[0].detach()",
        ),
    ],
)
def test_a_state_is_cut_where_the_next_rollout_begins_by_the_names_of_its_loop(
    runner: TrialRunner, tmp_path: Path, method: str, cut: str
) -> None:
    """A cut inside of the rollout, where the state is read, would be another gradient."""
    program = CARRIED.format(method=method)
    best = fixed(runner, tmp_path, program).options[0][str(tmp_path / "train.py")]
    assert best == program.replace("    loss = torch.stack", f"    {cut}\n    loss = torch.stack")


def test_a_factor_that_is_cut_is_no_term_of_a_sum_that_is_lost(runner: TrialRunner, tmp_path: Path) -> None:
    program = """import torch
torch.manual_seed(0)
actor, critic = torch.nn.Linear(3, 1), torch.nn.Linear(3, 1)
a_opt = torch.optim.SGD(actor.parameters(), lr=0.05)
c_opt = torch.optim.SGD(critic.parameters(), lr=0.05)
for s in torch.randn(5, 3):
    advantage = 1.0 - critic(s)
    c_loss = advantage.pow(2).mean()
    c_opt.zero_grad()
    c_loss.backward()
    c_opt.step()
    a_loss = -(actor(s) * advantage).mean()
    a_opt.zero_grad()
    a_loss.backward()
    a_opt.step()
"""
    best = fixed(runner, tmp_path, program).options[0][str(tmp_path / "train.py")]
    assert best == program.replace("actor(s) * advantage)", "actor(s) * advantage.detach())")


def test_what_is_left_of_an_average_over_all_steps_is_no_loss(runner: TrialRunner, tmp_path: Path) -> None:
    """Cut, the average lets the new loss count a tenth from the second step on."""
    program = """import torch
torch.manual_seed(0)
net, average = torch.nn.Linear(3, 1), None
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for x in torch.randn(5, 8, 3):
    loss = net(x).pow(2).mean()
    average = loss if average is None else 0.9 * average + 0.1 * loss
    opt.zero_grad()
    average.backward()
    opt.step()
"""
    result = fixed(runner, tmp_path, program)
    wrong = ("average = average.detach()", "0.9 * average.detach()")
    assert not any(cut in option[str(tmp_path / "train.py")] for option in result.options for cut in wrong)


HEAD = """import copy
import torch
torch.manual_seed(0)
net, head = torch.nn.Linear(3, 2), torch.nn.Linear(2, 1)
target = copy.deepcopy(net)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
kept, signs = [], []
"""
A_PART_TWICE = """for x in torch.randn(5, 8, 3):
    part, rest = net(x).tanh().mean(), net(x).pow(2).mean()
    opt.zero_grad()
    part.backward(retain_graph=True)
    (part + rest).backward()
    opt.step()
"""
TWO_LISTS = """for episode in torch.randn(4, 3, 3):
    for x in episode:
        kept.append(net(x).log_softmax(0)[0])
        signs.append(float(x[0]))
    loss = torch.stack([one * sign for one, sign in zip(kept, signs)]).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
NOT_CLEARED = """opt = torch.optim.LBFGS(net.parameters(), lr=0.1, max_iter=3)
def closure():
    loss = (net(torch.ones(2, 3)) - 1).pow(2).mean()
    loss.backward()
    return loss
for _ in range(4):
    opt.step(closure)
"""
OTHER_MODEL = """opt = torch.optim.SGD(target.parameters(), lr=0.1)
for x in torch.randn(10, 8, 3):
    loss = (net(x) - target(x).detach() - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
NOT_SEEDED = """import random
for _ in range(6):
    loss = (net(torch.randn(8, 3)) * random.random()).pow(2).mean()
    opt.zero_grad()
    loss.backward(retain_graph=True)
    opt.step()
"""
TWO_LOSSES = """class Gan:
    def __init__(self):
        self.g_opt = torch.optim.SGD(net.parameters(), lr=0.1)
        self.d_opt = torch.optim.SGD(head.parameters(), lr=0.1)
    def step(self, x):
        self.d_opt.zero_grad()
        real = (head(x[:, :2]) - 1).pow(2).mean()
        real.backward()
        made = net(x).tanh()
        fake = head(made.detach()).pow(2).mean()
        fake.backward()
        self.d_opt.step()
        self.g_opt.zero_grad()
        (head(made) - 1).pow(2).mean().backward()
        self.d_opt.step()
gan = Gan()
for x in torch.randn(6, 8, 3):
    gan.step(x)
"""
FORGOTTEN = """h_opt = torch.optim.SGD(head.parameters(), lr=0.1)
def reset():
    h_opt.zero_grad()
for x in torch.randn(6, 8, 3):
    (head(net(x)) - 1).pow(2).mean().backward()
    h_opt.step()
    opt.step()
    reset()
    head(net(x).tanh()).pow(2).mean().backward()
    opt.step()
    reset()
"""
FROZEN = """h_opt = torch.optim.SGD(head.parameters(), lr=0.1)
for x in torch.randn(6, 8, 3):
    opt.zero_grad()
    (head(net(x)) - 1).pow(2).mean().backward()
    opt.step()
    net.requires_grad_(False)
    h_opt.zero_grad()
    (head(net(x).tanh()) - 1).pow(2).mean().backward()
    h_opt.step()
"""
FLAT = """def penalty(x):
    x = x.requires_grad_(True)
    slope = torch.autograd.grad(net(x).sum(), x, create_graph=False, retain_graph=True)[0]
    slope = slope.view(slope.size(0), -1)
    return ((slope.norm(2, dim=1) - 1) ** 2).mean()
for x in torch.randn(6, 8, 3):
    extra = penalty(net(x).data.mean() + x.data)
    loss = net(x).tanh().mean() + 10 * extra
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
TWICE = """for x in torch.randn(6, 8, 3):
    loss = net(x).pow(2)
    opt.zero_grad()
    loss.mean().backward(retain_graph=True)
    loss.mean().backward()
    opt.step()
"""
EVALUATED = """def evaluate():
    for x in torch.randn(10, 8, 3):
        out = net(x).tanh().pow(2).exp().sqrt().log1p().sigmoid()
        print(out.mean().item())
for x in torch.randn(6, 8, 3):
    opt.zero_grad()
    net(x).pow(2).mean().backward()
    opt.step()
evaluate()
"""
FROZEN_FOR_TWO = """h_opt = torch.optim.SGD(head.parameters(), lr=0.1)
for x in torch.randn(6, 8, 3):
    opt.zero_grad()
    (head(net(x)) - 1).pow(2).mean().backward()
    opt.step()
    net.requires_grad_(False)
    h_opt.zero_grad()
    (head(net(x).tanh()) - 1).pow(2).mean().backward()
    h_opt.step()
    opt.zero_grad()
    head(net(x).tanh()).pow(2).mean().backward()
    opt.step()
"""
SMOOTHED = """for x in torch.randn(6, 8, 3):
    loss = torch.nn.functional.cross_entropy(net(x), (x[:, 0] > 0).long(), label_smoothing=0.1)
    loss.backward()
    opt.step()
"""
WRONG_STEP = """class Agent:
    def __init__(self):
        self.a_opt = torch.optim.SGD(head.parameters(), lr=0.1)
        self.c_opt = torch.optim.SGD(net.parameters(), lr=0.1)
    def update(self, x):
        self.c_opt.zero_grad()
        net(x).pow(2).mean().backward()
        self.a_opt.step()
        self.a_opt.zero_grad()
        head(net(x).tanh()).mean().backward()
        self.a_opt.step()
agent = Agent()
for x in torch.randn(6, 8, 3):
    agent.update(x)
"""


@pytest.mark.parametrize(
    ("program", "old", "new"),
    [
        (
            WRONG_STEP,
            "        self.a_opt.step()\n        self.a_opt.z",
            "        self.c_opt.step()\n        self.a_opt.z",
        ),
        (A_PART_TWICE, "    part.backward(retain_graph=True)\n", ""),  # to drop the sum would lose the rest
        (TWO_LISTS, "    loss.backward()\n", "    loss.backward()\n    kept.clear()\n    signs.clear()\n"),
        (NOT_CLEARED, "    loss.backward()\n", "    opt.zero_grad()\n    loss.backward()\n"),
        (OTHER_MODEL, "SGD(target.", "SGD(net."),
        (FROZEN, "3):\n    opt", "3):\n    net.requires_grad_(True)\n    opt"),
        (FORGOTTEN, "    h_opt.zero_grad()\n", "    h_opt.zero_grad()\n    opt.zero_grad()\n"),
        (FROZEN_FOR_TWO, "    net.requires_grad_(False)\n", ""),  # thawed at the start, the second step finds nothing
        (NOT_SEEDED, "retain_graph=True", ""),  # another run draws other numbers
        (TWO_LOSSES, "backward()\n        self.d_opt.step()\ngan", "backward()\n        self.g_opt.step()\ngan"),
        (FLAT, "create_graph=False", "create_graph=True"),
        (TWICE, "    loss.mean().backward(retain_graph=True)\n", ""),
        (EVALUATED, "        out =", "        with torch.no_grad():\n            out ="),
        (SMOOTHED, "    loss.backward()\n", "    opt.zero_grad()\n    loss.backward()\n"),
    ],
    ids=[
        "wrong step",
        "a part twice",
        "two lists",
        "closure",
        "other model",
        "frozen",
        "forgotten",
        "frozen for two",
        "not seeded",
        "two losses",
        "flat",
        "twice",
        "evaluated",
        "smoothed",
    ],
)
def test_the_change_that_trains_as_the_right_program(
    runner: TrialRunner, tmp_path: Path, program: str, old: str, new: str
) -> None:
    options = fixed(runner, tmp_path, HEAD + program).options
    assert [option[str(tmp_path / "train.py")] for option in options[:1]] == [HEAD + program.replace(old, new)]


EITHER = """opt_h = torch.optim.SGD(head.parameters(), lr=0.1)
def reset():
    net.zero_grad()
    head.zero_grad()
for x in torch.randn(6, 8, 3):
    (head(net(x).tanh()) - 1).pow(2).mean().backward()
    opt.step()
    reset()
    (head(net(x)) + 1).pow(2).mean().backward()
    opt.step()
    reset()
"""


def test_for_which_of_two_optimizers_a_loss_is_may_not_be_known(runner: TrialRunner, tmp_path: Path) -> None:
    assert fixed(runner, tmp_path, HEAD + EITHER).options == []


CUT_TERM = """for x in torch.randn(20, 8, 3):
    part = net(x).tanh().pow(2).exp().mean().detach()
    opt.zero_grad()
    (net(x).pow(2).mean() + part).backward()
    opt.step()
"""


def test_what_may_be_a_part_of_the_loss_is_not_put_under_no_grad(runner: TrialRunner, tmp_path: Path) -> None:
    result = fixed(runner, tmp_path, HEAD + CUT_TERM)
    assert [found.code for found in result.report.findings] == ["AFT305"]
    assert result.options == []


CLIMBED = """import torch
torch.manual_seed(0)
net, x = torch.nn.Linear(4, 1), torch.randn(6, 4)
edges, weight = torch.rand(6, 6), torch.ones(6, 6, requires_grad=True)
mixed = (edges * weight).cumsum(1)
for _ in range(5):
    grad, = torch.autograd.grad((mixed @ net(x)).pow(2).mean(), weight)
    with torch.no_grad():
        weight += 0.1 * grad.sign()
"""


def test_a_kept_graph_is_not_of_an_input_as_it_was_before_it_changed(runner: TrialRunner, tmp_path: Path) -> None:
    result = fixed(runner, tmp_path, CLIMBED)
    tried = {remedy.kind: remedy.proof for remedy in result.report.findings[0].remedies}
    kept = tried["retain_graph"]
    assert kept is not None
    assert (kept.status, [note.kind for note in kept.notes]) == ("failed", ["stale"])
    assert [fact.many for fact in kept.notes[0].facts] == [("weight",)]
    line = "mixed = (edges * weight).cumsum(1)\n"
    right = CLIMBED.replace(line, "").replace("range(5):\n", f"range(5):\n    {line}")
    assert result.options[0][str(tmp_path / "train.py")] == right


QUANTISED = """code, down, up = torch.nn.Embedding(5, 2), torch.nn.Linear(3, 2), torch.nn.Linear(2, 3)
opt = torch.optim.SGD([*code.parameters(), *down.parameters(), *up.parameters()], lr=0.1)
def quantised(z):
    q = code(torch.cdist(z, code.weight).argmin(1))
    kept = (q.detach() - z.detach()).pow(2).mean() + 0.25 * (z - q.detach()).pow(2).mean()
    return z + (q - z).detach(), kept
for x in torch.randn(20, 8, 3):
    q, kept = quantised(down(x))
    loss = (up(q) - x).pow(2).mean() + kept
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


def test_what_is_trained_keeps_its_gradient_where_a_cut_goes(runner: TrialRunner, tmp_path: Path) -> None:
    """Without the cut of the straight-through estimate the encoder would lose the gradient of the outer loss."""
    result = fixed(runner, tmp_path, HEAD + QUANTISED)
    right = (HEAD + QUANTISED).replace("(q.detach() - z.detach())", "(q - z.detach())")
    assert result.options[0][str(tmp_path / "train.py")] == right
    remedy = result.report.findings[0].remedies[0]
    line = right[: right.index("kept =")].count("\n") + 1
    assert [site.line for fact in remedy.facts if fact.name == "lines" for site in fact.sites] == [line]


SHARPNESS = """opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(4, 8, 3):
    out = net(x).tanh()
    (out - 1).pow(2).mean().backward()
    with torch.no_grad():
        moved = [0.05 * p.grad for p in net.parameters()]
        for p, e in zip(net.parameters(), moved):
            p.add_(e)
    opt.zero_grad()
    (out - 1).pow(2).mean().backward()
    with torch.no_grad():
        for p, e in zip(net.parameters(), moved):
            p.sub_(e)
    opt.step()
    opt.zero_grad()
"""


def test_a_backward_after_parameters_were_moved_and_gradients_cleared_is_no_repeated_one(
    runner: TrialRunner, tmp_path: Path
) -> None:
    """It asks for the gradient at the new place: without it, the step would use what the program has cleared."""
    result = fixed(runner, tmp_path, HEAD + SHARPNESS)
    texts = [option[str(tmp_path / "train.py")] for option in result.options]
    assert texts
    assert all("    opt.zero_grad()\n" in text and text.count(".backward()") == 2 for text in texts)


TWO_CRITICS = """import torch
torch.manual_seed(0)
gen, a, b = torch.nn.Linear(2, 3), torch.nn.Linear(3, 1), torch.nn.Linear(3, 1)
opt_gen = torch.optim.Adam(gen.parameters(), lr=0.01)
opt_a = torch.optim.Adam(a.parameters(), lr=0.01)
opt_b = torch.optim.Adam(b.parameters(), lr=0.01)
def critic_step(critic, opt, real, fake):
    opt.zero_grad()
    loss = (critic(real) - 1).pow(2).mean() + critic(fake).pow(2).mean()
    loss.backward()
    opt.step()
for z in torch.randn(8, 6, 2):
    opt_gen.zero_grad()
    fake = gen(z)
    loss_gen = (a(fake) - 1).pow(2).mean() + (b(fake) - 1).pow(2).mean()
    loss_gen.backward()
    opt_a.step()
    critic_step(a, opt_a, z[:, [0, 1, 0]], fake.detach())
    critic_step(b, opt_b, z[:, [1, 0, 1]], fake.detach())
"""


def test_one_function_may_compute_the_losses_of_several_optimizers(runner: TrialRunner, tmp_path: Path) -> None:
    """The step of the wrong one uses a loss that is known to be another's, so it need not be kept."""
    result = fixed(runner, tmp_path, TWO_CRITICS)
    right = TWO_CRITICS.replace("    opt_a.step()\n", "    opt_gen.step()\n", 1)
    assert result.options[0][str(tmp_path / "train.py")] == right


PROBED = """import copy
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
net[0] = copy.deepcopy(net[0])
x = torch.randn(8, 3)
for epoch in range(4):
    opt.zero_grad()
    net(x).pow(2).mean().backward()
    opt.step()
    probe = torch.nn.Linear(2, 1)
    probe_opt = torch.optim.SGD(probe.parameters(), lr=0.1)
    for _ in range(2):
        probe_opt.zero_grad()
        (probe(net(x).detach()) - 1).pow(2).mean().backward()
        probe_opt.step()
"""


def test_what_an_optimizer_holds_does_not_change_the_numbers_of_others(runner: TrialRunner, tmp_path: Path) -> None:
    result = fixed(runner, tmp_path, PROBED)
    best = result.options[0][str(tmp_path / "train.py")]
    assert best.index("net[0] = copy") < best.index("opt = torch.optim")


SCHEDULED = """import torch
torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
opt = torch.optim.Adam(net.parameters(), lr=0.1)
schedule = torch.optim.lr_scheduler.MultiStepLR(opt, milestones=[4, 8], gamma=0.1)
for x in torch.randn(12, 8, 3):
    opt.zero_grad()
    opt.step()
    loss = (net(x) - 1).pow(2).mean()
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(net.parameters(), 0.1)
    schedule.step()
"""


def test_a_step_does_not_change_places_with_that_of_a_schedule(runner: TrialRunner, tmp_path: Path) -> None:
    result = fixed(runner, tmp_path, SCHEDULED)
    right = SCHEDULED.replace("    opt.step()\n", "").replace("    schedule.", "    opt.step()\n    schedule.")
    assert result.options[0][str(tmp_path / "train.py")] == right


FROZEN = """import torch
torch.manual_seed(0)
body, head = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
body.requires_grad_(False)
opt = torch.optim.SGD(head.parameters(), lr=0.1)
for x in torch.randn(6, 8, 3):
    opt.zero_grad()
    (head(body(x)) - 1).pow(2).mean().backward()
    opt.step()
    head.requires_grad_(False)
body.requires_grad_(True)
every = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
for x in torch.randn(6, 8, 3):
    every.zero_grad()
    (head(body(x)) - 1).pow(2).mean().backward()
    every.step()
"""


def test_what_is_frozen_where_an_iteration_ends_is_not_frozen(runner: TrialRunner, tmp_path: Path) -> None:
    """Thawed where the next one begins, it would stay frozen after the loop."""
    result = fixed(runner, tmp_path, FROZEN)
    assert result.options[0][str(tmp_path / "train.py")] == FROZEN.replace("    head.requires_grad_(False)\n", "")


WRONG_ONE = """import torch
torch.manual_seed(0)
gen, trunk, score = torch.nn.Linear(2, 3), torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
opt_d = torch.optim.Adam([*trunk.parameters(), *score.parameters()], lr=0.01)
opt_g = torch.optim.Adam(gen.parameters(), lr=0.01)
def d_step(real, fake):
    opt_d.zero_grad()
    loss_d = (score(trunk(real)) - 1).pow(2).mean() + score(trunk(fake)).pow(2).mean()
    loss_d.backward()
    opt_g.step()
def g_step(z):
    opt_g.zero_grad()
    loss_g = (score(trunk(gen(z))) - 1).pow(2).mean()
    loss_g.backward()
    opt_g.step()
for z in torch.randn(8, 6, 2):
    d_step(z[:, [0, 1, 0]], gen(z).detach())
    g_step(z)
"""


def test_the_pass_that_is_for_an_optimizer_follows_its_clear(runner: TrialRunner, tmp_path: Path) -> None:
    """Another network's loss reaches what it holds, too, and comes last."""
    result = fixed(runner, tmp_path, WRONG_ONE)
    right = WRONG_ONE.replace("loss_d.backward()\n    opt_g", "loss_d.backward()\n    opt_d")
    assert result.options[0][str(tmp_path / "train.py")] == right


STEPPED_EARLY = """import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
opt = torch.optim.Adam(net.parameters(), lr=0.1)
for x in torch.randn(12, 8, 3):
    opt.zero_grad()
    loss = (net(x) - 1).pow(2).mean()
    opt.step()
    loss.backward()
"""


def test_a_cure_in_two_parts_is_held_against_the_fault_that_it_began_with(runner: TrialRunner, tmp_path: Path) -> None:
    """With the clear moved alone the step would fail, and a step that finds nothing at first would cure that."""
    result = fixed(runner, tmp_path, STEPPED_EARLY)
    moved = "    loss.backward()\n    opt.step()\n"
    assert result.options[0][str(tmp_path / "train.py")].endswith(moved)


KEPT_ROUNDS = """import torch
torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.05)
def train():
    total = 0.0
    for x in torch.randn(6, 8, 3):
        loss = (net(x) - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss
    return total / 6
log = [0.0]
for epoch in range(8):
    log.append(train())
"""


def test_no_call_is_written_twice(runner: TrialRunner, tmp_path: Path) -> None:
    for text in fixed(runner, tmp_path, KEPT_ROUNDS).options[:1]:
        assert text[str(tmp_path / "train.py")].count("train()") == 2


THAWED = """import torch
torch.manual_seed(0)
body, head = torch.nn.Linear(3, 4), torch.nn.Linear(4, 2)
first = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
for x in torch.randn(4, 8, 3):
    loss = head(body(x)).pow(2).mean()
    first.zero_grad()
    loss.backward()
    first.step()
    body.requires_grad_(False)


def fine_tune():
    second = torch.optim.SGD(body.parameters(), lr=0.1)
    for x in torch.randn(4, 8, 3):
        loss = (body(x) - 1).pow(2).mean()
        second.zero_grad()
        loss.backward()
        second.step()


fine_tune()
"""


def test_what_one_optimizer_held_frozen_is_not_thawed_for_another(runner: TrialRunner, tmp_path: Path) -> None:
    assert not fixed(runner, tmp_path, THAWED).proven


TWO_PHASES = """import torch
torch.manual_seed(0)
student, head = torch.nn.Linear(3, 4), torch.nn.Linear(4, 2)


def first():
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    for x in torch.randn(4, 8, 3):
        loss = student(x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def second():
    opt = torch.optim.SGD([*student.parameters(), *head.parameters()], lr=0.1)
    for x in torch.randn(6, 8, 3):
        loss = (head(student(x)) - 1).pow(2).mean()
        opt.zero_grad()
        opt.step()
        loss.backward()


first()
second()
"""


def test_no_optimizer_is_left_without_a_step(runner: TrialRunner, tmp_path: Path) -> None:
    first = runner.run(Request(_written(tmp_path, TWO_PHASES), folder=str(tmp_path)))
    without = TWO_PHASES.replace("        opt.step()\n        loss.backward()\n", "        loss.backward()\n")
    trial = runner.run(Request(_written(tmp_path, without), folder=str(tmp_path)))
    assert [note.kind for note in counts(Comparison(first, trial))] == ["updates_gone"]


def _written(folder: Path, program: str) -> str:
    (folder / "train.py").write_text(program)
    return "train.py"
