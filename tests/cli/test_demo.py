"""`afterward demo` as a real process."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests import warm

from afterward.errors import ExampleNotRunnable
from afterward.gallery import NAMES
from afterward.tasks import demo


def _demo(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return warm.afterward("demo", *words, cwd=cwd)


def test_it_lists_the_examples(tmp_path: Path) -> None:
    done = _demo(cwd=tmp_path)
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines() if line and line[0].islower()] == list(NAMES)
    assert done.stderr == ""


def test_it_runs_one_and_explains_it(tmp_path: Path) -> None:
    done = _demo("same-loss-twice", "--html", "report.html", cwd=tmp_path)
    assert done.returncode == 0, "the example failed as it says: that is what was asked for"
    told, printed = done.stdout.split("$ afterward run same-loss-twice/wrong.py\n")
    assert "you may have read" in told
    assert "what happens" in told
    assert "afterward found AFT101." in printed
    assert "RuntimeError: Trying to backward through the graph a second time" in done.stderr
    assert "--> same-loss-twice/wrong.py:" in done.stderr
    assert "afterward demo same-loss-twice right" in printed
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_arguments_reach_the_program(tmp_path: Path) -> None:
    done = _demo("lightgcn", "right", "--", "--epochs", "0", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "recall@20" in done.stdout
    assert "loss" not in done.stdout.split("$ afterward run", 1)[1].split("\nThe program")[0]
    assert "the most popular items for everyone" in done.stdout


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["same-loss"], "afterward: no example is named same-loss: did you mean same-loss-twice?"),
        (["zebra"], "afterward: no example is named zebra: `afterward demo` lists them"),
        (["gan", "left"], "afterward: the example gan has no program named left: it has wrong, too-early, right"),
    ],
)
def test_an_unknown_name_is_one_clear_line(words: list[str], line: str, tmp_path: Path) -> None:
    done = _demo(*words, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", line + "\n")


def test_the_source_of_a_program(tmp_path: Path) -> None:
    source = demo.find_example("gan").program("right").path.read_text()
    assert _demo("--source", "gan", "right", cwd=tmp_path).stdout == source
    assert _demo("gan", "--source", cwd=tmp_path).stdout != source


def test_what_is_not_installed_is_named() -> None:
    with pytest.raises(ExampleNotRunnable, match=r"needs dgl: pip install 'afterward\[dgl\]'"):
        demo.require(demo.find_example("lightgcn-dgl"), is_there=lambda module: module == "torch")
    with pytest.raises(ExampleNotRunnable, match="need PyTorch"):
        demo.require(demo.find_example("gan"), is_there=lambda module: False)


def test_a_run_that_differs_from_its_page_is_noticed() -> None:
    program = demo.find_example("gan").programs[0]
    report = {"program": {"error": None, "exit": 0}, "findings": []}
    assert not demo.compared(program, report).as_told
