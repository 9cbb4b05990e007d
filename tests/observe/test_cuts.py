"""Cuts: all those that lie one behind the other are named, and so is a cut that did nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.watching import watch_source

from afterward.render.wording import said

IN_A_ROW = {  # source, and the lines of the cuts: the first one is where the history was lost
    "data, then item": (
        "net = torch.nn.Linear(4, 1)\nz = net(torch.ones(2, 4))\na = z.data.sum()\n"
        "loss = (a.item() - torch.zeros(1)).square()\nloss.backward()",
        [3, 4],
    ),
    "no_grad, then detach": (
        "net = torch.nn.Linear(4, 1)\ndef predict(x):\n    with torch.no_grad():\n        return net(x)\n"
        "p = predict(torch.ones(2, 4)).detach()\nloss = (p - 1).pow(2).mean()\nloss.backward()",
        [3, 5],
    ),
    "a comprehension of numbers, then tensor": (
        "net = torch.nn.Linear(4, 1)\nlosses = [v.item() for v in net(torch.ones(2, 4))]\n"
        "loss = torch.tensor(losses).mean()\nloss.backward()",
        [3, 2],
    ),
    "a cut before something that is trained": (
        "net, head = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)\nz = net(torch.ones(2, 4)).detach()\n"
        "y = head(z)\nloss = y.data.mean()\nloss.backward()",
        [4],
    ),
    "a closure that is called where gradients are off": (
        "net = torch.nn.Linear(4, 1)\ndef closure():\n    loss = net(torch.ones(2, 4)).mean()\n    loss.backward()\n"
        "@torch.no_grad()\ndef step():\n    closure()\nstep()",
        [5],
    ),
    "a checkpoint of a frozen input": (
        "from torch.utils.checkpoint import checkpoint\nnet = torch.nn.Linear(4, 1)\nemb = torch.nn.Embedding(3, 4)\n"
        "emb.requires_grad_(False)\nh = checkpoint(net, emb(torch.tensor([0])), use_reentrant=True)\n"
        "h.sum().backward()",
        [5],
    ),
    "a derivative that has no graph, of which a number is taken": (
        "net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh())\ndef second(loss):\n"
        "    grads = torch.autograd.grad(loss, list(net.parameters()))\n"
        "    flat = torch.cat([g.flatten() for g in grads])\n"
        "    return torch.autograd.grad(flat.sum(), list(net.parameters()))\n"
        "print(second(net(torch.ones(2, 4)).sum())[0].norm().item())",
        [3],
    ),
    "a critic that stays frozen, beside a rightly detached fake": (
        "gen, critic = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)\nopt = torch.optim.SGD(critic.parameters(), 0.1)\n"
        "def switch(net, on):\n    for p in net.parameters():\n        p.requires_grad_(on)\n"
        "switch(critic, False)\nswitch(gen, True)\nfake = gen(torch.ones(2, 4)).detach()\nloss = critic(fake).mean()\n"
        "loss.backward()\nopt.step()",
        [5],
    ),
    "a frozen network beside the one that is stepped": (
        "gen, critic = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)\nopt = torch.optim.SGD(critic.parameters(), 0.1)\n"
        "gen.requires_grad_(False)\nloss = critic(gen(torch.ones(2, 4))).mean().detach()\nloss.backward()\nopt.step()",
        [4],
    ),
    "a target that is rightly detached": (
        "net = torch.nn.Linear(4, 1)\ntarget = net(torch.ones(2, 4)).detach()\np = net(torch.ones(2, 4)).detach()\n"
        "loss = (p - target).square().mean()\nloss.backward()",
        [3],
    ),
}


@pytest.mark.parametrize("how", IN_A_ROW)
def test_cuts_that_lie_in_a_row_are_all_named(tmp_path: Path, how: str) -> None:
    source, lines = IN_A_ROW[how]
    (found,) = watch_source(source, tmp_path).findings
    assert found.code == "AFT401"
    assert [label.site.line for label in found.secondary] == lines
    assert [note.kind for note in found.notes] == ["more_cuts"] * (len(lines) > 1)


CARRIED = """
rnn = torch.nn.LSTM(4, 8)
{before}
hidden = (torch.zeros(1, 1, 8), torch.zeros(1, 1, 8))
for x in torch.randn(3, 5, 1, 4):
    {iteration}
    out, hidden = rnn(x, hidden)
    out.sum().backward()
