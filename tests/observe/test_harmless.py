"""Under afterward a program computes the same bits, prints the same text and ends the same way."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests import warm

PROGRAMS = Path(__file__).parent / "programs"
Run = Callable[..., subprocess.CompletedProcess[bytes]]


def _from_the_start(*command: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    environment = dict(os.environ, OMP_NUM_THREADS="1", PYTHONHASHSEED="0", PYTHONDONTWRITEBYTECODE="1")
    return subprocess.run([sys.executable, *command], cwd=cwd, env=environment, capture_output=True, timeout=120)


@pytest.mark.parametrize(
    ("name", "run"),
    [("gan", _from_the_start), ("meta", warm.python), ("fails", warm.python), ("catches", warm.python)],
    ids=["gan", "meta", "fails", "catches"],
)
def test_the_same_bits_text_and_status(name: str, run: Run, tmp_path: Path) -> None:
    # `tell_numbers` makes the program print its parameters at its end, bit for bit.
    program = tmp_path / f"{name}.py"
    tail = "\nimport tell_numbers  # noqa\n"
    source = (PROGRAMS / f"{name}.py").read_text()
    # The import stands first so that it also counts when the program fails.
    program.write_text(source.split('"""\n', 1)[0] + '"""\n' + tail + source.split('"""\n', 1)[1])
    (tmp_path / "tell_numbers.py").write_text((PROGRAMS / "tell_numbers.py").read_text())
    plain = run(program.name, cwd=tmp_path)
    watched = run("-m", "afterward", "run", program.name, cwd=tmp_path)
    assert plain.stdout, plain.stderr.decode()
    assert watched.stdout == plain.stdout
    assert watched.returncode == plain.returncode
    if plain.stderr:  # the traceback, word for word; the report comes after it
        assert watched.stderr.startswith(plain.stderr)


def test_a_clean_program_prints_nothing_of_ours(tmp_path: Path) -> None:
    done = warm.python("-m", "afterward", "run", str(PROGRAMS / "gan.py"), cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr == b""


def test_a_caught_error_gets_one_line(tmp_path: Path) -> None:
    done = warm.python("-m", "afterward", "run", str(PROGRAMS / "catches.py"), cwd=tmp_path)
    assert done.returncode == 7
    lines = done.stderr.decode().splitlines()
    assert len(lines) == 1
    assert "AFT101" in lines[0]
    assert "caught" in lines[0]


def test_nothing_of_the_program_is_kept_alive(tmp_path: Path, torch_as_it_was: None) -> None:
    from tests.watching import watch_source

    seen = watch_source(
        """
import gc, weakref
layer = torch.nn.Linear(3, 3)
def step():
    output = layer(torch.randn(2, 3))
    loss = output.pow(2).sum()
    loss.backward()
    return weakref.ref(output), weakref.ref(loss)
gc.disable()
alive = [reference() is not None for _ in range(20) for reference in step()]
""",
        tmp_path,
    )
    assert seen.error is None
    assert not any(seen.names["alive"])


def test_marks_leave_no_graph_break(tmp_path: Path, torch_as_it_was: None) -> None:
    from tests.watching import watch_source

    seen = watch_source(
        """
import torch._dynamo.testing
counter = torch._dynamo.testing.CompileCounter()

def helper(x):
    y = x * 2
    for _ in range(2):
        y = y + 1
    return y.relu()

@torch.compile(backend=counter, fullgraph=True)
def compiled(x):
    a = helper(x)
    if a.dim() > 3:
        return a
    return a.sin() + 1

x = torch.randn(3, requires_grad=True)
for _ in range(3):
    compiled(x).sum().backward()
""",
        tmp_path,
    )
    assert seen.error is None
    assert seen.names["counter"].frame_count == 1
