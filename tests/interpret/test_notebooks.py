"""Notebooks as `check` reads them: magics keep the code they run, a cell that is not Python makes its names unknown."""

from __future__ import annotations

import json

import pytest

from afterward.errors import SourceUnreadable
from afterward.interpret.project.notebook import as_program, as_python, to_read
from afterward.tasks.check_file import Shared, check_bytes

SETUP = "import torch\nw = torch.ones(3, requires_grad=True)\nloss = (w * w).sum()\nloss.backward()"


def book(*cells: object) -> bytes:
    made = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": text} for text in cells]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def codes(*cells: object) -> list[str]:
    checked = check_bytes("train.ipynb", book(*cells), Shared())
    assert checked.error is None, checked.error
    return [found.code for found in checked.findings]


def test_two_cells_are_one_program() -> None:
    assert codes(SETUP, "loss.backward()") == ["AFT101"]


@pytest.mark.parametrize(
    "cell",
    [
        "%%time\nloss.backward()",
        "\n%%capture out\nloss.backward()",
        "%%wandb\nloss.backward()",
        "%time loss.backward()",
        "%timeit -n 10 -r 3 loss.backward()",
        "%prun -l 5 loss.backward()",
        "files = !ls\nloss.backward()",
        "version = %env VERSION\nloss.backward()",
        "!pip install torch\nloss.backward()",
        "torch?\nloss.backward()",
        "print('%d'\n  % 3)\nloss.backward()",
        "%matplotlib inline\nloss.backward()",
        "if True:\n    %time loss.backward()",
    ],
)
def test_what_ipython_runs_is_read(cell: str) -> None:
    assert codes(SETUP, cell) == ["AFT101"]


@pytest.mark.parametrize(
    "cell",
    [
        "loss = <YOUR CODE>",
        "w = ???\nloss = (w",
        "%%time\nloss = <YOUR CODE>",
        "for loss in",
        "print loss\nloss, other = f(",
        "%%julia\nloss = begin end",
    ],
)
def test_a_cell_that_is_not_python_may_have_set_its_names(cell: str) -> None:
    assert codes(SETUP, cell, "loss.backward()") == []


@pytest.mark.parametrize(
    "cell", ["%%bash\nloss=3", "%%writefile loss.py\nloss = 3", "%%html\n<b>loss = </b>", "%%!\nls"]
)
def test_a_cell_that_runs_elsewhere_sets_nothing(cell: str) -> None:
    assert codes(SETUP, cell, "loss.backward()") == ["AFT101"]


def test_columns_and_lines_stay() -> None:
    assert as_python("%time  f(x)\ny = 1") == ["pass;  f(x)", "y = 1"]
    program, cells = as_program(book("x = 1", "not python at all\n\n", "y = 2"), "", to_read)
    assert program.decode().split("\n")[4] == "y = 2"
    assert cells.place(5) == (3, 1)


@pytest.mark.parametrize(
    "data",
    [
        b'{"cells":[{"cell_type":"code","source":[1,2]}]}',
        b'{"cells":[{"cell_type":"code","source":3}]}',
        b'{"cells":[3]}',
        b'{"cells":3}',
        b"[]",
        b"3",
        b"",
        b"\xff",
        b"[" * 100_000,
        b'{"cells":[{"cell_type":"code","source":null}]}',
    ],
)
def test_what_is_no_notebook_is_said_to_be_none(data: bytes) -> None:
    with pytest.raises(SourceUnreadable, match="not a notebook"):
        as_program(data, "odd.ipynb")
    assert check_bytes("odd.ipynb", data, Shared()).error == "odd.ipynb: not a notebook"
