"""The steps of the GitHub Action, run as the runner would run them, and what the pre-commit hook calls."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[2]
FAULTY = """\
import torch

weight = torch.ones(3, requires_grad=True)
loss = (weight * weight).sum()
loss.backward()
loss.backward()
"""


def _tools(folder: Path) -> dict[str, str]:
    """A clean environment in which `afterward` is this checkout's."""
    tools = folder / "bin"
    tools.mkdir()
    (tools / "afterward").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m afterward "$@"\n')
    (tools / "afterward").chmod(0o755)
    return {"PATH": f"{tools}:/usr/bin:/bin", "HOME": str(folder), "AFTERWARD_CACHE": str(folder / "cache")}


def test_the_steps_of_the_action(tmp_path: Path) -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "train.py").write_text(FAULTY)
    given = {name: one["default"] for name, one in action["inputs"].items()} | {"sarif": "out.sarif", "select": "AFT1"}
    step = next(one for one in action["runs"]["steps"] if one.get("id") == "check")
    environment = _tools(tmp_path) | {"GITHUB_OUTPUT": str(tmp_path / "output")}
    for name, value in step["env"].items():
        environment[name] = re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda match: given[match[1]], value)
    bash = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    done = subprocess.run(bash, cwd=tmp_path / "work", env=environment, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("::error file=train.py,line=6,")
    assert (tmp_path / "output").read_text() == "findings=1\n"
    (run,) = json.loads((tmp_path / "work" / "out.sarif").read_text())["runs"]
    assert [one["ruleId"] for one in run["results"]] == ["AFT101"]


def test_what_the_hook_calls(tmp_path: Path) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    (tmp_path / "train.py").write_text(FAULTY)
    command = [*shlex.split(hook["entry"]), "train.py"]
    done = subprocess.run(command, cwd=tmp_path, env={**os.environ, **_tools(tmp_path)}, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout.startswith("train.py:6:1: AFT101 ")
