"""What is left out to be fast changes nothing that is found: turns, runs and imports that would only repeat others."""

from __future__ import annotations

import ast
import gc
from pathlib import Path

from tests.interpret.checking import check_source

from afterward.follow.nodes import inside, of_file
from afterward.interpret import Outcome, Sources, interpret_file, parse
from afterward.interpret.graph.graph import Tensor
from afterward.tasks import check_silent
from afterward.tasks.check_silent import said_of


def interpret(source: str, folder: Path, sources: Sources | None = None, name: str = "program.py") -> Outcome:
    file = folder / name
    file.write_text(source)
    sources = sources or Sources()
    tree = parse(file.read_bytes(), str(file))
    sources.add(str(file), file.read_bytes(), tree)
    return interpret_file(str(file), tree, sources)


# A state inside a model that something unknown is given: it may have been reset.
UNKNOWN_RESET = """
import torch
from somewhere import reset
class Cell(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2))
        self.state = torch.zeros(2)
    def forward(self, x):
        self.state = torch.tanh(self.weight * x + self.state)
        return self.state
net = torch.nn.Sequential(Cell())
for x in torch.randn(3, 2):
    reset(net)
    net(x).sum().backward()
"""
HEAD = """
import sys
import torch
net = torch.nn.Linear(2, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
"""


def test_a_fault_of_a_late_iteration_is_found(tmp_path: Path) -> None:
    source = HEAD + (
        "h = torch.zeros(1, 2)\n"
        "for step in range(40):\n"
        "    h = torch.tanh(net(h))\n"
        "    if step % 10 == 9:\n"
        "        h.sum().backward()\n"
    )
    assert [found.code for found in check_source(source, tmp_path)] == ["AFT103"]


def test_iterations_that_repeat_are_left_out(tmp_path: Path) -> None:
    loop = "for step in range(50):\n    opt.zero_grad()\n    net(torch.randn(1, 2)).sum().backward()\n    opt.step()\n"
    assert interpret(HEAD + loop, tmp_path).statements < 40
    counted = HEAD + loop.replace("    opt.step()\n", "    if step == 30:\n        print(step)\n    opt.step()\n")
    assert interpret(counted, tmp_path).statements > 100  # what an iteration does may hang on its number


def test_a_branch_that_only_prints_is_no_reason_for_another_run(tmp_path: Path) -> None:
    loop = "for x in data:\n    opt.zero_grad()\n    loss = net(x).sum()\n    loss.backward()\n    opt.step()\n"
    prints = "    if loss < 1:\n        print('small', loss.item())\n"
    assert interpret(HEAD + "from somewhere import data\n" + loop + prints, tmp_path).runs == 1
    calls_backward = "    if loss < 1:\n        net(x).sum().backward()\n"
    assert interpret(HEAD + "from somewhere import data\n" + loop + calls_backward, tmp_path).runs > 1


def test_the_same_choices_are_not_run_twice(tmp_path: Path) -> None:
    source = HEAD + "from somewhere import flag\nloss = net(torch.ones(1, 2)).sum()\nif flag:\n    loss = loss * 2\n"
    assert interpret(source + "loss.backward()\n", tmp_path).runs == 2  # true and false; once and flipped repeat them


def test_a_branch_that_ends_the_program_is_not_taken(tmp_path: Path) -> None:
    source = HEAD + (
        "if not torch.cuda.is_available():\n"
        "    print('no GPU')\n"
        "    sys.exit(1)\n"
        "loss = net(torch.ones(1, 2)).pow(2).sum()\n"
        "loss.backward()\n"
        "loss.backward()\n"
    )
    outcome = interpret(source, tmp_path)
    assert [found.always for found in outcome.findings] == [True]
    assert outcome.runs == 1


