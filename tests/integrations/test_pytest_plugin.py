"""`pytest --afterward`, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TESTS = """
import pytest, torch

@pytest.fixture(scope="module")
def model():
    net = torch.nn.RNNCell(3, 3)
    net.hidden = torch.zeros(1, 3)
    return net

def train(model):
    model.hidden = model(torch.randn(1, 3), model.hidden)
    model.hidden.sum().backward()

def test_one(model):
    train(model)
    assert 1 + 1 == 2

def test_two(model):
    train(model)

def test_caught():
    x = torch.ones(2, requires_grad=True)
    loss = (x * x).sum()
    loss.backward()
    with pytest.raises(RuntimeError):
        loss.backward()

def test_assert():
    a = 3
    assert a == 4

@pytest.mark.afterward("AFT303")
def test_retains():
    w = torch.ones(2, requires_grad=True)
    for i in range(20):
        (w * w).sum().backward(retain_graph=True)

@pytest.mark.afterward
def test_fine():
    w = torch.ones(2, requires_grad=True)
    for i in range(20):
        w.grad = None
        (w * w).sum().backward()
"""


def _pytest(folder: Path, *options: str) -> str:
    plugin = ("-p", "afterward.integrations.pytest_plugin", "-p", "no:cacheprovider", "-p", "no:xdist")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *plugin, *options, "."],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"},
    )
    return done.stdout + done.stderr


def test_the_report_of_a_failing_test_says_why(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS.lstrip())
    said = _pytest(tmp_path, "--afterward")
    assert "3 failed, 3 passed" in said, said
    assert said.count("AFT103") == 1  # of the fixture's state; what `pytest.raises` meant to catch is no finding
    assert "test_it.py:11:5, step 2" in said
    assert "model.hidden = model.hidden.detach()" in " ".join(said.split())
    assert "assert 3 == 4" in said  # assertions are rewritten as ever
    assert "Failed: warning[AFT303]" in said


def test_a_fixture_of_a_conftest_is_named_by_its_own_line(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        "import pytest, torch\n\n@pytest.fixture(scope='session')\ndef encoded():\n"
        "    net = torch.nn.Linear(4, 8)\n    return net(torch.ones(2, 4)).tanh()\n"
    )
    (tmp_path / "test_it.py").write_text(
        "def test_one(encoded):\n    encoded.sum().backward()\n\n"
        "def test_two(encoded):\n    encoded.pow(2).sum().backward()\n"
    )
    said = _pytest(tmp_path, "--afterward")
    assert "1 failed, 1 passed" in said, said
    assert "error[AFT104]: `encoded`" in said
    assert "::: conftest.py:6" in said  # where it is computed


def test_without_being_asked_it_does_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS.lstrip())
    said = _pytest(tmp_path)
    assert "2 failed, 4 passed" in said, said
    assert "AFT" not in said.replace('@pytest.mark.afterward("AFT303")', "")


def test_it_loads_no_torch(tmp_path: Path) -> None:
    (tmp_path / "test_none.py").write_text("import sys\n\ndef test_none():\n    assert 'torch' not in sys.modules\n")
    assert "1 passed" in _pytest(tmp_path, "--afterward")


def test_pytest_does_not_warn_that_it_comes_too_late_to_rewrite_us() -> None:
    from _pytest.assertion.rewrite import AssertionRewriter

    import afterward

    assert AssertionRewriter.is_rewrite_disabled(afterward.__doc__ or "")
