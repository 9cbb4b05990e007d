"""Which files have a program in them that could come to a pass: what is left out must be left out for certain."""

from __future__ import annotations

from pathlib import Path

import pytest

from afterward.interpret import parse
from afterward.interpret.project.programs import Reach, acts
from afterward.tasks.check_file import Shared, check_file

SWEEP = "def train(loss):\n    loss.backward()\n"

COMES_TO_A_PASS = {
    "at once": "loss.backward()\n",
    "through a function": SWEEP + "def main():\n    train(1)\nmain()\n",
    "through a class": "class Job:\n    def run(self):\n        x.backward()\nJob().run()\n",
    "through a base": "class A:\n    def run(self):\n        x.backward()\nclass B(A):\n    pass\nB().run()\n",
    "in a branch": SWEEP + "if __name__ == '__main__':\n    train(1)\n",
    "by a decorator": SWEEP + "@train\ndef f():\n    pass\n",
    "by a default": SWEEP + "def f(x=train(1)):\n    pass\n",
    "in a class body": SWEEP + "class A:\n    x = train(1)\n",
    "through the project": "from ours import step\nstep()\n",
    "through a part of the project": "from . import ours\nours.step()\n",
    "through a star": "from ours import *\nstep()\n",
    "through an import in a function": "def f():\n    import ours\n    ours.step()\nf()\n",
}
COMES_TO_NONE = {
    "defines": SWEEP,
    "names and types": SWEEP + "import logging\nlog = logging.getLogger(__name__)\n",
    "a base of the project": "from ours import Base\nclass A(Base):\n    pass\nx = str(1)\n",
    "a library": "from theirs import step\nstep()\n",
    "a function that does something else": SWEEP + "def name():\n    return str(1)\nx = name()\n",
}


def comes(source: str) -> bool:
    data = source.encode()
    return Reach(parse(data, "a.py"), data, lambda module: module.startswith("ours")).comes_to_a_pass()


@pytest.mark.parametrize("name", COMES_TO_A_PASS)
def test_a_program_may_come_to_a_pass(name: str) -> None:
    assert comes(COMES_TO_A_PASS[name])


@pytest.mark.parametrize("name", COMES_TO_NONE)
def test_there_is_no_pass_to_come_to(name: str) -> None:
    assert not comes(COMES_TO_NONE[name])


def test_a_file_that_only_defines_does_nothing() -> None:
    assert not acts(parse(b"import torch\nX = 1\ndef f():\n    print()\n", "a.py"))
    assert acts(parse(b"print()\n", "a.py"))


def test_functions_of_a_library_are_still_checked(tmp_path: Path) -> None:
    """Its own statements come to no pass, but a function that nobody calls here does."""
    file = tmp_path / "library.py"
    file.write_text(
        "import logging\nimport torch\nlog = logging.getLogger(__name__)\n\ndef train():\n"
        "    loss = torch.nn.Linear(2, 2)(torch.ones(1, 2)).pow(2).sum()\n    loss.backward()\n    loss.backward()\n"
    )
    assert [found.code for found in check_file(str(file), Shared()).findings] == ["AFT101"]


def test_the_program_and_its_import_are_two_modules(tmp_path: Path) -> None:
    """As in Python: what imports the file that is run gets a module of its own, and does not run the program."""
    (tmp_path / "helper.py").write_text("import program\ndef sweep():\n    program.LOSS[0].backward()\n")
    program = tmp_path / "program.py"
    program.write_text(
        "import torch\nLOSS = []\nif __name__ == '__main__':\n    import helper\n"
        "    loss = torch.nn.Linear(2, 2)(torch.ones(1, 2)).pow(2).sum()\n    loss.backward()\n"
        "    LOSS.append(loss)\n    if helper.program.LOSS:\n        helper.sweep()\n"
    )
    assert check_file(str(program), Shared()).findings == ()