def test_what_is_only_imported_for_types_is_not_imported(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text("import program\n")
    source = HEAD + "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import other\n"
    assert interpret(source, tmp_path).modules == (str(tmp_path / "program.py"),)


def test_modules_are_set_back_between_programs(tmp_path: Path) -> None:
    """What one program does to a module that both import is not seen by the other."""
    (tmp_path / "common.py").write_text(
        "import torch\nweight = None\nkept = []\ntable = {'n': 1}\n\nclass Box:\n    held = None\n\n"
        "def remember(value):\n    global weight\n    weight = value\n    kept.append(value)\n    Box.held = value\n"
    )
    first = HEAD + (
        "import common\nloss = net(torch.ones(1, 2)).pow(2).sum()\ncommon.remember(loss)\nloss.backward()\n"
        "common.kept[0].backward()\n"
    )
    second = HEAD + (
        "import common\nassert not common.kept\n"
        "if common.kept:\n    common.kept[0].backward()\n"
        "if common.weight is not None:\n    common.weight.backward()\n"
        "if common.Box.held is not None:\n    common.Box.held.backward()\n"
        "loss = net(torch.ones(1, 2)).pow(2).sum()\nloss.backward()\n"
    )
    sources = Sources()
    assert len(interpret(first, tmp_path, sources, "first.py").findings) == 1
    assert interpret(second, tmp_path, sources, "second.py").findings == []
    assert len(interpret(first, tmp_path, sources, "first.py").findings) == 1
    shared = sources.shelf.groups[str(tmp_path / "common.py")]
    assert len(shared) == 1


def test_a_loop_over_indices_runs_to_its_end(tmp_path: Path) -> None:
    """A reset of all states by their index, in a program that has been running for long: none is passed over."""
    source = HEAD + (
        "cells = [torch.nn.RNNCell(2, 2) for _ in range(9)]\n"
        "states = [torch.zeros(1, 2) for _ in cells]\n"
        "for i in range(400):\n    print(i % 7)\n"
        "for batch in range(30):\n"
        "    for i in range(len(states)):\n        states[i] = states[i].detach()\n"
        "    for i in range(len(cells)):\n        states[i] = cells[i](torch.randn(1, 2), states[i])\n"
        "    sum(state.sum() for state in states).backward()\n"
    )
    assert check_source(source, tmp_path) == []


def test_what_something_unknown_is_given_may_have_changed(tmp_path: Path) -> None:
    assert check_source(UNKNOWN_RESET, tmp_path) == []
    assert check_source(UNKNOWN_RESET.replace("    reset(net)\n", ""), tmp_path) != []


def test_what_a_run_made_is_gone_with_it(tmp_path: Path) -> None:
    """Without the help of the garbage collector, which would have to look at all of it."""
    model = (
        "class Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.layer = torch.nn.Linear(2, 2)\n    def forward(self, x):\n        return self.layer(x)\n"
        "net = Net()\n"
    )
    loop = "for x in torch.randn(9, 2):\n    loss = net(x).sum()\n    loss.backward()\n"
    gc.collect()
    gc.disable()
    try:
        before = sum(isinstance(one, Tensor) for one in gc.get_objects())
        interpret(HEAD + model + loop, tmp_path)
        assert sum(isinstance(one, Tensor) for one in gc.get_objects()) == before
    finally:
        gc.enable()


def test_a_class_of_another_module_outlives_the_run(tmp_path: Path) -> None:
    """Of a second run, which takes a test the other way, nothing is lost for being the second."""
    (tmp_path / "cells.py").write_text(
        "import torch\n\nclass Cell(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.weight = torch.nn.Parameter(torch.ones(2))\n        self.kept = None\n"
        "    def forward(self, x):\n        if self.kept is not None and self.kept.size(0) >= x.size(0):\n"
        "            return self.kept * x\n        self.kept = self.weight.exp()\n        return self.kept * x\n"
    )
    source = HEAD + "from cells import Cell\ncell = Cell()\nfor x in torch.randn(3, 2):\n    cell(x).sum().backward()\n"
    sources = Sources()
    for _ in range(2):
        outcome = interpret(source, tmp_path, sources)
        assert (len(outcome.findings), outcome.runs) == (1, 2)


def test_a_second_run_whose_budget_is_used_up_says_nothing_against_the_first(tmp_path: Path) -> None:
    steps = "".join(f"    n{number} = {number}\n" for number in range(700))
    source = f"""\
import torch, settings
net = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(100, 4, 2):
    if settings.noise:
        x = x + torch.randn(4, 2)
    optimizer.zero_grad()
    net(x).mean().backward(retain_graph=True)
    optimizer.step()
{steps}"""
    assert [found.code for found in check_source(source, tmp_path)] == ["AFT303"]


TRAINS = """
import torch
net = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
log = []
for step in range(5):
    if unknown():
        optimizer.zero_grad()
    optimizer.zero_grad()
    loss = net(torch.randn(3, 2)).sum()
    loss.backward()
    optimizer.step()
    log.append(loss)
"""


def test_later_runs_write_no_history_where_there_is_nothing_to_confirm(tmp_path: Path) -> None:
    for source, confirmed in ((TRAINS, True), (TRAINS.replace("log.append(loss)", "log.append(loss.item())"), False)):
        file = tmp_path / "program.py"
        file.write_text(source)
        tree, sources = parse(file.read_bytes(), str(file)), Sources()
        sources.add(str(file), file.read_bytes(), tree)
        part = interpret_file(str(file), tree, sources, judge=said_of).parts[0]
        assert len(part.silent) == part.runs > 1
        assert [one.history is not None for one in part.silent] == [True, *[confirmed] * (part.runs - 1)]


def test_the_nodes_of_a_tree_are_those_of_ast() -> None:
    left_out = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
    for file in (Path(__file__), Path(check_silent.__file__), *Path(check_silent.__file__).parent.glob("trial*.py")):
        tree = ast.parse(file.read_text())
        assert inside(tree) == [one for one in ast.walk(tree) if not isinstance(one, left_out)]
        assert [tree, *of_file(tree)] == inside(tree)