"""
FOR_NOBODY = {
    "a function's result": (
        "def repackage(h):\n    return h.detach() if torch.is_tensor(h) else tuple(map(repackage, h))",
        "repackage(hidden)",
        "`repackage(hidden)` on line 7",
    ),
    "each part": ("", "for h in hidden: h.detach()", "`h.detach()` on line 6"),
    "a loop's own name": ("", "for h in hidden: h = h.detach()", "`h.detach()` on line 6"),
    "something else": ("", "print(x.detach().sum(), hidden[0].detach().norm())", None),
    "nothing": ("", "pass", None),
}


@pytest.mark.parametrize("how", FOR_NOBODY)
def test_a_cut_that_nobody_keeps_is_mentioned(tmp_path: Path, how: str) -> None:
    before, iteration, expected = FOR_NOBODY[how]
    (found,) = watch_source(CARRIED.format(before=before, iteration=iteration), tmp_path).findings
    assert found.code == "AFT103"
    mentioned = [said(found).notes[n] for n, note in enumerate(found.notes) if note.kind == "lost_cut"]
    assert len(mentioned) == (expected is not None)
    if expected is not None:
        assert mentioned[0].startswith(expected)


BESIDE = """
encoder, head = torch.nn.Linear(4, 4), torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], 0.1)

def step(x, y):
    h = torch.tensor(encoder(x).tolist())
    loss = torch.nn.functional.cross_entropy(head(h), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()

values = [step(torch.randn(8, 4), torch.randint(0, 2, (8,))) for _ in range(6)]
"""


DRAWN = """
encoder, decoder = torch.nn.Linear(6, 4), torch.nn.Linear(2, 6)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], 1e-3)
for x in torch.rand(6, 8, 6):
    mean, log = encoder(x).chunk(2, 1)
    code = torch.distributions.Normal(mean, log.exp()).{draw}()
    loss = (decoder(code) - x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_a_code_that_is_drawn_without_a_graph_leaves_its_encoder_untrained(tmp_path: Path) -> None:
    (found,) = watch_source(DRAWN.format(draw="sample"), tmp_path).findings
    assert (found.code, found.cut and found.cut.line) == ("AFT404", 6)
    assert found.remedies[0].form.startswith("sample")
    assert watch_source(DRAWN.format(draw="rsample"), tmp_path).findings == []


@pytest.mark.parametrize("drawn", ["random.sample(kept, 2)", "Bag(kept).sample()"])
def test_what_the_program_draws_itself_is_not_cut_there(tmp_path: Path, drawn: str) -> None:
    text = (
        "import random\nclass Bag:\n    def __init__(self, all):\n        self.all = all\n    def sample(self):\n"
        "        return self.all[:2]\nnet = torch.nn.Linear(4, 1)\n"
        "kept = [net(torch.ones(2, 4)).sum() for _ in range(3)]\n"
        f"some = {drawn}\nloss = torch.tensor([one.item() for one in some]).mean()\nloss.backward()"
    )
    (found,) = watch_source(text, tmp_path).findings
    assert found.code == "AFT401"
    assert not any("sample" in label.text for label in (said(found).primary, *said(found).secondary))


def test_what_a_function_gives_back_is_no_argument_of_it(tmp_path: Path) -> None:
    (found,) = watch_source(BESIDE, tmp_path).findings
    assert (found.code, found.cut and found.cut.line) == ("AFT404", 6)


@pytest.mark.parametrize(("again", "code"), [("-loss", "AFT102"), ("loss.sqrt()", "AFT102"), ("2 * loss", "AFT101")])
def test_another_loss_of_the_same_value_is_not_that_loss(tmp_path: Path, again: str, code: str) -> None:
    text = (
        f"net = torch.nn.Linear(4, 1)\nloss = net(torch.ones(2, 4)).exp().mean()\nloss.backward()\n({again}).backward()"
    )
    (found,) = watch_source(text, tmp_path).findings
    assert found.code == code


OF_WHAT_WAS_GIVEN = {
    "an argument that the caller computed": (
        "class Unit(torch.nn.Module):\n    def forward(self, x):\n        return x.data / 2\n\n\n"
        "class Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.body, self.unit = torch.nn.Linear(3, 2), Unit()\n\n    def forward(self, x):\n"
        "        return self.unit(self.body(x))\n\n\nlabels = torch.arange(4) % 2\n"
        "loss = (torch.cdist(*[Net()(torch.ones(4, 3))] * 2) * (labels == labels[:, None])).mean()\nloss.backward()",
        ".data",
    ),
    "each of the values that a method was given": (
        "rows = []\n\n\ndef add(**row):\n    rows.append({name: value.detach() for name, value in row.items()})\n\n\n"
        "net = torch.nn.Linear(3, 2)\ndist = torch.distributions.Categorical(logits=net(torch.ones(3)))\n"
        "action = dist.sample()\nadd(action=action, log_prob=dist.log_prob(action))\n"
        "loss = torch.stack([row['log_prob'] for row in rows]).mean()\nloss.backward()",
        ".detach()",
    ),
}


@pytest.mark.parametrize("what", OF_WHAT_WAS_GIVEN)
def test_the_cut_is_the_nearest_one_of_something_with_history(tmp_path: Path, what: str) -> None:
    source, how = OF_WHAT_WAS_GIVEN[what]
    (found,) = watch_source(source, tmp_path).findings
    assert found.code == "AFT401"
    assert {fact.name: fact.text for fact in found.facts}["cut"] == how
