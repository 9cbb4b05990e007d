"""`afterward run -- COMMAND`, `AFTERWARD=1` and `afterward merge`: real processes that others start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

CARRIED = """
import sys, torch
cell, hidden = torch.nn.RNNCell(3, 3), torch.zeros(1, 3)
for step in range(3):
    hidden = cell(torch.randn(1, 3), hidden{cut})
    hidden.sum().backward()
print("done", sys.argv[1:])
"""

RANKS = """
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
dist.init_process_group("gloo")
torch.manual_seed(0)
model = DDP(torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    out = model(torch.randn(3, 4))
    opt.zero_grad()
    out[:, 0].pow(2).mean().backward(retain_graph=True)
    out[:, 1].pow(2).mean().backward()
    opt.step()
dist.destroy_process_group()
"""


def _run(folder: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("AFTERWARD")}
    env = {**clean, "OMP_NUM_THREADS": "1", **environment}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=env, timeout=300)


AFTERWARD = (sys.executable, "-m", "afterward")


@pytest.mark.parametrize(
    "tool", [("cProfile", "-o", "profile"), ("trace", "--count", "-C", "counted"), ("pdb", "-c", "c")]
)
def test_a_program_that_another_tool_runs_is_explained(tool: tuple[str, ...], tmp_path: Path) -> None:
    """A profiler, a tracer, a debugger: each reads the program's file and compiles it by itself."""
    (tmp_path / "train.py").write_text(CARRIED.format(cut=""))
    done = _run(tmp_path, *AFTERWARD, "run", "-m", *tool, "train.py")
    assert "AFT103" in done.stderr  # in a line, where a debugger has caught the error
    assert "train.py:6" in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="a shell script")
def test_a_program_that_a_script_starts_is_watched(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(CARRIED.format(cut=""))
    (tmp_path / "fine.py").write_text(CARRIED.format(cut=".detach()"))
    script = tmp_path / "train.sh"
    script.write_text(f'"{sys.executable}" -u fine.py one two\n"{sys.executable}" train.py\nexit 7\n')
    done = _run(tmp_path, *AFTERWARD, "run", "--", "bash", "train.sh")
    assert done.returncode == 7, done.stderr
    assert done.stdout == "done ['one', 'two']\n"
    assert done.stderr.count("error[AFT103]") == 1
    assert "train.py:6" in done.stderr


@pytest.mark.skipif(not torch.distributed.is_available(), reason="this torch has no torch.distributed")
def test_ranks_give_one_report(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(RANKS)
    torchrun = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "train.py")
    done = _run(tmp_path, *AFTERWARD, "run", "--format", "json", *torchrun)
    assert done.returncode == 0, done.stderr
    (finding,) = json.loads(done.stdout)["findings"]
    assert finding["code"] == "AFT112"
    assert "on ranks 0-1" in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="a script with a first line that names its interpreter")
def test_an_installed_script_by_its_path_is_a_launcher(tmp_path: Path) -> None:
    """As `venv/bin/torchrun` is: it lies beside its Python, and starts processes of its own."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "train.py").write_text(CARRIED.format(cut=""))
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    launcher = tmp_path / "bin" / "launch"
    launcher.write_text(
        f"#!{tmp_path}/bin/python\nimport subprocess\nsubprocess.run([{sys.executable!r}, 'train.py'])\n"
    )
    launcher.chmod(0o755)
    done = _run(tmp_path, *AFTERWARD, "run", "--", str(launcher))
    assert done.stderr.count("error[AFT103]") == 1, done.stderr


def test_a_process_that_cannot_be_wrapped(tmp_path: Path) -> None:
    """The hook lies in a folder on the path here; an installed afterward brings it as a `.pth` file."""
    import afterward

    (tmp_path / "train.py").write_text(CARRIED.format(cut=""))
    hook = str(Path(afterward.__file__).parent / "startup")
    told = {"PYTHONPATH": hook, "AFTERWARD": "1", "AFTERWARD_FOLDER": str(tmp_path / "job"), "RANK": "3"}
    done = _run(tmp_path, sys.executable, "train.py", **told, WORLD_SIZE="4", TORCHELASTIC_ERROR_FILE="error.json")
    assert done.returncode == 1
    assert "AFT103" not in done.stderr  # the job's report tells it
    assert "AFT103" in json.loads((tmp_path / "error.json").read_text())["message"]["extraInfo"]["py_callstack"]
    merged = _run(tmp_path, *AFTERWARD, "merge", "job")
    assert "AFT103" in merged.stderr
    assert "on rank 3 of 4" in merged.stderr
    alone = _run(tmp_path, sys.executable, "train.py", PYTHONPATH=hook, AFTERWARD="1")
    assert "AFT103" in alone.stderr


def test_the_hook_does_nothing_unasked(tmp_path: Path) -> None:
    import afterward

    hook = str(Path(afterward.__file__).parent / "startup")
    program = "import sys; print([name for name in sys.modules if name.startswith('afterward')])"
    done = _run(tmp_path, sys.executable, "-c", program, PYTHONPATH=hook)
    assert done.stdout == "[]\n"


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_command_that_a_signal_ends(tmp_path: Path) -> None:
    done = _run(tmp_path, *AFTERWARD, "run", "--", "bash", "-c", "kill -9 $$")
    assert done.returncode == -9
