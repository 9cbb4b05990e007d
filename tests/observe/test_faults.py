"""Each hook and each step of the post-mortem raises in turn: the program goes on, and one line names the gap."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from afterward.observe.failure import postmortem
from afterward.observe.marks import marking
from afterward.observe.marks.importing import imports_marked, marked_code
from afterward.observe.recording import engine, looks, recorder, session
from afterward.observe.silent import survey, updates
from afterward.tasks.run import Watched

PROGRAM = """\
import threading
torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
values = []
def plain(n):
    total = 0
    for i in range(n):
        total += i % 3
    return total
def late(n):
    if n == 2999:
        return net(torch.ones(1, 3)).sum().item()
    return n
values.append(plain(9000))
for n in range(3000):
    got = late(n)
values.append(got)
other = threading.Thread(target=plain, args=(40,))
other.start()
other.join()
for step in range(10):
    optimizer.zero_grad()
    loss = net(torch.randn(4, 3)).pow(2).mean()
    loss.backward()
    optimizer.step()
    values.append(loss.item())
try:
    loss.backward()
except RuntimeError as error:
    values.append(str(error)[:30])
values.append(torch.rand(1).item())
"""

FAULTS: dict[str, tuple[Any, str]] = {
    "torch is hooked": (engine, "passes_announced"),
    "a pass is noted": (looks.Looks, "_pass_begins"),
    "a pass is looked at": (looks.Looks, "_look"),
    "a graph is walked": (looks, "look"),
    "an optimizer's step is looked at": (updates.Updates, "stepped"),
    "everything is looked at": (survey.Surveyor, "look"),
    "the tape is emptied": (recorder.Recorder, "take_off"),
    "a mark in another thread": (recorder.Recorders, "mark_elsewhere"),
    "running calls are located": (marking, "_position"),
    "the post-mortem": (postmortem, "examine"),
    "names are searched": (postmortem, "search"),
    "the failing graph is walked": (postmortem, "graph_behind"),
    "the nodes are read": (postmortem.Autopsy, "history"),
    "the finding is made": (Watched, "broken"),
    "the run is looked back on": (survey.Surveyor, "history"),
}


def _run(folder: Path) -> tuple[dict[str, Any], session.Session]:
    watch = session.Session()
    watched = Watched(watch)
    watch.on_broken, watch.on_again = watched.broken, watched.broken_again
    space: dict[str, Any] = {"torch": torch, "__name__": "program"}
    statements = watch.recorders.statements
    with imports_marked(statements, watch.gap, watch.imported):
        watch.start()
        try:
            exec(marked_code(PROGRAM.encode(), str(folder / "program.py"), statements, watch.gap), space)
            watched.look_back()
        finally:
            watch.stop()
    return space, watch


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_ours_is_a_gap(
    fault: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    torch_as_it_was: None,
) -> None:
    plain: dict[str, Any] = {"torch": torch}
    exec(PROGRAM, plain)
    owner, name = FAULTS[fault]
    monkeypatch.setattr(owner, name, _fails(fault))
    space, watch = _run(tmp_path)
    assert space["values"] == plain["values"]
    shown = [line for line in capfd.readouterr().err.splitlines() if line.startswith("afterward: ")]
    if fault != "running calls are located":  # then only the calls of that moment are not known
        assert len(shown) == 1
        assert any(fault in gap.what for gap in watch.gaps)


def _fails(fault: str) -> Callable[..., Any]:
    """A function that fails, as if it stood in a file of ours: what raises elsewhere is the program's."""
    space: dict[str, Any] = {"fault": fault}
    source = "def fails(*args, **kwargs):\n    raise ZeroDivisionError(fault)\n"
    exec(compile(source, session.__file__, "exec"), space)
    found: Callable[..., Any] = space["fails"]
    return found
