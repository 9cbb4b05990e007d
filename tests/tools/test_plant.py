"""The bench of planted faults: operators find their places, the truth tells faults from what changes nothing."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"
sys.path.insert(0, str(TOOLS))

from plantlab import asking, forking, programs  # noqa: E402
from plantlab.operators import OPERATORS, plant  # noqa: E402

PROGRAM = """\
import torch

net = torch.nn.Linear(3, 1)
other = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
opt_b = torch.optim.SGD(other.parameters(), lr=0.1)
x = torch.randn(4, 3)
for step in range(3):
    state = torch.zeros(4, 1)
    out = net(x) + state
    loss = (out - other(x).detach()).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(loss.item())
    with torch.no_grad():
        other(x)
    opt_b.step()
"""


def planted(operator: str) -> list[str]:
    return [one.text for name, one in plant(PROGRAM) if name == operator]


def test_a_cut_is_dropped():
    (text,) = planted("drop-detach")
    assert text == PROGRAM.replace(".detach()", "")


def test_a_step_moves_before_its_backward():
    texts = planted("step-before-backward")
    assert PROGRAM.replace("    loss.backward()\n    opt.step()\n", "    opt.step()\n    loss.backward()\n") in texts


def test_a_state_is_made_once():
    (text,) = planted("carry-a-state")
    assert "state = torch.zeros(4, 1)\nfor step" in text


def test_two_steps_are_swapped():
    (text,) = planted("swap-steps")
    assert text.index("opt_b.step()") < text.index("opt.step()")


def test_lines_say_where():
    for name, one in plant(PROGRAM):
        lines = one.text.splitlines()
        assert all(1 <= line <= len(lines) + 1 for line in one.lines), name


def test_every_text_is_a_program_and_no_two_are_the_same():
    texts = [one.text for _, one in plant(PROGRAM)]
    assert len(texts) == len(set(texts)) > 12
    assert len(OPERATORS) >= 20


LAWFUL = """\
import torch

net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    x = torch.randn(4, 3)
    loss = net(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the bench forks its runs")
@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("for step in range(3):\n    x = torch.randn(4, 3)", "x = torch.randn(4, 3)\nfor step in range(3):", "data"),
        ("range(3)", "range(0)", "data"),
        ("    opt.zero_grad()\n", "", "otherwise"),
        ("net(x).pow(2)", "(net(x).data * net(x))", "otherwise"),
        ("for", "net = torch.nn.Linear(3, 1)\nfor", "otherwise"),
    ],
    ids=["a batch drawn once", "no step", "never cleared", "cut", "another model"],
)
def test_other_data_is_no_fault_of_graph_or_gradient(tmp_path, old, new, kind):
    (tmp_path / "train.py").write_text(LAWFUL)
    program = programs.Program("lawful", {programs.ENTRY: tmp_path / "train.py"})
    bits, memory = asking.recorded(program, {}), asking.recorded(program, {}, memory=True)
    mutant = asking.Mutant(program, programs.ENTRY, "any", (), LAWFUL.replace(old, new))
    assert asking.kind_of(mutant, asking.Right(bits, memory, None, None)) == (kind, "")


@pytest.mark.skipif(sys.platform != "linux", reason="the bench forks its runs")
def test_a_small_sample(tmp_path):
    words = ["--count", "4", "--jobs", "1", "--build", str(tmp_path), "--cases", str(tmp_path / "none")]
    words += ["--program", "generated-recurrent-function"]
    words += ["--operator", "drop-detach,drop-zero-grad"]
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    line = [sys.executable, str(TOOLS / "plant.py"), *words]
    done = subprocess.run(line, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    asked = [json.loads(line) for line in (tmp_path / "asked.jsonl").read_text().splitlines()]
    assert len(asked) == 4
    found = {(a["operator"], a["kind"]) for a in asked}
    assert ("drop-detach", "raises") in found
    assert ("drop-zero-grad", "otherwise") in found
    for one in asked:
        if one["kind"] == "raises":
            assert one["run"]
            assert one["result"] == "bits", one
    again = subprocess.run(line, capture_output=True, text=True, env=env, check=False)  # nothing is left to ask
    assert len((tmp_path / "asked.jsonl").read_text().splitlines()) == 4
    assert again.returncode == 0


@pytest.mark.skipif(sys.platform != "linux", reason="the bench forks its runs")
def test_a_run_that_uses_the_processor_is_waited_for_and_one_that_stands_still_is_not(tmp_path, monkeypatch):
    monkeypatch.setattr(forking, "BUSY", 0.001)
    looks = iter([3, 4, 5, 5])
    monkeypatch.setattr(forking, "_processor_time", lambda pid: next(looks))
    assert forking.forked(signal.pause, tmp_path, 20) is None
    assert not list(looks), "it was given up after the first look that showed no work"
    monkeypatch.setattr(forking, "_processor_time", lambda pid: time.process_time_ns())
    assert forking.forked(lambda: sum(range(10**7)) and 3, tmp_path, 20) == 3
