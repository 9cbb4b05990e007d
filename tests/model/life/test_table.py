"""The shipped table against the torch that is installed."""

from __future__ import annotations

import json
import warnings

import pytest

torch = pytest.importorskip("torch")

from afterward.model.life import table  # noqa: E402
from lifelab.measure import measure  # noqa: E402
from lifelab.operations import OPERATIONS  # noqa: E402

COMMON = {
    "add", "mul", "mm", "linear", "tanh", "relu", "softmax", "layer_norm", "conv2d", "lstm_cell",
    "attention", "embedding", "unbind", "mul_", "view",
}  # fmt: skip
SAMPLE = sorted({*COMMON, *sorted(OPERATIONS)[::9]})


@pytest.mark.skipif(
    torch.__version__.partition("+")[0] != table().torch, reason=f"the table was read from torch {table().torch}"
)
@pytest.mark.parametrize("name", SAMPLE)
def test_measuring_again_gives_the_same(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert json.loads(json.dumps(measure(OPERATIONS[name]))) == table().raw[name]


def test_every_operation_is_in_the_table() -> None:
    assert set(table().raw) == set(OPERATIONS)
    assert len(OPERATIONS) > 400


@pytest.mark.parametrize(
    ("name", "needs", "saves"),
    [
        ("add", "11", 0),
        ("mul", "10", 1),
        ("mul", "11", 2),
        ("sum", "1", 0),
        ("exp", "1", 1),
        ("mm", "10", 1),
        ("linear", "110", 2),
        ("view", "1", 0),
        ("embedding", "1", 1),
    ],
)
def test_what_is_saved_depends_on_who_needs_a_gradient(name: str, needs: str, saves: int) -> None:
    pattern = table()[name].patterns[tuple(digit == "1" for digit in needs)]
    assert sum(len(node.saves) for node in pattern.nodes) == saves


def test_the_table_is_data_only() -> None:
    """It can be read where torch is absent."""
    import subprocess
    import sys

    code = "import sys, afterward.model.life as life; life.table()['mul']; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
