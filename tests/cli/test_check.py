"""`afterward check` as a process: exit status, formats, comments, settings, and files that are no Python."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

FAULTY = """\
import torch

weight = torch.ones(3, requires_grad=True)
loss = (weight * weight).sum()
loss.backward()
loss.backward()
"""
CLEAN = FAULTY.replace("loss.backward()\nloss.backward()", "loss.backward()")


def check(folder: Path, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "AFTERWARD_CACHE": str(folder / ".cache"), "NO_COLOR": "1"}
    return subprocess.run(
        [sys.executable, "-m", "afterward", "check", *words],
        cwd=folder,
        input=stdin,
        capture_output=True,
        text=True,
        env=environment,
    )


def test_clean_is_zero_and_says_what_was_looked_at(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(CLEAN)
    done = check(tmp_path, ".")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "All clear: 1 file, 1 training loop.\n")
    (tmp_path / "train.py").write_text("x = 1\n")
    assert check(tmp_path, ".").stderr == "No problems found: 1 file, no training loops.\n"
    (tmp_path / "train.py").write_text("def f(:\n")
    assert check(tmp_path, ".").stderr.splitlines()[-1].startswith("Nothing could be checked: 1 file")


def test_what_was_not_analysed_is_counted_and_named(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def f(:\n")
    (tmp_path / "helper.py").write_text("import torch\ndef sweep(loss):\n    loss.backward()\n")
    (tmp_path / "train.py").write_text(CLEAN + "raise SystemExit\nloss.backward()\n")
    done = check(tmp_path, "--format", "json", ".")
    last = "No problems found: 3 files, 1 training loop, 3 not analysed"
    assert done.stderr.splitlines()[-1] == f"{last} (--show-gaps)."
    looked_at = json.loads(done.stdout)["looked_at"]
    assert (looked_at["files"], looked_at["training_loops"]) == (3, 1)
    places = {(one["file"], one["line"]): one["reason"] for one in looked_at["not_analysed"]}
    assert sorted(places) == [("broken.py", 1), ("helper.py", 3), ("train.py", 7)]
    assert places["helper.py", 3] == "`loss` is not known here, so neither is its backward pass"
    shown = check(tmp_path, "--show-gaps", ".").stderr.splitlines()
    assert shown[-1] == f"{last}."
    assert "afterward: not analysed: train.py:7: no run came to this `backward()`" in shown
    # what another program comes to is analysed
    (tmp_path / "other.py").write_text(CLEAN.replace("loss.backward()", "import helper\nhelper.sweep(loss)"))
    assert "2 not analysed" in check(tmp_path, ".").stderr


def test_a_finding_is_shown_with_its_source(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(FAULTY)
    done = check(tmp_path, "train.py")
    assert done.returncode == 1
    assert "error[AFT101]" in done.stdout
    assert "--> train.py:6:1" in done.stdout
    assert "nothing was run" in done.stdout


def test_nothing_of_it_is_executed_and_torch_is_not_needed(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise SystemExit('torch was imported')\n")
    (tmp_path / "train.py").write_text("open('made', 'w').close()\nimport os\nos.system('touch made')\n" + FAULTY)
    done = check(tmp_path, "--format", "concise", "train.py")
    assert done.stdout.startswith("train.py:9:1: AFT101 ")
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("name", ["json", "sarif", "github", "junit", "concise"])
def test_formats_can_be_read_by_their_readers(tmp_path: Path, name: str) -> None:
    (tmp_path / "train.py").write_text(FAULTY)
    done = check(tmp_path, "--format", name, "--out", "report", ".")
    assert (done.returncode, done.stdout) == (1, "")
    text = (tmp_path / "report").read_text()
    if name == "json":
        (found,) = json.loads(text)["findings"]
        assert found["code"] == "AFT101"
        assert found["reused"] == {"file": "train.py", "line": 6, "end_line": 6, "step": None}
    elif name == "sarif":
        (result,) = json.loads(text)["runs"][0]["results"]
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "train.py"
        assert place["region"]["startLine"] == 6
    elif name == "github":
        assert text.startswith("::error file=train.py,line=6,endLine=6,col=1,title=AFT101 backward-twice::")
    elif name == "junit":
        (case,) = ElementTree.fromstring(text).iter("testcase")
        assert case.find("failure") is not None
    else:
        assert text.startswith("train.py:6:1: AFT101 ")


def test_stdin(tmp_path: Path) -> None:
    done = check(tmp_path, "--format", "concise", "-", stdin=FAULTY)
    assert done.returncode == 1
    assert ":6:1: AFT101" in done.stdout


def test_of_a_pasted_text_silence_is_no_clean_result(tmp_path: Path) -> None:
    unknown = check(tmp_path, "-", stdin="def sweep(loss):\n    loss.backward()\n")
    assert unknown.stderr.splitlines() == [
        "afterward: not analysed: <stdin>:2: `loss` is not known here, so neither is its backward pass",
        "Nothing could be checked: no call of `backward()` in the text could be analysed.",
    ]
    said = check(tmp_path, "-", stdin="it trains for hours (but why\n").stderr.splitlines()
    assert said[0].endswith("<stdin>:1: this line was not read as code")
    assert said[1].startswith("No problems found, but the text has no call of `backward()`")


def test_a_comment_silences_its_line_and_an_unused_one_is_told(tmp_path: Path) -> None:
    lines = FAULTY.splitlines()
    lines[5] += "  # afterward: ignore[backward-twice]"
    (tmp_path / "one.py").write_text("\n".join(lines))
    lines[4] += "  # afterward: ignore[AFT103]"
    (tmp_path / "two.py").write_text("\n".join(lines))
    done = check(tmp_path, "--format", "concise", ".")
    assert done.returncode == 0
    assert done.stdout == "two.py:5:18: AFT900 this comment silences nothing [unused-ignore]\n"


def test_select_and_ignore(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(FAULTY)
    assert check(tmp_path, "--select", "AFT2", ".").returncode == 0
    assert check(tmp_path, "--select", "AFT1", ".").returncode == 1
    assert check(tmp_path, "--ignore", "backward-twice", ".").returncode == 0
    done = check(tmp_path, "--select", "AFT777", ".")
    assert (done.returncode, "no rule is called AFT777" in done.stderr) == (2, True)


def test_pyproject_of_a_parent_folder(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.afterward]\nignore = ["AFT101"]\n')
    inner = tmp_path / "src"
    inner.mkdir()
    (inner / "train.py").write_text(FAULTY)
    assert check(inner, ".").returncode == 0
    assert check(inner, "--ignore", "AFT103", ".").returncode == 1  # the command line goes first
    (tmp_path / "pyproject.toml").write_text('[tool.afterward]\nignored = ["AFT101"]\n')
    assert "has no setting called ignored" in check(inner, ".").stderr


def test_gitignore_and_exclude(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("build/\n/old_*.py\n")
    for place in ("build/train.py", "old_train.py", "sub/old_train.py", "more/train.py"):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_text(FAULTY)
    done = check(tmp_path, "--format", "concise", "--exclude", "more", ".")
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == ["sub/old_train.py"]


def test_what_is_no_python_gets_one_line_and_the_rest_is_checked(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def f(:\n")
    (tmp_path / "old.py").write_text("print 'hello'\n")
    (tmp_path / "null.py").write_bytes(b"x = 1\0\n")
    (tmp_path / "latin.py").write_bytes(b"# caf\xe9\nx = 1\n")
    (tmp_path / "codec.py").write_bytes(b"# coding: nonsense\nx = 1\n")
    (tmp_path / "large.py").write_text("x = 1\n" * 2_000_000)
    (tmp_path / "deep.py").write_text("x = " + "(" * 1500 + "1" + ")" * 1500 + "\n")
    (tmp_path / "deep_torch.py").write_text("import torch\nx = " + "-" * 900 + "1\nx.backward()\n")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "dangling.py").symlink_to(tmp_path / "nowhere.py")
    (tmp_path / "train.py").write_text(FAULTY)
    done = check(tmp_path, "--format", "concise", ".")
    assert done.returncode == 1
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == ["train.py"]
    lines = [line for line in done.stderr.splitlines() if line.startswith("afterward: ")]
    named = {line.split(": ")[1].split(":")[0] for line in lines}
    names = {"broken.py", "old.py", "null.py", "latin.py", "codec.py", "large.py", "deep.py", "dangling.py"}
    assert named == names
    assert len(lines) == len(names)


def test_only_unreadable_is_two(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def f(:\n")
    assert check(tmp_path, ".").returncode == 2
    assert check(tmp_path, "missing.py").returncode == 2


def test_a_fault_in_a_helper_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("def twice(loss):\n    loss.backward()\n    loss.backward()\n")
    program = "import torch\nfrom helper import twice\nw = torch.ones(3, requires_grad=True)\ntwice((w * w).sum())\n"
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text(program)
    done = check(tmp_path, "--format", "concise", ".")
    assert [line.rsplit(": ", 1)[0] for line in done.stdout.splitlines()] == ["helper.py:3:5"]


def test_a_second_check_answers_from_the_cache_and_heeds_changes(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("def sweep(loss):\n    loss.backward()\n")
    program = "import torch\nfrom helper import sweep\nw = torch.ones(3, requires_grad=True)\nsweep((w * w).sum())\n"
    (tmp_path / "train.py").write_text(program)
    assert check(tmp_path, ".").returncode == 0
    assert list((tmp_path / ".cache").rglob("*.json"))
    assert check(tmp_path, ".").returncode == 0
    (tmp_path / "helper.py").write_text("def sweep(loss):\n    loss.backward()\n    loss.backward()\n")
    assert check(tmp_path, ".").returncode == 1
    first, second = check(tmp_path, "."), check(tmp_path, "--no-cache", ".")
    assert first.stdout == second.stdout


def test_a_notebook_is_one_program(tmp_path: Path) -> None:
    lines = FAULTY.splitlines(keepends=True)
    cells = [{"cell_type": "markdown", "source": "hello"}]
    cells += [
        {"cell_type": "code", "source": part} for part in (["%matplotlib inline\n"], lines[:5], "!ls\n" + lines[5])
    ]
    (tmp_path / "train.ipynb").write_text(json.dumps({"cells": cells, "nbformat": 4}))
    done = check(tmp_path, "--format", "github", ".")
    assert done.returncode == 1
    assert "Cell 3, line 2" in done.stdout
    assert ".. " not in done.stdout
    assert done.stdout.endswith(".\n")


def test_statistics_and_gaps(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import torch\nfrom elsewhere import loss\nloss().backward()\n" + FAULTY)
    done = check(tmp_path, "--statistics", "--show-gaps", ".")
    assert "1  AFT101  backward-twice" in done.stderr
    assert "1 files in" in done.stderr
