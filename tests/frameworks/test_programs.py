"""Real frameworks and launchers: what `run` finds in a wrong program, and that the same put right is left alone.

CI runs the light ones; `make frameworks` installs the packages and runs them all, `fix` too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.frameworks.reading import ALL, Program, read

EVERYTHING = bool(os.environ.get("AFTERWARD_FRAMEWORKS"))
LAUNCHERS = {"torchrun": ("torch.distributed.run",), "accelerate": ("accelerate.commands.accelerate_cli",)}
AFTERWARD = (sys.executable, "-m", "afterward")


@pytest.fixture(params=ALL)
def program(request: pytest.FixtureRequest) -> Program:
    one = read(request.param)
    if one.missing:
        pytest.skip(f"{', '.join(one.missing)}: not installed")
    if not one.light and not EVERYTHING:
        pytest.skip("`make frameworks` runs it")
    return one


def _python(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    told = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "DS_ACCELERATOR": "cpu"}
    told["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))  # `deepspeed` lies there
    env = {name: value for name, value in os.environ.items() if not name.startswith("AFTERWARD")} | told
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=env, timeout=280)


def _started(program: Program) -> tuple[str, ...]:
    """Its command line, launched by the Python that runs the tests."""
    first, *rest = program.command or ("",)
    module = LAUNCHERS.get(first)
    return (*(("-m", *module) if module else (first,) if first else ()), *rest, "train.py")


def _run(folder: Path, program: Program, text: str) -> tuple[subprocess.CompletedProcess[str], list[dict[str, object]]]:
    (folder / "train.py").write_text(text)
    started = _started(program)
    commands = ("--", *((sys.executable,) if started[0] == "-m" else ()), *started) if program.command else started
    done = _python(folder, *AFTERWARD, "run", "--format", "json", "--out", "report.json", *commands)
    return done, json.loads((folder / "report.json").read_text())["findings"]


def test_what_is_wrong_is_found(program: Program, tmp_path: Path) -> None:
    done, findings = _run(tmp_path, program, program.wrong)
    assert [one["code"] in program.codes for one in findings] == [True], done.stderr
    (found,) = findings
    assert found["bridge"]["name"] in program.bridges
    assert {role: found[role] and found[role]["line"] for role in program.places} == program.places
    assert found["remedies"][0]["kind"] in program.remedies


def test_the_same_put_right_is_left_alone(program: Program, tmp_path: Path) -> None:
    done, findings = _run(tmp_path, program, program.right)
    assert (done.returncode, findings) == (0, []), done.stderr
    if EVERYTHING:
        started = _started(program)
        plain = _python(tmp_path, *((sys.executable,) if started[0] in ("-m", "train.py") else ()), *started)
        assert _last_line(done) == _last_line(plain)


@pytest.mark.skipif(not EVERYTHING, reason="`make frameworks` runs it")
def test_a_proven_change_trains_as_the_program_put_right(program: Program, tmp_path: Path) -> None:
    if program.command:
        pytest.skip("`fix` runs no launcher")
    (tmp_path / "train.py").write_text(program.wrong)
    done = _python(tmp_path, *AFTERWARD, "fix", "--write", "train.py")
    if program.unproven:
        assert (done.returncode, (tmp_path / "train.py").read_text()) == (1, program.wrong), done.stderr
        return
    assert done.returncode == 0, done.stderr
    (tmp_path / "right.py").write_text(program.right)
    patched, right = (_python(tmp_path, sys.executable, name) for name in ("train.py", "right.py"))
    assert _last_line(patched) == _last_line(right)


def _last_line(done: subprocess.CompletedProcess[str]) -> str:
    """The figure that a program prints at its end; what a framework or a launcher says around it may name the time."""
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.strip().splitlines() if not line.startswith("[20")][-1]
