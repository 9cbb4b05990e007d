"""Causes that are easily taken for one another."""

from __future__ import annotations

from pathlib import Path

from tests.watching import watch_source

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
